/* inputs.h - open inputs on their way to a process that may open none itself.
 *
 * The parent opens each input in turn and passes the descriptor over a socket; the socket's buffer bounds how
 * far it is ahead. Inputs are looked at before they are opened, so FIFOs, sockets and devices never are.
 */
#ifndef ANCHORAGE_INPUTS_H
#define ANCHORAGE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

/* Why an input has no descriptor, when it is no errno. */
#define INPUTS_NO_FILE -1

/* Opens and sends every input, in order. Returns when all are sent or nobody receives. `walked`: see
 * walk_again. */
void inputs_send(int socket, const char *const *inputs, size_t count, const bool *walked);
/* The next input's descriptor (a file or a directory, for reading); else -1 with *why an errno or
 * INPUTS_NO_FILE. */
int inputs_receive(int socket, int *why);

#endif
