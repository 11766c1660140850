/* image_build.c - see image_build.h */
#include "tests/support/image_build.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ENTRY 14

void image_put(const char *path, uint64_t base, const struct buffer *partition)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, partition->data, partition->size, (off_t)base), (ssize_t)partition->size);
    close(fd);
}

uint8_t *image_entry(struct buffer *partition, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0x10800; i + ENTRY + length <= partition->size; i += 4) {
        uint8_t *entry = partition->data + i;
        if (entry[13] == length && memcmp(entry + ENTRY, name, length) == 0)
            return entry;
    }
    fail_msg("no entry '%s'", name);
    return NULL;
}
