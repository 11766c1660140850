/* corpus_classes.h - the situations of formats/xbg7.md, each at least 1 % of a corpus: X(identifier, word).
 */
#ifndef ANCHORAGE_CORPUS_CLASSES_H
#define ANCHORAGE_CORPUS_CLASSES_H

#define CORPUS_CLASSES(X)                                                                                    \
    X(CLASS_WEAPON, "weapon")                                                                                \
    X(CLASS_STAGE, "stage")                                                                                  \
    X(CLASS_PAD_0, "pad-0")                                                                                  \
    X(CLASS_PAD_2, "pad-2")                                                                                  \
    X(CLASS_SINGLE, "single")                                                                                \
    X(CLASS_GROUPED, "grouped")                                                                              \
    X(CLASS_SEQUENCE, "sequence")                                                                            \
    X(CLASS_STRIDE_12, "stride-12")                                                                          \
    X(CLASS_STRIDE_16, "stride-16")                                                                          \
    X(CLASS_STRIDE_20, "stride-20")                                                                          \
    X(CLASS_STRIDE_24, "stride-24")                                                                          \
    X(CLASS_STRIDE_28, "stride-28")                                                                          \
    X(CLASS_STRIDE_32, "stride-32")                                                                          \
    X(CLASS_STRIDE_44, "stride-44")                                                                          \
    X(CLASS_STRIDE_48, "stride-48")                                                                          \
    X(CLASS_REORDERED, "elements-reordered")                                                                 \
    X(CLASS_UNUSUAL_CODE, "unusual-code")                                                                    \
    X(CLASS_HIDDEN_NUMBER, "unknown-number")                                                                 \
    X(CLASS_NORMAL_F32, "normal-f32")                                                                        \
    X(CLASS_NORMAL_PACKED, "normal-packed")                                                                  \
    X(CLASS_NO_NORMAL, "no-normal")                                                                          \
    X(CLASS_TINY, "tiny")                                                                                    \
    X(CLASS_LARGE, "large")                                                                                  \
    X(CLASS_SPLIT, "split")                                                                                  \
    X(CLASS_DRAWS, "draws")                                                                                  \
    X(CLASS_STORED_SIZE, "stored-size")                                                                      \
    X(CLASS_NO_SIZE, "no-size")                                                                              \
    X(CLASS_DERIVED_RIGHT, "derived-right")                                                                  \
    X(CLASS_DERIVED_ARBITRARY, "derived-arbitrary")                                                          \
    X(CLASS_LOCALITY, "locality")                                                                            \
    X(CLASS_NO_LOCALITY, "no-locality")                                                                      \
    X(CLASS_ORDERED, "file-order")                                                                           \
    X(CLASS_BASE_0C, "base-0c")                                                                              \
    X(CLASS_LEGACY_BASE, "legacy-base")                                                                      \
    X(CLASS_RIVAL_SIZE, "rival-size")                                                                        \
    X(CLASS_RIVAL_NEIGHBOURHOOD, "rival-neighbourhood")                                                      \
    X(CLASS_RIVAL_CONTAINER, "rival-container")                                                              \
    X(CLASS_RIVAL_UNDECIDABLE, "rival-undecidable")                                                          \
    X(CLASS_STALE_SIZE, "stale-size")                                                                        \
    X(CLASS_STALE_NEIGHBOURHOOD, "stale-neighbourhood")                                                      \
    X(CLASS_STALE_UNDECIDABLE, "stale-undecidable")                                                          \
    X(CLASS_IMPERFECT_RIGHT, "imperfect-right")                                                              \
    X(CLASS_ATTRACTOR, "box-attractor")                                                                      \
    X(CLASS_ATTRACTOR_VICTIM, "attractor-victim")                                                            \
    X(CLASS_GROUP_PART, "group-part-rival")                                                                  \
    X(CLASS_ONE_SMALLER, "one-triangle-smaller")                                                             \
    X(CLASS_TEXTURE_DECOY, "texture-decoy")                                                                  \
    X(CLASS_CONTESTED, "contested-texture")                                                                  \
    X(CLASS_TWIN, "twin")                                                                                    \
    X(CLASS_NAME_EQUAL, "shared-name-equal")                                                                 \
    X(CLASS_NAME_OTHER, "shared-name-other")                                                                 \
    X(CLASS_SHARED_BLOCK, "shared-block")                                                                    \
    X(CLASS_DUPLICATE, "duplicate")                                                                          \
    X(CLASS_FIRST_NORMAL, "first-normal-not-unit")                                                           \
    X(CLASS_LAST_NORMAL, "last-normal-not-unit")                                                             \
    X(CLASS_PRECEDING_UNIT, "preceding-unit")                                                                \
    X(CLASS_ABUTTING, "abutting-orphan")                                                                     \
    X(CLASS_NOISY_WINDING, "noisy-winding")                                                                  \
    X(CLASS_INVERTED_WINDING, "inverted-winding")                                                            \
    X(CLASS_UNREFERENCED, "unreferenced")                                                                    \
    X(CLASS_SHORT_MAXIMUM, "short-maximum")                                                                  \
    X(CLASS_DEGENERATE, "degenerate")                                                                        \
    X(CLASS_DECOY_MARKER, "decoy-marker")                                                                    \
    X(CLASS_ABSENT, "absent")                                                                                \
    X(CLASS_CUT_OFF, "truncated")                                                                            \
    X(CLASS_LYING_ENTRY, "lying-entry")                                                                      \
    X(CLASS_NO_MARKER, "no-marker")                                                                          \
    X(CLASS_NO_DECLARATION, "no-declaration")                                                                \
    X(CLASS_UNKNOWN_ELEMENT, "unknown-element")

#endif
