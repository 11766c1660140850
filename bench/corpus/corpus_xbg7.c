/* corpus_xbg7.c - whole XPR2 containers: single models and stages. See corpus_internal.h. */
#include "bench/corpus/corpus_internal.h"

/* What a stage is like in every respect that holds for all of it. The first eight stages of a corpus go
 * through these rows, starting with one that depends on the seed; later ones too. */
static const struct traits stage_traits[] = {
    {.locality = LOCALITY_CLUSTERS, .sizes = true, .derived = true, .alignment = 4},
    {.locality = LOCALITY_NONE, .sizes = true, .alignment = 4},
    {.locality = LOCALITY_CLUSTERS, .alignment = 16},
    {.locality = LOCALITY_ORDERED, .sizes = true, .derived = true, .alignment = 4},
    {.locality = LOCALITY_CLUSTERS, .sizes = true, .legacy_base = true, .alignment = 4},
    {.locality = LOCALITY_CLUSTERS, .sizes = true, .derived = true, .truncated = true, .alignment = 32},
    {.locality = LOCALITY_NONE, .derived = true, .alignment = 4},
    {.locality = LOCALITY_CLUSTERS, .sizes = true, .alignment = 4},
};
enum { STAGE_ROWS = sizeof stage_traits / sizeof *stage_traits };

/* One seed in three has little locality: only three rows keep it, so that no class is lost. */
static struct traits traits_of(uint64_t seed, unsigned number)
{
    unsigned row = (unsigned)((number + seed) % STAGE_ROWS);
    struct traits traits = stage_traits[row];
    if (seed % 3 == 2 && row != 0 && row != 3 && row + 1 != STAGE_ROWS)
        traits.locality = LOCALITY_NONE;
    return traits;
}

static struct stage stage_begin(struct world *world, struct rng *rng, struct traits traits)
{
    struct stage stage = {.world = world, .rng = rng, .traits = traits, .cluster_count = 1};
    stage.size_word = rng_below(rng, 8);
    stage.size_measure = rng_below(rng, 3);
    stage.size_before_marker = rng_chance(rng, 30);
    world->container++;
    return stage;
}

/* Clusters of about ten resources; their order in the file is a random one. */
static void make_clusters(struct stage *stage, unsigned count)
{
    unsigned clusters = count / 10;
    stage->cluster_count = clusters < 4              ? (count >= 16 ? 4 : 1)
                           : clusters < CLUSTERS_MAX ? clusters
                                                     : CLUSTERS_MAX;
    for (unsigned i = 0; i < stage->cluster_count; i++) {
        unsigned other = rng_below(stage->rng, i + 1);
        stage->rank[i] = stage->rank[other];
        stage->rank[other] = i;
    }
    for (unsigned i = 0; stage->traits.locality == LOCALITY_ORDERED && i < stage->cluster_count; i++)
        stage->rank[i] = i;
}

static void add_textures(struct stage *stage, uint64_t bytes)
{
    uint64_t have = 0;
    while (have < bytes && !stage->failed) {
        uint64_t left = bytes - have;
        uint32_t size = UINT32_C(16384) << rng_below(stage->rng, 7);
        unsigned number = stage_add_texture(stage, size < left ? size : (uint32_t)left);
        if (!stage->failed)
            have += stage->textures[number].base_bytes + stage->textures[number].mip_bytes;
    }
}

static bool stage_end(struct stage *stage, struct corpus_file *out)
{
    bool ok = !stage->failed && stage_write(stage, out) && !out->bytes.failed;
    stage_free(stage);
    return ok;
}

bool corpus_weapon(struct world *world, unsigned number, uint64_t texture_bytes, struct corpus_file *out)
{
    enum { WEAPON_STREAM = 1 << 24 };
    struct rng rng = rng_make(world->seed, WEAPON_STREAM + number);
    struct traits traits = {.weapon = true, .alignment = 4, .locality = LOCALITY_NONE};
    traits.sizes = rng_chance(&rng, 70);
    traits.derived = rng_chance(&rng, 50);
    traits.legacy_base = number % 12 == 5;
    traits.elsewhere = number % 7 == 3;
    struct stage stage = stage_begin(world, &rng, traits);
    recipe_weapon(&stage);
    add_textures(&stage, texture_bytes);
    return stage_end(&stage, out);
}

bool corpus_stage(struct world *world, unsigned number, unsigned count, uint64_t texture_bytes,
                  struct corpus_file *out)
{
    enum { STAGE_STREAM = 2 << 24 };
    struct rng rng = rng_make(world->seed, STAGE_STREAM + number);
    struct stage stage = stage_begin(world, &rng, traits_of(world->seed, number));
    make_clusters(&stage, count);
    recipes_deal(&stage, count);
    add_textures(&stage, texture_bytes);
    return stage_end(&stage, out);
}
