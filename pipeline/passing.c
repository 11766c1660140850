/* passing.c - see passing.h */
#include "pipeline/passing.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Room for the descriptors, aligned as the kernel wants it. */
union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(PASSING_MOST * sizeof(int))];
};

bool passing_send(int socket, int word, const int *fds, unsigned count)
{
    union control control = {.bytes = {0}};
    struct iovec data = {&word, sizeof word};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof *fds);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof *fds);
        memcpy(CMSG_DATA(head), fds, count * sizeof *fds);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && (errno == EINTR || errno == ETOOMANYREFS));
    return sent == (ssize_t)sizeof word;
}

int passing_receive(int socket, int *word, int *fds)
{
    union control control;
    struct iovec data = {word, sizeof *word};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t received;
    for (unsigned i = 0; i < PASSING_MOST; i++)
        fds[i] = -1;
    do
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received != (ssize_t)sizeof *word)
        return received < 0 ? errno : EPIPE;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len <= sizeof control.bytes)
        memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
    return 0;
}
