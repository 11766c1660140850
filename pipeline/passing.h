/* passing.h - a number and open descriptors, from process to process over a socket.
 *
 * The socket keeps messages apart (SOCK_SEQPACKET). A descriptor in a message that nobody takes is closed
 * with the socket.
 */
#ifndef ANCHORAGE_PASSING_H
#define ANCHORAGE_PASSING_H

#include <stdbool.h>

#define PASSING_MOST 2 /* descriptors in a message */

/* Sends `word` and copies of fds[0..count). Waits for room. False when nobody will receive it. */
bool passing_send(int socket, int word, const int *fds, unsigned count);
/* Waits for the next message. Its descriptors, closed on exec, go to fds[PASSING_MOST], -1 where there is
 * none. Returns 0, or an errno; EPIPE: there will be none. */
int passing_receive(int socket, int *word, int *fds);

#endif
