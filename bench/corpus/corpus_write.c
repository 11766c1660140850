/* corpus_write.c - a whole corpus on disk: plain files, archives, and what is true of them. See corpus.h.
 *
 * Small files come first and are held by archive, so that each archive is written sorted; XPR2 containers
 * follow one at a time in the order of their names, and are dropped once written: memory holds one container
 * and the small files.
 */
#include "bench/corpus/corpus_archive.h"
#include "bench/corpus/corpus_image.h"
#include "bench/corpus/corpus_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The studied disc, and what the corpus has beside it. */
enum { DISC_CONTAINERS = 166, DISC_STAGES = 22, DISC_RESOURCES = 6294, OTHER_FILES = 1000 };
#define DISC_BYTES 2e9
/* What the smallest corpus has so that no class is lost. */
enum { LEAST_STAGES = 8, LEAST_SINGLES = 8, LEAST_RESOURCES = 480 };
/* Below this scale textures shrink faster than everything else: they are only bulk. */
#define SMALL_SCALE 0.05

/* Where things go. The nested zip is a member of the tar. */
enum place { PLACE_PLAIN, PLACE_ZIP, PLACE_TAR_GZ, PLACE_TAR_ZST, PLACE_7Z, PLACE_TAR, PLACE_NESTED, PLACES };
static const struct {
    enum sink_kind kind;
    const char *path; /* relative to the corpus; the nested one's in the tar */
} places[PLACES] = {
    {SINK_FOLDER, ""},
    {SINK_ZIP, "archives/night.zip"},
    {SINK_TAR_GZ, "archives/models.tar.gz"},
    {SINK_TAR_ZST, "archives/pack.tar.zst"},
    {SINK_7Z, "archives/old.7z"},
    {SINK_TAR, "archives/nested.tar"},
    {SINK_ZIP, "inner/more.zip"},
};

struct writer {
    const struct corpus_options *options;
    struct world world;
    struct sink *sinks[PLACES];
    struct buffer nested; /* the inner zip's bytes */
    FILE *truth;
    struct error *err;
};

/* ---- truth ---- */

static void address_prefix(enum place place, char out[96])
{
    if (place == PLACE_PLAIN)
        out[0] = '\0';
    else if (place == PLACE_NESTED)
        snprintf(out, 96, "%s!%s!", places[PLACE_TAR].path, places[PLACE_NESTED].path);
    else
        snprintf(out, 96, "%s!", places[place].path);
}

/* JSON lines with f32 values in nine digits, which read back to the same f32. */
static bool put_line(struct writer *w, FILE *file, json_t *object)
{
    bool ok = object && json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
              putc('\n', file) >= 0;
    return ok || error_set_system(w->err, ERROR_IO, errno, "cannot write the truth");
}

static bool put_truth(struct writer *w, enum place place, const struct corpus_file *file)
{
    char prefix[96], address[384];
    address_prefix(place, prefix);
    snprintf(address, sizeof address, "%s%s", prefix, file->path);
    size_t i;
    json_t *resource;
    json_array_foreach(file->truth, i, resource)
    {
        json_t *line = json_pack("{s:s}", "container", address);
        bool ok = line && json_object_update(line, resource) == 0 && put_line(w, w->truth, line);
        json_decref(line);
        if (!ok)
            return error_set(w->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    }
    return true;
}

static bool put_file(struct writer *w, enum place place, const struct corpus_file *file)
{
    return sink_add(w->sinks[place], file->path, file->bytes.data, file->bytes.size, w->err) &&
           put_truth(w, place, file);
}

static bool no_memory(struct writer *w)
{
    return error_set(w->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* ---- files of the other formats ---- */

/* The kinds of all three formats, numbered through. */
static unsigned small_kinds(void)
{
    return corpus_meshbin_kinds() + corpus_bgf_kinds() + corpus_bmf_kinds();
}

static bool make_small(struct rng *rng, unsigned kind, struct corpus_file *file)
{
    uint32_t triangles = (UINT32_C(8) << rng_below(rng, 7)) + rng_below(rng, 8);
    if (kind < corpus_meshbin_kinds())
        return corpus_meshbin(rng, kind, triangles, file);
    kind -= corpus_meshbin_kinds();
    if (kind < corpus_bgf_kinds())
        return corpus_bgf(rng, kind, triangles, file);
    return corpus_bmf(rng, kind - corpus_bgf_kinds(), file);
}

/* Every kind goes to the folder and to archives by turns. */
static enum place place_of_small(unsigned kind, unsigned round)
{
    static const enum place archives[] = {PLACE_ZIP, PLACE_TAR_GZ, PLACE_TAR_ZST,
                                          PLACE_7Z,  PLACE_NESTED, PLACE_TAR};
    enum { ARCHIVES = sizeof archives / sizeof *archives };
    return round % 2 == 0 ? PLACE_PLAIN : archives[(kind + round / 2) % ARCHIVES];
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct corpus_file *)a)->path, ((const struct corpus_file *)b)->path);
}

