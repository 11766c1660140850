/* sandbox.c - see sandbox.h */
#include "pipeline/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/ipfb.h"
#include "pipeline/walk.h"
#include "pipeline/worker.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Landlock: files ----------------------------------------------------------------------------------- */

/* Of later versions of Landlock than the headers of Debian 12 have. */
#define FS_REFER       (UINT64_C(1) << 13)
#define FS_TRUNCATE    (UINT64_C(1) << 14)
#define FS_IOCTL_DEV   (UINT64_C(1) << 15)
#define NET_BIND       (UINT64_C(1) << 0)
#define NET_CONNECT    (UINT64_C(1) << 1)
#define FS_OF_VERSION1 ((UINT64_C(1) << 13) - 1)

struct ruleset {
    uint64_t files, net;
};

/* A pack's parts lie beside it, and are opened by their names when it turns out to be one. */
static void allow_parts(int rules, const char *input)
{
    const struct walk_entry entry = {.is_input = true, .fd = -1, .directory = AT_FDCWD, .name = input};
    for (unsigned i = 0; i < IPFB_PARTS; i++) {
        int fd = walk_open_part(&entry, i);
        const struct landlock_path_beneath_attr part = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
                                                        .parent_fd = fd};
        if (fd < 0)
            continue;
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &part, 0);
        close(fd);
    }
}

int sandbox_rules(const char *const *inputs, size_t count)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return -1;
    struct ruleset attr = {.files = FS_OF_VERSION1};
    attr.files |=
        (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) | (version >= 5 ? FS_IOCTL_DEV : 0);
    attr.net = version >= 4 ? NET_BIND | NET_CONNECT : 0;
    size_t size = version >= 4 ? sizeof attr : sizeof attr.files;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    for (size_t i = 0; i < count && rules >= 0; i++) {
        struct stat status;
        int fd = open(inputs[i], O_PATH | O_CLOEXEC);
        struct landlock_path_beneath_attr beneath = {
            .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR, .parent_fd = fd};
        /* Without its rule an input that is a directory is unreadable: an outcome that is seen. */
        if (fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
            syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
        else if (fd >= 0)
            allow_parts(rules, inputs[i]);
        if (fd >= 0)
            close(fd);
    }
    return rules;
}

static bool restrict_files(_Atomic uint32_t *force)
{
    if (fcntl(WORKER_RULES, F_GETFD) < 0) /* the kernel has none */
        return true;
    if (syscall(SYS_landlock_restrict_self, WORKER_RULES, 0) != 0)
        return false;
    close(WORKER_RULES);
    atomic_fetch_or(force, SANDBOX_LANDLOCK);
    return true;
}

/* ---- seccomp: system calls ----------------------------------------------------------------------------- */

/* What both do: memory, waiting, their own threads' ends and signals, and reading what is open. */
static const int common[] = {
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(getrandom),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(membarrier),
};

/* What the extraction does beside that. Opening is for reading only; with Landlock only beneath the inputs.
 */
static const int extraction[] = {
    SCMP_SYS(read),       SCMP_SYS(pread64), SCMP_SYS(lseek),     SCMP_SYS(newfstatat),
    SCMP_SYS(getdents64), SCMP_SYS(recvmsg), SCMP_SYS(fadvise64), SCMP_SYS(pwrite64),
    SCMP_SYS(ftruncate),  SCMP_SYS(pause),   SCMP_SYS(statx),
};

static int allow_all(scmp_filter_ctx filter, const int *calls, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return result;
}

/* What a template does beside that, and no worker. */
static const int templates[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(clone),  SCMP_SYS(dup3),
                                SCMP_SYS(prctl),   SCMP_SYS(getppid), SCMP_SYS(seccomp)};

/* Calls of which only some arguments are harmless. */
static int allow_some(scmp_filter_ctx filter, enum sandbox_job job)
{
    int result = 0;
    /* No memory becomes code. */
    result |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                               SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    result |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                               SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    /* Last words. */
    result |=
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO));
    if (job != SANDBOX_EXTRACT)
        return result;
    result |=
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                         SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY));
    static const int harmless[] = {F_DUPFD_CLOEXEC, F_GETFL, F_GETFD, F_SETFD}; /* copies for fdopendir */
    for (size_t i = 0; i < COUNT(harmless); i++)
        result |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                                   SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)harmless[i]));
    return result | allow_all(filter, extraction, COUNT(extraction));
}

