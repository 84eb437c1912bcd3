/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private header of the upper half of the FUSE client: takes the kernel's requests, holds the
 * session with the server, sends requests and processes answers. The files of the folder call all
 * other parts of the client; of these, only workers/ calls them.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_SESSION_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_SESSION_H

#include "dataplane/fuse/client/fuse_client_internal.h"

/* client_load.c: how much is pending in the kernel */

/* Counts a request of the kernel, and the data bytes of a WRITE, on the statistics page. */
void client_note_read(struct fuse_client *f, const struct fuse_in_header *h);
/* Returns how many requests probably wait in the kernel. The result is at least 1 while all
 * requests are answered. */
int client_read_burst_hint(const struct fuse_client *f);
/* Call after each read: updates the highest number of unanswered requests, which shows how many
 * programs are active. */
void client_queue_depth_update(struct fuse_client *f);

/* client_take.c: requests of the kernel */

/* Processes a request of n bytes in f->read_buf; sets f->request. */
void client_take_request(struct fuse_client *f, size_t n, uint64_t now_ns);

/* client_send.c: requests to the server */

/* Sends pending requests. */
void client_flush(struct fuse_client *f, uint64_t now_ns);
/* Begins the session; once the server is ready, the stages send what is due. */
void client_flush_stages(struct fuse_client *f, uint64_t now_ns);
/* Ends the session, if any; pending requests keep waiting. */
void client_session_drop(struct fuse_client *f, uint64_t now_ns);
/* Sends DESTROY to the server after the unmount. */
void client_goodbye(struct fuse_client *f);

/* client_answer.c: answers on their way to the kernel. */

void client_answer_take(struct fuse_client *f, struct client_slot *s, void *msg, size_t len,
			uint64_t now_ns);

/* client_refusal.c: a server that refuses the mount. */

/* Call when the server has refused the session with this code, a negative errno. */
void client_refusal_note(struct fuse_client *f, int code, uint64_t now_ns);
/* Call when the server has accepted the session. */
void client_refusal_end(struct fuse_client *f);
/* Returns the error with which requests fail because of the refusal; 0: requests do not fail. */
int client_refusal_get(const struct fuse_client *f, uint64_t now_ns);

/* client_interrupt.c: timeouts of soft mounts, and requests of killed processes. */

void client_interrupt_request(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns);

/* client_killed.c: requests of killed processes. */

/* Call when the process of the slot's request got a signal. */
void client_killed_signalled(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
/* Ends the request if its process is being killed. A request that waits at the client ends at once.
 * For a request at the server, the client sends an interrupt and waits for a moment, so that a dead
 * process leaves nothing in progress. */
void client_killed_look(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
/* Ends the request with `error` for the program, whether or not the server still executes it. */
void client_killed_abandon(struct fuse_client *f, struct client_slot *s, int error);

#endif