/* The small files of one place, sorted; those of other places are not made. */
static bool write_small_of(struct writer *w, enum place place, unsigned total)
{
    enum { SMALL_STREAM = 3 << 24 };
    struct corpus_file *files = calloc(total + 1, sizeof *files);
    unsigned count = 0, kinds = small_kinds();
    bool ok = files || no_memory(w);
    for (unsigned i = 0; ok && i < total; i++) {
        if (place_of_small(i % kinds, i / kinds) != place)
            continue;
        struct rng rng = rng_make(w->options->seed, SMALL_STREAM + i);
        ok = make_small(&rng, i % kinds, &files[count]) || no_memory(w);
        count += ok;
    }
    if (ok)
        qsort(files, count, sizeof *files, compare_paths);
    for (unsigned i = 0; ok && i < count; i++)
        ok = put_file(w, place, &files[i]);
    for (unsigned i = 0; files && i < count; i++)
        corpus_file_free(&files[i]);
    free(files);
    return ok;
}

/* Finishes the inner zip and makes it a member of the tar, before the members that sort behind it. */
static bool close_nested(struct writer *w)
{
    bool ok = sink_close(w->sinks[PLACE_NESTED], w->err);
    w->sinks[PLACE_NESTED] = NULL;
    ok = ok &&
         sink_add(w->sinks[PLACE_TAR], places[PLACE_NESTED].path, w->nested.data, w->nested.size, w->err);
    buffer_free(&w->nested);
    return ok;
}

static bool write_small(struct writer *w)
{
    unsigned kinds = small_kinds(), total = (unsigned)(OTHER_FILES * w->options->scale);
    total = total < 2 * kinds ? 2 * kinds : total;
    if (!write_small_of(w, PLACE_NESTED, total) || !close_nested(w))
        return false;
    for (enum place place = PLACE_PLAIN; place < PLACE_NESTED; place++)
        if (!write_small_of(w, place, total))
            return false;
    return true;
}

/* ---- XPR2 containers ---- */

/* How many containers of each sort, and how much is in them. */
struct plan {
    unsigned stages, singles, packs; /* packs: small stages among the single models */
    unsigned stage_resources, pack_resources;
    uint64_t stage_texture_bytes, single_texture_bytes; /* of all of them */
};

static unsigned scaled(unsigned whole, double scale, unsigned least)
{
    unsigned value = (unsigned)(whole * scale + 0.5);
    return value > least ? value : least;
}

static struct plan plan_of(double scale)
{
    struct plan plan = {.stages = scaled(DISC_STAGES, scale, LEAST_STAGES)};
    unsigned others = scaled(DISC_CONTAINERS - DISC_STAGES, scale, LEAST_SINGLES);
    unsigned resources = scaled(DISC_RESOURCES, scale, LEAST_RESOURCES);
    plan.packs = others / 3;
    plan.singles = others - plan.packs;
    plan.pack_resources = plan.packs * 8;
    plan.stage_resources = resources - plan.singles - plan.pack_resources;
    /* A resource and its descriptor take about 22 kB; textures are the rest. */
    double bytes = (DISC_BYTES - 22e3 * DISC_RESOURCES) * scale;
    if (scale < SMALL_SCALE)
        bytes *= scale / SMALL_SCALE;
    plan.stage_texture_bytes = (uint64_t)(bytes * 0.5);
    plan.single_texture_bytes = (uint64_t)(bytes * 0.5);
    return plan;
}

/* Cuts a total into random shares between half and one and a half times the mean, to the last unit. */
struct cutter {
    uint64_t left;
    unsigned pieces;
};

