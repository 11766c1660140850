/* anchor_evidence.h - what speaks for a place, in numbers, and what they are worth.
 *
 * A form is the part of a descriptor that decides what a block looks like: counts, strides, elements.
 * Resources with equal forms look alike to the locator. The weights are tabled in formats/anchor.md. Offsets
 * here count from the start of the data section. Pure; any thread with a scratch of its own.
 */
#ifndef ANCHORAGE_ANCHOR_EVIDENCE_H
#define ANCHORAGE_ANCHOR_EVIDENCE_H

#include "anchor_scan.h"
#include "format.h"

enum anchor_layout {
    ANCHOR_GROUPED,  /* all index buffers, then all vertex buffers; a single pair is the simplest case */
    ANCHOR_SEQUENCE, /* pair after pair, each at align16(end of the one before + 12) */
    ANCHOR_STATED,   /* grouped, with a gap after the indices as the descriptor's words say */
};

struct anchor_form {
    uint32_t count;
    const struct xbg7_marker *markers;
    uint32_t pivot;         /* the marker of most indices */
    bool stated;            /* the words of all markers agree with each other and with the sizes */
    uint64_t stated_vertex; /* offset of the first vertex buffer from the block's start, if so */
    uint64_t index_pool;    /* bytes of the index pool, each buffer padded to 4 */
    bool normals;           /* some marker has a NORMAL that can be read */
};

struct anchor_form anchor_form_make(const struct xbg7_marker *markers, uint32_t count);
/* Whether the two look alike: equal counts, strides and elements, and equal stated words. */
bool anchor_form_equal(const struct anchor_form *a, const struct anchor_form *b);
/* Whether that layout is to be tried for this form. */
bool anchor_form_has_layout(const struct anchor_form *form, enum anchor_layout layout);

/* Fills places[form->count] for a block that starts at `start`. The end of the block; 0 when it leaves
 * `size`. */
uint64_t anchor_place(const struct anchor_form *form, enum anchor_layout layout, uint64_t start,
                      uint64_t size, struct buffer_place *places);

/* Memory for measuring: one byte for each index. Zero between calls. */
struct anchor_scratch {
    uint8_t used[65536];
};

/* Vertices of a buffer that a glance looks at: the first, the last, those between evenly. */
#define ANCHOR_GLANCES 16

/* Normals one of which must be of unit length too. Of a buffer whose normals are imperfect by a third, one in
 * fifty thousand has no sound one among so many. */
#define ANCHOR_PROBES 9

/* What the first glance at a buffer needs to know of its marker, made once. */
struct anchor_probe {
    uint64_t bytes;  /* of all vertices */
    uint32_t probes; /* of `probe`; 0: the map has none of its normals */
    uint32_t looks;  /* of `normal` and `position` */
    uint32_t enough; /* so many of `normal` must be of unit length; at most 4 */
    /* Offsets from the first vertex: of normals, and of the normals and positions that a glance looks at. */
    uint32_t probe[ANCHOR_PROBES], normal[ANCHOR_GLANCES], position[ANCHOR_GLANCES];
};

struct anchor_probe anchor_probe_make(const struct xbg7_marker *marker);
/* At which of the 64 places from `vertex_offset` on, four bytes apart, vertices may begin: there is room, one
 * of the probed normals is of unit length, the first position makes sense, and anchor_glance will not reject
 * the buffer for what it sees of its normals and positions; asked in this order because the map is small and
 * the section is not. Bit i is for vertex_offset + 4 i, and not looked at unless it is set in `asked`. Meant
 * to be asked of hundreds of thousands of places. */
uint64_t anchor_probe_test(const struct anchor_probe *probe, const struct anchor_map *map,
                           uint64_t vertex_offset, uint64_t asked);

/* A glance at some vertices of each buffer: false when the place is not worth measuring. `strict`: all must
 * make sense, nearly all normals be unit and their run have an end, as for a window that is not exact. */
bool anchor_glance(const struct anchor_map *map, const struct anchor_form *form,
                   const struct buffer_place *places, bool strict);

/* What a search knows of a buffer whose indices are all in range: how many vertices they use, and whether the
 * last one is among them. */
struct anchor_use {
    uint32_t distinct;
    bool exact;
};

/* Measures everything but stated size and locality. `known` is of the pivot's buffer and spares counting its
 * indices; or NULL. False when an index is out of range; *bad is its offset then. */
bool anchor_measure(const struct anchor_map *map, const struct anchor_form *form, enum anchor_layout layout,
                    const struct buffer_place *places, const struct anchor_use *known,
                    struct anchor_scratch *scratch, struct anchor_evidence *out, uint64_t *bad);

/* The natural-log odds of the evidence against chance, in a section of `places` 4-byte places. `claimed`: a
 * part of the place is known to be another's. */
double anchor_score(const struct anchor_evidence *evidence, double places, bool claimed);

/* The most that anchor_score can say of a place of one buffer with that use, unclaimed and before sizes and
 * neighbours are known: anchor_measure finds no more. `look`: normals and some faces are looked at for a
 * closer answer; the pass over indices and positions, which can take away only, is left out in any case. */
double anchor_score_most(const struct anchor_map *map, const struct anchor_form *form,
                         enum anchor_layout layout, const struct buffer_place *place, struct anchor_use use,
                         bool look, double places);

/* Whether everything makes sense: perfect indices with nothing like them in front, positions somebody may
 * have stored, near each other where triangles join them, normals mostly unit and an end to their run. Two
 * such blocks are both real geometry: how fine each looks (winding, odd normals, abutting runs) says nothing
 * about which of them is whose, and their scores differ by context alone. */
bool anchor_is_sound(const struct anchor_evidence *evidence);

/* Whether its vertices are a run of unit normals of exactly that length, and its indices begin where a list
 * does: what no stretch of another block is, even where the indices do not use all vertices. */
bool anchor_is_whole_run(const struct anchor_evidence *evidence);

/* The same as sound, but for what is in front of the indices, which may look like indices by chance, and for
 * unused vertices of a whole run. Such a place is good enough to rule out what overlaps it and looks less
 * fine.
 */
bool anchor_makes_sense(const struct anchor_evidence *evidence);

/* How fine a place looks beside the usual block of its counts, whatever they are. Two blocks never overlap:
 * of two places that do, the one that looks clearly less fine is the other one, a few bytes off. Between
 * places that do not overlap it says nothing, and is no part of the score. */
double anchor_quality(const struct anchor_evidence *evidence);

/* Whether nothing is left to be desired: every index in range, all vertices named, all normals unit, both
 * ends clean, enough of everything to be no accident. */
bool anchor_is_exact(const struct anchor_evidence *evidence);

#endif
