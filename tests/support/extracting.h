/* extracting.h - what the tests of the extractor share: a directory to work in, and transcripts.
 *
 * A transcript has one line an item: "+ path format size" for bytes, "? path [magic ending size]" for an
 * unknown file,
 * "! path reason" for a failure ("! path damaged reason" when members were had), "= path" for an unchanged
 * file, and "/ path status reason members" for the end of an archive ("/ path xdvdfs status ..." of an
 * image), with "[magic ending count bytes]" for each census row and "bad-link" behind it.
 */
#ifndef ANCHORAGE_TEST_EXTRACTING_H
#define ANCHORAGE_TEST_EXTRACTING_H

#include "pipeline/extract.h"
#include "tests/support/pack.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Heads that decoders recognise; what follows does not matter here. */
#define XPR  "XPR2 with anything behind it"
#define BGF  "DIV-BIZ2 with anything behind it"
#define MESH "MESHBIN\1 with anything behind it"

/* a/one.xpr (XPR), a/notes.txt ("just text"), two.bgf (BGF) */
extern const struct pack_member three[3];

/* Setup and teardown: the current directory is a new, empty one, which then goes with all that is in it. */
int enter(void **state);
int leave(void **state);

void put_file(const char *path, const void *bytes, size_t size);
void put_text(const char *path, const char *text);
void put_buffer(const char *path, struct buffer *buffer); /* and frees it */
void put_archive(const char *path, const char *format, const char *filter, const struct pack_member *members,
                 size_t count);
void put_lone(const char *path, const char *filter, const void *bytes, size_t size);
/* Packs `inner` as the one member `name` of an archive, whose bytes replace it. */
void wrap(struct buffer *inner, const char *format, const char *filter, const char *name);

extern const struct extract_options defaults;

/* The transcript of all inputs, malloc'ed. Hashes of archives are checked on the way, and that progress comes
 * to its end. */
char *transcript(const char *const *inputs, size_t count, const struct extract_options *options);
void extracts(const char *input, const char *expected);
void extracts_with(const char *input, const struct extract_options *options, const char *expected);

/* An address gives these bytes; or it is refused, with `word` in the message. */
void opens(const char *address, const void *bytes, size_t size);
void opens_text(const char *address, const char *text);
void refuses(const char *address, const char *word);

#endif