static uint64_t cut(struct cutter *cutter, struct rng *rng)
{
    uint64_t mean = cutter->left / cutter->pieces, share = mean / 2 + mean * rng_below(rng, 1001) / 1000;
    if (cutter->pieces == 1 || share > cutter->left)
        share = cutter->left;
    cutter->pieces--;
    cutter->left -= share;
    return share;
}

static enum place place_of_container(unsigned number)
{
    static const enum place turn[] = {PLACE_PLAIN, PLACE_PLAIN, PLACE_TAR_ZST, PLACE_PLAIN,  PLACE_PLAIN,
                                      PLACE_ZIP,   PLACE_PLAIN, PLACE_PLAIN,   PLACE_TAR_GZ, PLACE_PLAIN,
                                      PLACE_PLAIN, PLACE_7Z,    PLACE_PLAIN,   PLACE_PLAIN,  PLACE_TAR};
    return turn[number % (sizeof turn / sizeof *turn)];
}

static bool put_container(struct writer *w, enum place place, bool made, struct corpus_file *file)
{
    bool ok = made ? put_file(w, place, file) : no_memory(w);
    corpus_file_free(file);
    return ok;
}

/* Folders in the order of their names behind those of the other formats: resource3d/, then stage/. */
static bool write_singles(struct writer *w, const struct plan *plan, struct rng *rng)
{
    unsigned others = plan->singles + plan->packs, pack = 0;
    struct cutter textures = {plan->single_texture_bytes, others};
    for (unsigned i = 0; i < others; i++) {
        struct corpus_file file = {0};
        uint64_t bytes = cut(&textures, rng);
        bool is_pack = i % 3 == 2 && pack < plan->packs, made;
        if (is_pack) {
            snprintf(file.path, sizeof file.path, "resource3d/ptc_%03u_pack.xpr", i);
            made = corpus_stage(&w->world, 1000 + pack++, 8, bytes, &file);
        } else {
            snprintf(file.path, sizeof file.path, "resource3d/ptc_%03u_wep.xpr", i);
            made = corpus_weapon(&w->world, i, bytes, &file);
        }
        if (!put_container(w, place_of_container(i), made, &file))
            return false;
    }
    return true;
}

static bool write_stages(struct writer *w, const struct plan *plan, struct rng *rng)
{
    struct cutter textures = {plan->stage_texture_bytes, plan->stages};
    struct cutter resources = {plan->stage_resources, plan->stages};
    for (unsigned i = 0; i < plan->stages; i++) {
        struct corpus_file file = {0};
        uint64_t bytes = cut(&textures, rng);
        unsigned count = (unsigned)cut(&resources, rng);
        snprintf(file.path, sizeof file.path, "stage/Stage_S%02u.xpr", i);
        bool made = corpus_stage(&w->world, i, count, bytes, &file);
        if (!put_container(w, place_of_container(i), made, &file))
            return false;
    }
    return true;
}

static bool write_containers(struct writer *w)
{
    struct plan plan = plan_of(w->options->scale);
    struct rng rng = rng_make(w->options->seed, 1);
    w->world.seed = w->options->seed;
    w->world.triangles_cap = w->options->scale < SMALL_SCALE ? 1000 : 5000;
    w->world.pool = (plan.stage_resources + plan.pack_resources) / 160 + 1;
    return write_singles(w, &plan, &rng) && write_stages(w, &plan, &rng);
}

/* ---- images and packs ---- */

/* Files for an image or a pack, of kinds [first, last) of the small formats, and an XPR2 container. */
struct set {
    struct corpus_file *files;
    unsigned count;
};

static void set_free(struct set *set)
{
    for (unsigned i = 0; set->files && i < set->count; i++)
        corpus_file_free(&set->files[i]);
    free(set->files);
}

/* Folders in folders become one. */
static void flatten(struct corpus_file *file)
{
    char *first = strchr(file->path, '/'), *last = strrchr(file->path, '/');
    if (first != last)
        memmove(first, last, strlen(last) + 1);
}

