# Anchorage: `make demo` shows it at work, `make check` proves it. `make help` lists the rest.
#
# One tree of sources, one library, one program. config=release|debug|sanitize|coverage|fuzz chooses how they
# are built; everything that is built lands in build/$(config)/.

config ?= release
BUILD  ?= build/$(config)
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
CC     ?= cc

.SUFFIXES:
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

# ---- what is built from what -------------------------------------------------------------------------------

LIB_SOURCES   := $(wildcard formats/*.c store/*.c pipeline/*.c reports/*.c bench/*.c bench/corpus/*.c)
CMD_SOURCES   := $(wildcard cmd/*.c)
TEST_SUPPORT  := $(wildcard tests/support/*.c)
TEST_SOURCES  := $(wildcard tests/test_*.c tests/*/test_*.c)
FUZZ_SOURCES  := $(wildcard tests/fuzz/fuzz_*.c)
HEADERS       := $(wildcard formats/*.h store/*.h pipeline/*.h reports/*.h bench/*.h bench/corpus/*.h cmd/*.h tests/support/*.h)
HOSTILE_SOURCES := $(wildcard tests/hostile/*.c)
ALL_C         := $(LIB_SOURCES) $(CMD_SOURCES) $(TEST_SUPPORT) $(TEST_SOURCES) $(FUZZ_SOURCES) $(HOSTILE_SOURCES)

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIBRARY := $(BUILD)/libanchorage.a
PROGRAM := $(BUILD)/anchorage
HOSTILE := $(BUILD)/tests/hostile/faults.so $(BUILD)/tests/hostile/replay
TESTS   := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SOURCES))
FUZZERS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(FUZZ_SOURCES))

# ---- flags -------------------------------------------------------------------------------------------------

PACKAGES := libarchive lmdb libxxhash jansson libmicrohttpd libzstd zlib libpng sqlite3 libseccomp
ifneq ($(shell pkg-config --exists $(PACKAGES) 2>/dev/null && echo yes),yes)
  MISSING_PACKAGES := yes
endif
PKG_CFLAGS = $(shell pkg-config --cflags $(PACKAGES))
PKG_LIBS   = $(shell pkg-config --libs $(PACKAGES)) -lmeshoptimizer

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wwrite-strings \
            -Wno-format-truncation
# Contraction would make a * b + c another number on machines that have it, and the generator other bytes.
CPPFLAGS += -D_GNU_SOURCE -I. $(PKG_CFLAGS)
CFLAGS_release  := -O3 -g -fno-math-errno
CFLAGS_debug    := -O0 -g3 -DANCHORAGE_TEST_HOOKS
CFLAGS_sanitize := -O1 -g -DANCHORAGE_TEST_HOOKS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_coverage := -O0 -g --coverage
CFLAGS_tsan     := -O1 -g -fsanitize=thread
CFLAGS_fuzz     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
LDFLAGS_sanitize := -fsanitize=address,undefined
LDFLAGS_coverage := --coverage
LDFLAGS_tsan := -fsanitize=thread
LDFLAGS_fuzz     := -fsanitize=address,undefined
ifeq ($(config),afl)
  CC := afl-clang-fast
  CFLAGS_afl := -O1 -g -fno-omit-frame-pointer
endif
ifneq ($(filter fuzz tsan,$(config)),)
  CC := clang-14
endif
ifneq ($(filter fuzz tsan afl,$(config)),)
  CFLAGS_$(config) += -Wno-unknown-warning-option -Wno-unknown-pragmas
endif
ALL_CFLAGS  = -std=gnu17 -ffp-contract=off $(WARNINGS) $(CFLAGS_$(config)) $(CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_$(config)) $(LDFLAGS)
# OpenMP is used in one file; -fopenmp elsewhere would only hide a stray pragma.
OPENMP := -fopenmp

# `make V=1` shows the commands instead of what they make.
ifeq ($(V),1)
  Q :=
  say = @:
else
  Q := @
  say = @printf '  %-5s %s\n'
endif

# ---- building ----------------------------------------------------------------------------------------------

.PHONY: all
all: $(PROGRAM) $(TESTS) $(FUZZERS) $(HOSTILE)

.PHONY: program
program: $(PROGRAM)

$(PROGRAM): $(call objects,$(CMD_SOURCES)) $(LIBRARY)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(OPENMP) -o $@ $^ $(PKG_LIBS) -lm

$(LIBRARY): $(call objects,$(LIB_SOURCES))
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(call objects,$(TEST_SUPPORT)) $(LIBRARY)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(OPENMP) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(PKG_LIBS) -lm

# Faults on request (pipeline/fault.h) are never part of the library of a release: this one test brings the files
# that cause them along, compiled for it, and they go before the library's.
HOOKED := $(patsubst %,$(BUILD)/hooks/pipeline/%.o,fault decode worker_decode worker_extract)
$(BUILD)/tests/test_isolation: $(HOOKED)
$(BUILD)/hooks/%.o: %.c Makefile | packages-present
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) -DANCHORAGE_TEST_HOOKS $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
-include $(HOOKED:.o=.d)

$(BUILD)/%.o: %.c Makefile | packages-present
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/pipeline/parallel.o: ALL_CFLAGS += $(OPENMP)

-include $(patsubst %.c,$(BUILD)/%.d,$(ALL_C))

.PHONY: packages-present
packages-present:
ifdef MISSING_PACKAGES
	@echo "Libraries are missing: pkg-config does not find all of $(PACKAGES)." >&2
	@echo "'make deps' installs them on Debian 12." >&2
	@exit 1
endif

# ---- the dashboard -----------------------------------------------------------------------------------------
# reports/dashboard/ is bundled by esbuild into one page, and the server's page of a resource with its script and style, which
# are embedded in the program. All configurations share them.

DASHBOARD := build/web/dashboard.html
$(DASHBOARD): $(wildcard reports/dashboard/*) package.json package-lock.json
	$(say) WEB $(@D)
	$(Q)reports/dashboard/bundle.sh $(@D)

$(BUILD)/reports/dashboard.o: $(DASHBOARD)
$(BUILD)/reports/dashboard.o: CPPFLAGS += -DWEB='"$(dir $(DASHBOARD))"'

# Bundles it again, when the packages could not be had before.
.PHONY: dashboard
dashboard:
	@rm -f $(DASHBOARD)
	@$(MAKE) --no-print-directory $(DASHBOARD)

# ---- packages ----------------------------------------------------------------------------------------------
# BUILD_PACKAGES are needed to build, TEST_PACKAGES to run every test. They are installed when this may be done (as
# root, or through sudo without a question); otherwise the line to run is printed.

BUILD_PACKAGES := gcc libc6-dev pkg-config libarchive-dev liblmdb-dev libxxhash-dev libjansson-dev libmicrohttpd-dev \
                  libzstd-dev zlib1g-dev libmeshoptimizer-dev libpng-dev libsqlite3-dev libseccomp-dev nodejs npm
TEST_PACKAGES  := libcmocka-dev bats jq sqlite3 assimp-utils chromium curl prometheus zstd lz4 lmdb-utils man-db \
                  slurm-wlm munge parallel procps
FUZZ_PACKAGES  := clang-14 libclang-rt-14-dev

.PHONY: deps test-deps
deps:
	@.ci/install-packages $(BUILD_PACKAGES)

test-deps: deps
	@.ci/install-packages $(TEST_PACKAGES)
	@reports/dashboard/packages.sh || \
	    echo "warning: npm could not install its packages; the tests that need them are skipped" >&2

# ---- tests -------------------------------------------------------------------------------------------------
# Each of these ends with a line "N passed, N failed".

.PHONY: check quick unit-tests sanitize-tests cli-tests
check: test-deps
	$(MAKE) -j$(JOBS) config=release all
	$(MAKE) -j$(JOBS) config=sanitize all
	tests/run --release build/release --sanitize build/sanitize --cli

quick: deps
	@.ci/install-packages libcmocka-dev
	$(MAKE) -j$(JOBS) config=release all
	tests/run --release build/release --quick

# Shards on a real Slurm cluster of this machine, and with GNU parallel; part of `make check`.
.PHONY: check-cluster
check-cluster: test-deps
	$(MAKE) -j$(JOBS) config=release all
	tests/run --release build/release --cluster

# What takes longer: the same truths at the scale of the studied disc, for three seeds.
# Which lines of formats/ its tests and the seeds of the harnesses that decode run.
.PHONY: coverage
coverage: test-deps
	@$(MAKE) --no-print-directory -j$(JOBS) config=coverage BUILD=build/coverage coverage-programs
	@tests/coverage.sh build/coverage

.PHONY: coverage-programs
coverage-programs: $(filter $(BUILD)/tests/formats/%,$(TESTS)) \
                   $(patsubst %,$(BUILD)/tests/%,test_arena test_mesh test_reader fuzz/fuzz_formats fuzz/fuzz_xpr2)

.PHONY: check-full
check-full: test-deps
	$(MAKE) -j$(JOBS) config=release all
	ANCHORAGE_SCALE=1 ANCHORAGE_SEEDS="1 2 3" tests/run --release build/release --only located --only resolve

# ---- faults, kills, threads -------------------------------------------------------------------------------
# The promises of SECURITY.md at full length; `make check` has a short form of each (tests/run).

TSAN_PACKAGES := clang-14 libclang-rt-14-dev libomp-14-dev

.PHONY: check-hostile
check-hostile: test-deps
	@.ci/install-packages $(TSAN_PACKAGES)
	$(MAKE) -j$(JOBS) config=release all
	$(MAKE) -j$(JOBS) config=tsan program build/tsan/tests/hostile/race
	tests/hostile/run_hostile.sh build/release build/tsan

# Preloaded into the program, so never instrumented.
$(BUILD)/tests/hostile/faults.so: tests/hostile/faults.c Makefile | packages-present
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -std=gnu17 $(CPPFLAGS) $(WARNINGS) -O1 -shared -fPIC -o $@ $<

$(BUILD)/tests/hostile/replay: tests/hostile/replay.c Makefile
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE $(WARNINGS) -O1 -o $@ $<

# The race in it must be seen, so nothing may optimise it away.
$(BUILD)/tests/hostile/race: tests/hostile/race.c Makefile
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=thread -fopenmp -g -O0 -o $@ $<

# ---- the demonstration -------------------------------------------------------------------------------------

DEMO := build/demo
.PHONY: demo
demo: deps
	@$(MAKE) -j$(JOBS) --no-print-directory config=release program
	@docs/demo.sh $(PROGRAM) $(DEMO)

# ---- measuring ---------------------------------------------------------------------------------------------

.PHONY: bench
bench: $(PROGRAM)
	$(PROGRAM) bench scan
	$(PROGRAM) bench decode
	$(PROGRAM) bench archives
	$(PROGRAM) bench store
	$(PROGRAM) bench serve
	bench/cluster.sh $(PROGRAM)
	$(PROGRAM) bench report

# Of a program that can crash on request, which no release can.
.PHONY: bench-crash
bench-crash:
	@$(MAKE) --no-print-directory BUILD=build/hooked CFLAGS=-DANCHORAGE_TEST_HOOKS program
	build/hooked/anchorage bench crash

# ---- housekeeping ------------------------------------------------------------------------------------------

.PHONY: install uninstall lint format headers clean help
install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/anchorage
	install -D -m 644 man/anchorage.1 $(DESTDIR)$(PREFIX)/share/man/man1/anchorage.1

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/anchorage $(DESTDIR)$(PREFIX)/share/man/man1/anchorage.1

# Every header compiles alone; the layers' arrows point one way; the style is the formatter's.
headers:
	@for header in $(HEADERS); do \
	    $(CC) -std=gnu17 $(WARNINGS) $(CPPFLAGS) -fsyntax-only -x c $$header || exit 1; done

lint: headers
	@tests/layers.sh
	@clang-format --dry-run -Werror $(ALL_C) $(HEADERS)
	@cppcheck --quiet --std=c11 --enable=warning --error-exitcode=1 --inline-suppr --library=tests/cppcheck.cfg \
	    --suppress=nullPointerOutOfMemory --suppress=internalAstError -I. $(LIB_SOURCES) $(CMD_SOURCES)

format:
	clang-format -i $(ALL_C) $(HEADERS)

clean:
	rm -rf build

help:
	@echo "make demo        install what is missing, build, decode a small corpus, show the result"
	@echo "make check       install what tests need, build, run every test (release and sanitizers)"
	@echo "make quick       the fast tests, under a minute"
	@echo "make check-cluster shards on a Slurm cluster of this machine, and with GNU parallel"
	@echo "make check-full  location and global passes at disc scale, three seeds"
	@echo "make check-hostile  faults, power cuts, kills and threads at full length"
	@echo "make coverage    which lines of formats/ the tests run"
	@echo "make fuzz        every harness for FUZZ_S seconds"
	@echo "make             build $(PROGRAM)"
	@echo "make dashboard   bundle the report's page again"
	@echo "make bench       measure, beside the machine's limit"
	@echo "make bench-crash  measure what crashes of decoders cost"
	@echo "make install     into PREFIX=$(PREFIX)"
	@echo "make lint        headers, layering, formatting, static analysis"
	@echo "make fuzz-afl    the locator with a second engine"
	@echo "config=release|debug|sanitize|coverage|fuzz chooses how it is built"

# ---- fuzzing -----------------------------------------------------------------------------------------------
# Harnesses are linked with libFuzzer in config=fuzz and with tests/fuzz/standalone.c in all others, where `make check` runs
# their seeds. FUZZ_S is the time of each in seconds; FUZZ names harnesses, all when it is empty.

FUZZ_S ?= 60
FUZZ   ?=
FUZZ_SUPPORT := $(filter-out $(FUZZ_SOURCES) tests/fuzz/standalone.c,$(wildcard tests/fuzz/*.c))
HEADERS += $(wildcard tests/fuzz/*.h)
ALL_C   += $(FUZZ_SUPPORT) tests/fuzz/standalone.c
ifneq ($(filter fuzz afl,$(config)),)
  FUZZ_DRIVER := -fsanitize=fuzzer
  OPENMP      := # clang's runtime of it is a package of its own, and harnesses have one thread
else
  FUZZ_DRIVER := $(BUILD)/tests/fuzz/standalone.o
endif

# Kept between runs of make: otherwise a chain of implicit rules drops them.
.SECONDARY: $(call objects,$(TEST_SOURCES) $(FUZZ_SOURCES) $(FUZZ_SUPPORT) tests/fuzz/standalone.c)

$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(call objects,$(FUZZ_SUPPORT) $(TEST_SUPPORT)) \
            $(filter %.o,$(FUZZ_DRIVER)) $(LIBRARY)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(OPENMP) -o $@ $(filter %.o %.a,$^) $(filter -%,$(FUZZ_DRIVER)) -lcmocka \
	    $(PKG_LIBS) -lm

-include $(patsubst %.c,$(BUILD)/%.d,$(FUZZ_SUPPORT) tests/fuzz/standalone.c)

.PHONY: fuzzers fuzz fuzz-afl fuzz-corpus
fuzzers: $(FUZZERS)

fuzz: test-deps
	@.ci/install-packages $(FUZZ_PACKAGES)
	@$(MAKE) --no-print-directory config=fuzz BUILD=$(if $(filter fuzz,$(config)),$(BUILD),build/fuzz) fuzzers
	@tests/fuzz/run_fuzz.sh $(if $(filter fuzz,$(config)),$(BUILD),build/fuzz) $(FUZZ_S) $(FUZZ)

# A second engine for the locator: another idea of what is interesting, and branches it solves by comparing operands.
fuzz-afl: test-deps
	@.ci/install-packages $(FUZZ_PACKAGES) afl++
	@AFL_QUIET=1 $(MAKE) --no-print-directory config=afl BUILD=build/afl build/afl/tests/fuzz/fuzz_xpr2
	@tests/fuzz/run_afl.sh build/afl fuzz_xpr2 $(FUZZ_S)

fuzz-corpus: $(FUZZERS)
	@tests/fuzz/run_corpus.sh $(BUILD)
