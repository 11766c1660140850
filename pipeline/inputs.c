/* inputs.c - see inputs.h */
#include "pipeline/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor, or why there is none. */
static int open_input(const char *path, bool follow, int *why)
{
    struct stat stat_buffer;
    *why = 0;
    if (fstatat(AT_FDCWD, path, &stat_buffer, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
        *why = errno;
        return -1;
    }
    if (!S_ISREG(stat_buffer.st_mode) && !S_ISDIR(stat_buffer.st_mode)) {
        *why = INPUTS_NO_FILE;
        return -1;
    }
    /* O_NONBLOCK: should a FIFO have taken its place meanwhile. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
    if (fd < 0)
        *why = errno;
    return fd;
}

/* Room for one descriptor, aligned as the kernel wants it. */
union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_one(int socket, int fd, int why)
{
    union control control = {.bytes = {0}};
    struct iovec data = {&why, sizeof why};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && (errno == EINTR || errno == ETOOMANYREFS));
    return sent == (ssize_t)sizeof why;
}

void inputs_send(int socket, const char *const *inputs, size_t count, const bool *walked)
{
    bool sent = true;
    for (size_t i = 0; i < count && sent; i++) {
        int why, fd = open_input(inputs[i], !walked || !walked[i], &why);
        sent = send_one(socket, fd, why);
        if (fd >= 0)
            close(fd);
    }
}

int inputs_receive(int socket, int *why)
{
    union control control;
    struct iovec data = {why, sizeof *why};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t received;
    int fd = -1;
    do
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received != (ssize_t)sizeof *why) {
        *why = received < 0 ? errno : EPIPE;
        return -1;
    }
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    if (fd < 0 && *why == 0)
        *why = EMFILE; /* the kernel had no number left for it here */
    return fd;
}
