/* sql.h - everything that a store says as an SQLite database. docs/sql.md has its schema and queries.
 *
 * The one library for SQLite is known to sql.c alone.
 */
#ifndef ANCHORAGE_SQL_H
#define ANCHORAGE_SQL_H

#include "store/store.h"

/* Of the database's tables and views; in its `meta` table, and raised when a column changes its meaning. */
#define SQL_SCHEMA_VERSION 1
extern const char sql_schema[];  /* tables: made before the rows */
extern const char sql_indexes[]; /* indexes, views and the search tables: made after them */

/* Writes the database at `path`, aside and then renamed, so that a name never shows half a one. Mesh bytes
 * stay in the store. An existing SQLite database is replaced; any other file, and one that another program is
 * working on, is refused. Names that are no UTF-8 have the offending bytes as %XX, as in JSON. False with
 * *err set. */
bool sql_write(struct store_txn *txn, const char *path, struct error *err);

#endif