/* A filter that does `action` where no rule says otherwise. */
static scmp_filter_ctx begin_filter(uint32_t action)
{
    scmp_filter_ctx filter = seccomp_init(action);
    if (filter && seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0)
        return filter;
    seccomp_release(filter);
    return NULL;
}

/* What a worker may do, and its template. */
static bool restrict_calls(enum sandbox_job job)
{
    scmp_filter_ctx filter = begin_filter(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return false;
    /* The switch of store-bypass speculation that older kernels couple to seccomp slows decoding and guards
     * nothing here: there is no secret of another owner in these processes. */
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    int result = allow_all(filter, common, COUNT(common)) | allow_some(filter, job) |
                 allow_all(filter, templates, COUNT(templates)) |
                 seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result == 0;
}

/* Stands in a filter for the number of the process that it will be for. No process has it: they end at 2^22.
 */
#define SELF UINT32_C(0x53454c46)

static int forbid_templates(scmp_filter_ctx filter, enum sandbox_job job)
{
    int result = 0;
    for (size_t i = 0; i < COUNT(templates) && result == 0; i++)
        if (templates[i] != SCMP_SYS(recvmsg) || job != SANDBOX_EXTRACT) /* its inputs arrive by that */
            result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), templates[i], 0);
    /* abort() signals its own thread. */
    return result |
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_NE, SELF));
}

/* The filter as instructions. They leave libseccomp by way of a file. */
static bool export(scmp_filter_ctx filter, struct sandbox_filter *out)
{
    struct stat status;
    int fd = memfd_create("anchorage-filter", MFD_CLOEXEC);
    bool ok = fd >= 0 && seccomp_export_bpf(filter, fd) == 0 && fstat(fd, &status) == 0 &&
              (size_t)status.st_size <= BPF_MAXINSNS * sizeof(struct sock_filter);
    size_t size = ok ? (size_t)status.st_size : 0;
    out->code = ok ? malloc(size) : NULL;
    ok = out->code && pread(fd, out->code, size, 0) == (ssize_t)size;
    out->count = (uint16_t)(size / sizeof(struct sock_filter));
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Finds the one instruction that compares with SELF. */
static bool find_self(struct sandbox_filter *filter)
{
    const struct sock_filter *code = filter->code;
    unsigned found = 0;
    for (uint16_t i = 0; i < filter->count; i++)
        if (code[i].k == SELF) {
            filter->self = i;
            found += code[i].code == (BPF_JMP | BPF_JEQ | BPF_K) ? 1 : 2;
        }
    return found == 1;
}

static bool prepare_filter(enum sandbox_job job, struct sandbox_filter *out)
{
    scmp_filter_ctx filter = begin_filter(SCMP_ACT_ALLOW);
    bool ok = filter && forbid_templates(filter, job) == 0 && export(filter, out) && find_self(out);
    seccomp_release(filter);
    return ok;
}

/* ---- both ---------------------------------------------------------------------------------------------- */

bool sandbox_template(enum sandbox_job job, bool wanted, struct sandbox_filter *filter,
                      _Atomic uint32_t *force)
{
    *filter = (struct sandbox_filter){0};
    if (!wanted)
        return true;
    bool has_seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && (!has_seccomp || prepare_filter(job, filter)) &&
           restrict_files(force) && (!has_seccomp || restrict_calls(job));
}

bool sandbox_worker(const struct sandbox_filter *filter, _Atomic uint32_t *force)
{
    struct sock_filter *code = filter->code;
    const struct sock_fprog program = {.len = filter->count, .filter = code};
    if (!code)
        return true;
    code[filter->self].k = (uint32_t)getpid();
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) != 0)
        return false;
    atomic_fetch_or(force, SANDBOX_SECCOMP);
    return true;
}

const char *sandbox_words(uint32_t force)
{
    static const char *const words[] = {"off", "seccomp", "landlock", "seccomp and landlock"};
    return words[force & 3];
}
