/* fuzz_formats.c - every decoder on any bytes: the one that recognises them, and all others as well.
 *
 * The input is a file. Its name decides little, but what it decides is tried: each decoder gets the bytes
 * under its own ending and under none.
 */
#include <string.h>

#include "tests/fuzz/harness.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/seeds.h"

static const char *ending_name(enum format_id id)
{
    switch (id) {
    case FORMAT_XPR2:
        return "x.xpr";
    case FORMAT_BGF:
        return "x.bgf";
    case FORMAT_BMF:
        return "x.bmf";
    case FORMAT_MESHBIN:
        return "x.meshbin";
    default:
        return "x";
    }
}

static void probe(const uint8_t *data, size_t size, const char *name)
{
    const struct input in = {.data = data, .size = size, .name = name};
    bool ambiguous = true, again;
    const struct format *format = format_probe(&in, &ambiguous);
    MUST(format_probe(&in, &again) == format && ambiguous == again, "%s", name);
    MUST(format || !ambiguous, "nothing recognises %s twice", name);
    MUST(!format || format->probe(&in) > 0, "%s", name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count;
    const struct format *const *all = format_all(&count);
    probe(data, size, "x");
    for (size_t i = 0; i < count; i++) {
        probe(data, size, ending_name(all[i]->id));
        must_decode_well(all[i], ending_name(all[i]->id), data, size);
        /* Legacy layouts are told by the ending, and BGF from BMF. */
        if (all[i]->id != FORMAT_XPR2)
            must_decode_well(all[i], "x", data, size);
    }
    return 0;
}

void fuzz_seeds(void)
{
    seed_models(put_seed_buffer);
}
