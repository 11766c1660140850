/* inputs.c - see inputs.h */
#include "pipeline/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/passing.h"

/* A descriptor, or why there is none. */
static int open_input(const char *path, bool follow, int *why)
{
    struct stat stat_buffer;
    *why = 0;
    if (fstatat(AT_FDCWD, path, &stat_buffer, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
        *why = errno;
        return -1;
    }
    if (!S_ISREG(stat_buffer.st_mode) && !S_ISDIR(stat_buffer.st_mode)) {
        *why = INPUTS_NO_FILE;
        return -1;
    }
    /* O_NONBLOCK: should a FIFO have taken its place meanwhile. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
    if (fd < 0)
        *why = errno;
    return fd;
}

void inputs_send(int socket, const char *const *inputs, size_t count, const bool *walked)
{
    bool sent = true;
    for (size_t i = 0; i < count && sent; i++) {
        int why, fd = open_input(inputs[i], !walked || !walked[i], &why);
        sent = passing_send(socket, why, &fd, fd >= 0);
        if (fd >= 0)
            close(fd);
    }
}

int inputs_receive(int socket, int *why)
{
    int fds[PASSING_MOST], failed = passing_receive(socket, why, fds);
    if (failed)
        *why = failed;
    else if (fds[0] < 0 && *why == 0)
        *why = EMFILE; /* the kernel had no number left for it here */
    return failed ? -1 : fds[0];
}
