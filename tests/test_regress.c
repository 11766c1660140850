/* test_regress.c - inputs that fuzzing once found (tests/regress/README.md), and what must be said of each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "formats/mesh.h"

static size_t read_input(const char *path, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot read %s", path);
    size_t size = fread(bytes, 1, room, file);
    assert_int_equal(fclose(file), 0);
    assert_in_range(size, 1, room - 1);
    return size;
}

/* A mesh has one canonical serialisation: other bytes that say the same would be another content to a store.
 */
static void test_mesh_is_refused(void **state)
{
    static const struct {
        const char *path;
        uint64_t offset;
    } inputs[] = {
        {"tests/regress/fuzz_store/mesh-header-last-word", 28}, /* 1 in place of 0 */
        {"tests/regress/fuzz_store/mesh-indexed-17", 35},       /* 17 in place of 1 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct arena arena = {0};
        struct error err = {0};
        uint8_t bytes[256];
        size_t size = read_input(inputs[i].path, bytes, sizeof bytes);
        assert_null(mesh_read(bytes, size, &arena, &err));
        assert_int_equal(err.code, ERROR_MALFORMED);
        assert_int_equal(err.offset, inputs[i].offset);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mesh_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
