#!/bin/sh
# Arrows point one way: formats <- store <- pipeline <- cmd; reports reads formats, store and pipeline/parallel.h.
# Libraries stay where they belong.
set -eu
cd "$(dirname "$0")/.."
status=0
forbid() { # forbid MESSAGE PATTERN FILES...
    message=$1 pattern=$2
    shift 2
    if grep -nE "$pattern" "$@" /dev/null; then
        echo "layers: $message" >&2
        status=1
    fi
}
forbid "formats/ includes nothing of the other layers" '#include "(store|pipeline|reports|cmd|bench)/' formats/*.[ch]
forbid "store/ includes only formats/" '#include "(pipeline|reports|cmd|bench)/' store/*.[ch]
forbid "pipeline/ includes only formats/ and store/" '#include "(reports|cmd|bench)/' pipeline/*.[ch]
forbid "reports/ includes no pipeline but parallel.h, address.h and lookup.h" '#include "(cmd|bench)/|#include "pipeline/(extract|ingest|load|progress)' reports/*.[ch]
forbid "formats/ does no I/O" '#include <(stdio_ext|fcntl|unistd|sys/([^m]|m[^m]).*|pthread|omp)\.h>' formats/*.[ch]
for file in formats/*.c store/*.c pipeline/*.c reports/*.c cmd/*.c; do
    case $file in pipeline/extract*.c) ;; *) forbid "libarchive belongs in pipeline/extract.c" '#include <archive' "$file" ;; esac
    case $file in store/*.c) ;; *) forbid "LMDB belongs in store/" '#include <lmdb' "$file" ;; esac
    case $file in reports/serve.c) ;; *) forbid "libmicrohttpd belongs in reports/serve.c" '#include <microhttpd' "$file" ;; esac
    case $file in store/key.c) ;; *) forbid "xxHash belongs in store/key.c" '#include <xxh' "$file" ;; esac
    case $file in reports/png.c) ;; *) forbid "libpng belongs in reports/png.c" '#include <png' "$file" ;; esac
    case $file in pipeline/gunzip.c | reports/html.c) ;; *) forbid "zlib inflates in pipeline/gunzip.c and deflates in reports/html.c" '#include <zlib' "$file" ;; esac
    case $file in reports/sql.c) ;; *) forbid "SQLite belongs in reports/sql.c" '#include <sqlite3' "$file" ;; esac
    case $file in formats/arena.c | [!f]*) ;; *) forbid "of formats/ only arena.c maps memory" '#include <sys/mman' "$file" ;; esac
    case $file in pipeline/sandbox.c) ;; *) forbid "libseccomp belongs in pipeline/sandbox.c" '#include <seccomp' "$file" ;; esac
    case $file in pipeline/parallel.c) ;; *) forbid "OpenMP belongs in pipeline/parallel.c" '#pragma omp|#include <omp' "$file" ;; esac
done
exit $status
