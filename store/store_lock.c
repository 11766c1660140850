/* store_lock.c - the writer's lock, and the file systems a store may live on. See store_internal.h.
 *
 * The lock is a record lock of fcntl on a file of its own: the kernel names its holder, drops it however the
 * holder ends, and does not hand it on to children. Its weakness, that closing any descriptor of the file
 * drops the lock, cannot bite: a process opens a store once (store.c) and nothing else opens the file.
 */
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct {
    uint32_t magic; /* of statfs(2) */
    const char *name;
} network_filesystems[] = {
    {0x00006969, "NFS"},    {0x0000517B, "SMB"},   {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB2"},
    {0x01021997, "9p"},     {0x5346414F, "AFS"},   {0x73757245, "Coda"},   {0x00C36400, "Ceph"},
    {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},  {0x19830326, "BeeGFS"}, {0x01161970, "GFS2"},
    {0x7461636F, "OCFS2"},  {0xAAD7AAEA, "PanFS"}, {0x013111A8, "IBRIX"},  {0x786F4256, "a VirtualBox share"},
};
#define FUSE_MAGIC 0x65735546

/* FUSE serves local disks and remote machines alike; the type that mountinfo gives tells: "fuseblk" has a
 * block device behind it, fuse-overlayfs a local directory. Anything else is taken for remote. */
static bool fuse_is_local(const char *path)
{
    struct stat status;
    FILE *mounts = stat(path, &status) == 0 ? fopen("/proc/self/mountinfo", "re") : NULL;
    char line[4096], type[64];
    bool local = false;
    while (mounts && fgets(line, sizeof line, mounts)) {
        unsigned major_id, minor_id;
        const char *dash = strstr(line, " - ");
        if (sscanf(line, "%*u %*u %u:%u", &major_id, &minor_id) != 2 || !dash ||
            makedev(major_id, minor_id) != status.st_dev || sscanf(dash, " - %63s", type) != 1)
            continue;
        local = strcmp(type, "fuseblk") == 0 || strcmp(type, "fuse.fuse-overlayfs") == 0;
    }
    if (mounts)
        fclose(mounts);
    return local;
}

static bool refuse(const char *path, const char *name, struct error *err)
{
    return error_set(
        err, ERROR_STORE, ERROR_NO_OFFSET,
        "store '%s' is on a network file system (%s), where memory maps of several machines differ; put "
        "it on a local disk",
        path, name);
}

bool lock_check_filesystem(const char *path, struct error *err)
{
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return error_set_system(err, ERROR_STORE, errno, "store '%s'", path);
    uint32_t magic = (uint32_t)fs.f_type;
    for (size_t i = 0; i < sizeof network_filesystems / sizeof *network_filesystems; i++)
        if (magic == network_filesystems[i].magic)
            return refuse(path, network_filesystems[i].name, err);
    if (magic == FUSE_MAGIC && !fuse_is_local(path))
        return refuse(path, "FUSE", err);
    return true;
}

/* Who holds the lock: the kernel's answer, or, when the holder is in another pid namespace, what it wrote. 0
 * when the lock is free by now, -1 when nobody can tell. */
static long lock_holder(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char text[32] = "";
    if (fcntl(fd, F_GETLK, &lock) != 0)
        return -1;
    if (lock.l_type == F_UNLCK)
        return 0;
    if (lock.l_pid > 0)
        return lock.l_pid;
    long pid;
    return pread(fd, text, sizeof text - 1, 0) > 0 && sscanf(text, "%ld", &pid) == 1 && pid > 0 ? pid : -1;
}

/* True when taken; false with *err set. */
static bool lock_try(int fd, const char *path, bool wait, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (;;) {
        if (fcntl(fd, wait ? F_SETLKW : F_SETLK, &lock) == 0)
            return true;
        if (errno == EINTR)
            continue;
        if (errno != EACCES && errno != EAGAIN)
            return error_set_system(err, ERROR_STORE, errno, "lock '%s'", path);
        long pid = lock_holder(fd);
        if (pid > 0)
            return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                             "another process writes to the store: pid %ld holds '%s'", pid, path);
        if (pid < 0)
            return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                             "another process writes to the store and holds '%s'", path);
    }
}

int lock_take(const char *path, bool wait, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        error_set_system(err, ERROR_STORE, errno, "lock '%s'", path);
        return -1;
    }
    if (!lock_try(fd, path, wait, err)) {
        close(fd);
        return -1;
    }
    /* For people, and for processes of other pid namespaces; the lock does not depend on it. */
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length) {
        error_set_system(err, ERROR_STORE, errno, "lock '%s'", path);
        close(fd);
        return -1;
    }
    return fd;
}