static bool make_set(struct writer *w, unsigned number, unsigned first, unsigned last, struct set *set)
{
    enum { SET_STREAM = 6 << 24, SET_WEAPON = 2000, SET_TEXTURE = 16 << 10 };
    set->files = calloc(last - first + 1, sizeof *set->files);
    if (!set->files)
        return no_memory(w);
    for (unsigned kind = first; kind < last; kind++) {
        struct rng rng = rng_make(w->options->seed, SET_STREAM + number * small_kinds() + kind);
        if (!make_small(&rng, kind, &set->files[set->count]))
            return no_memory(w);
        flatten(&set->files[set->count++]);
    }
    struct corpus_file *weapon = &set->files[set->count];
    snprintf(weapon->path, sizeof weapon->path, "resource3d/ptc_%u_wep.xpr", SET_WEAPON + number);
    if (!corpus_weapon(&w->world, SET_WEAPON + number, SET_TEXTURE, weapon))
        return no_memory(w);
    set->count++;
    qsort(set->files, set->count, sizeof *set->files, compare_paths);
    return true;
}

/* Writes a file that is no container itself. */
static bool put_raw(struct writer *w, const char *path, const struct buffer *bytes)
{
    return bytes->failed ? no_memory(w)
                         : sink_add(w->sinks[PLACE_PLAIN], path, bytes->data, bytes->size, w->err);
}

static bool put_truth_at(struct writer *w, const char *within, struct corpus_file *file)
{
    char path[sizeof file->path];
    int length = snprintf(path, sizeof path, "%s!%s", within, file->path);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(w->err, ERROR_LIMIT, ERROR_NO_OFFSET, "a path is too long");
    memcpy(file->path, path, (size_t)length + 1);
    return put_truth(w, PLACE_PLAIN, file);
}

/* Puts files under folders, each of which is the first part of their paths. There is a folder for each file
 * at the most. */
static unsigned put_in_folders(const struct set *set, struct image_file *files, struct image_file *folders,
                               char (*names)[sizeof set->files->path])
{
    unsigned count = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const struct corpus_file *file = &set->files[i];
        const char *slash = strchr(file->path, '/');
        size_t length = (size_t)(slash - file->path);
        files[i] =
            (struct image_file){.name = slash + 1, .bytes = file->bytes.data, .size = file->bytes.size};
        if (!count || strlen(names[count - 1]) != length || memcmp(names[count - 1], file->path, length)) {
            snprintf(names[count], sizeof *names, "%.*s", (int)length, file->path);
            folders[count] = (struct image_file){.name = names[count], .in = &files[i], .folder = true};
            count++;
        }
        folders[count - 1].in_count++;
    }
    return count;
}

static bool write_image(struct writer *w)
{
    static const char path[] = "images/disc.iso";
    struct set set = {0};
    struct buffer image = {0};
    bool ok = make_set(w, 0, 0, small_kinds(), &set);
    struct image_file *files = calloc(2 * (size_t)set.count + 1, sizeof *files);
    char(*names)[sizeof set.files->path] = calloc((size_t)set.count + 1, sizeof *names);
    ok = ok && ((files && names) || no_memory(w));
    if (ok) {
        unsigned folders = put_in_folders(&set, files, files + set.count, names);
        image_xdvdfs(&image, files + set.count, folders, false);
        ok = put_raw(w, path, &image);
    }
    for (unsigned i = 0; ok && i < set.count; i++)
        ok = put_truth_at(w, path, &set.files[i]);
    free(files);
    free(names);
    buffer_free(&image);
    set_free(&set);
    return ok;
}

/* Members of a pack have no names but their hashes, and so have the resources in them that are called after
 * their file. */
static bool name_by_hash(struct corpus_file *file, uint32_t hash)
{
    char name[16];
    size_t i;
    json_t *resource;
    bool ok = true;
    snprintf(name, sizeof name, "%08x", hash);
    snprintf(file->path, sizeof file->path, "%s", name);
    json_array_foreach(file->truth, i, resource)
    {
        const char *format = json_string_value(json_object_get(resource, "format"));
        if (format && strcmp(format, "xbg7") != 0)
            ok = json_object_set_new(resource, "name", json_string(name)) == 0 && ok;
    }
    return ok;
}

static bool write_pack(struct writer *w)
{
    enum { PARTS = 2 };
    static const char path[] = "images/data.pak", *const part_paths[PARTS] = {"images/data.p00",
                                                                              "images/data.p01"};
    struct set set = {0};
    struct buffer index = {0}, parts[IMAGE_PARTS] = {{0}};
    /* MESHBIN and BMF are not told by their bytes alone, and names with endings are what a pack lacks. */
    unsigned first = corpus_meshbin_kinds();
    bool ok = make_set(w, 1, first, first + corpus_bgf_kinds(), &set);
    struct pack_entry *entries = calloc((size_t)set.count + 1, sizeof *entries);
    ok = ok && (entries || no_memory(w));
    for (unsigned i = 0; ok && i < set.count; i++) {
        uint32_t hash = (i + 1) * UINT32_C(2654435761); /* odd, so no two are equal */
        const struct buffer *bytes = &set.files[i].bytes;
        entries[i] =
            (struct pack_entry){.hash = hash, .part = i % PARTS, .bytes = bytes->data, .size = bytes->size};
        ok = name_by_hash(&set.files[i], hash) || no_memory(w);
    }
    if (ok)
        image_ipfb(&index, parts, entries, set.count);
    ok = ok && put_raw(w, path, &index);
    for (unsigned i = 0; i < PARTS; i++)
        ok = ok && put_raw(w, part_paths[i], &parts[i]);
    for (unsigned i = 0; ok && i < set.count; i++)
        ok = put_truth_at(w, path, &set.files[i]);
    for (unsigned i = 0; i < PARTS; i++)
        buffer_free(&parts[i]);
    buffer_free(&index);
    free(entries);
    set_free(&set);
    return ok;
}

/* What a running engine drew, for `run --captures`. */
static bool write_captures(struct writer *w)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/captures.jsonl", w->options->directory);
    FILE *file = fopen(path, "wbx");
    if (!file)
        return error_set_system(w->err, ERROR_IO, errno, "cannot write %s", path);
    size_t i;
    json_t *capture;
    bool ok = true;
    json_array_foreach(w->world.captures, i, capture) ok = ok && put_line(w, file, capture);
    if (fclose(file) != 0)
        ok = error_set_system(w->err, ERROR_IO, errno, "cannot write %s", path);
    return ok;
}

/* ---- the whole ---- */

/* Makes the folder, or sees that it is empty. */
static bool prepare(const char *directory, struct error *err)
{
    if (mkdir(directory, 0777) == 0)
        return true;
    DIR *dir = errno == EEXIST ? opendir(directory) : NULL;
    if (!dir)
        return error_set_system(err, ERROR_IO, errno, "cannot make %s", directory);
    bool empty = true;
    for (const struct dirent *entry; (entry = readdir(dir));)
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    closedir(dir);
    return empty || error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s is not empty", directory);
}

static bool open_sinks(struct writer *w)
{
    for (enum place place = 0; place < PLACES; place++) {
        char path[4200];
        snprintf(path, sizeof path, "%s%s%s", w->options->directory, place == PLACE_PLAIN ? "" : "/",
                 places[place].path);
        w->sinks[place] =
            sink_open(places[place].kind, path, place == PLACE_NESTED ? &w->nested : NULL, w->err);
        if (!w->sinks[place])
            return false;
    }
    return true;
}

static bool open_truth(struct writer *w)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/truth.jsonl", w->options->directory);
    w->truth = fopen(path, "wbx");
    w->world.captures = json_array();
    return (w->truth && w->world.captures) ||
           error_set_system(w->err, ERROR_IO, errno, "cannot write %s", path);
}

bool corpus_write(const struct corpus_options *options, struct error *err)
{
    struct writer w = {.options = options, .err = err};
    if (!(options->scale > 0 && options->scale <= 16))
        return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "the scale must be above 0 and at most 16");
    bool ok = (!options->models || models_load(options->models, &w.world.models, err)) &&
              prepare(options->directory, err) && open_sinks(&w) && open_truth(&w) && write_small(&w) &&
              write_containers(&w) && (!options->images || (write_image(&w) && write_pack(&w))) &&
              write_captures(&w);
    for (enum place place = 0; place < PLACES; place++)
        ok = sink_close(w.sinks[place], err) && ok;
    if (w.truth && fclose(w.truth) != 0 && ok)
        ok = error_set_system(err, ERROR_IO, errno, "cannot write the truth");
    buffer_free(&w.nested);
    json_decref(w.world.captures);
    models_free(&w.world.models);
    return ok;
}
