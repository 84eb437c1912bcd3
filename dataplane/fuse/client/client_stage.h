/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stage is one part of the client, such as RDMA or dispatch to mount workers. It joins the way of
 * requests by the hooks below; a NULL hook takes no part. client_stages.c has the table of stages,
 * whose order is the order of calls. Each mount visits only its active stages:
 * client_stages_select() makes a short list per hook, so that a stage that is off costs nothing. A
 * new stage is one file and one line in the table.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_STAGE_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_STAGE_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_client;
struct client_slot;

#define CLIENT_STAGE_OPCODES 64U /* take: requests with larger opcodes go to the server */
#define CLIENT_STAGE_OPCODE(opcode) (1ULL << (opcode))

struct client_stage {
	/* Whether the mount uses the stage; NULL: always. */
	bool (*is_on)(const struct fuse_client *f);
	/* Allocates, and adopts what a predecessor left. 0; negative errno. Called for all stages.
	 */
	int (*init)(struct fuse_client *f);
	/* Called for all stages in reverse order, also if init failed or was not reached. */
	void (*done)(struct fuse_client *f);
	/* The pull of an owner begins; `all`: the worker may sleep after it. Returns the number of
	 * requests taken. */
	int (*poll)(struct fuse_client *f, bool all, uint64_t now_ns);
	/* The kernel's queue is empty. */
	void (*drained)(struct fuse_client *f);
	/* The pull has read what it could; n_taken: number of requests. */
	void (*polled)(struct fuse_client *f, int n_taken, uint64_t now_ns);
	/* There is no room for more requests. */
	void (*full)(struct fuse_client *f);
	/* Cached state of files is about to be used: applies changes that other workers made. */
	void (*sync)(struct fuse_client *f);
	/* A request with one of `opcodes`, a bit mask, of n bytes is in f->request. True: the
	 * stage has answered it. One stage per opcode. */
	uint64_t opcodes;
	bool (*take)(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
		     uint64_t now_ns);
	/* The request is ready to be sent. True: the stage has taken it. */
	bool (*offer)(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
	/* Whether the request must wait. 0: no; -ENOMEM: it waits; -ECANCELED: it is dropped;
	 * -ESTALE: it is returned or fails; else the error for the kernel. In reverse order. */
	int (*holds)(struct fuse_client *f, struct client_slot *s);
	/* The reply msg, with its header, is about to go to the kernel, unless s->answered. */
	void (*reply)(struct fuse_client *f, struct client_slot *s, void *msg, size_t len);
	/* The server is ready: sends what is due. */
	void (*flush)(struct fuse_client *f, uint64_t now_ns);
	/* The server's answer to the stage's call, which has this cookie. It is received in the
	 * resp_bytes at offset resp_at of struct fuse_client. */
	uint64_t cookie;
	size_t resp_at, resp_bytes;
	bool is_background; /* the call does not count as work */
	void (*answer)(struct fuse_client *f, const void *msg, size_t len, uint64_t now_ns);
	/* Each tick, also after the unmount. */
	void (*tick)(struct fuse_client *f, uint64_t now_ns);
	/* Ends what has waited too long. Returns the next deadline. */
	uint64_t (*expire)(struct fuse_client *f, uint64_t now_ns);
	/* Returns when the stage is to be flushed next; UINT64_MAX: at no fixed time. */
	uint64_t (*due)(struct fuse_client *f, uint64_t now_ns);
	/* The session has ended. */
	void (*down)(struct fuse_client *f, uint64_t now_ns);
};

/* The active stages of a mount, by hook; each list ends with NULL. */
#define CLIENT_STAGES_PER_HOOK 8
#define CLIENT_STAGE_LIST(hook) const struct client_stage *hook[CLIENT_STAGES_PER_HOOK]
struct client_stages {
	CLIENT_STAGE_LIST(poll);
	CLIENT_STAGE_LIST(drained);
	CLIENT_STAGE_LIST(polled);
	CLIENT_STAGE_LIST(full);
	CLIENT_STAGE_LIST(sync);
	CLIENT_STAGE_LIST(offer);
	CLIENT_STAGE_LIST(holds);
	CLIENT_STAGE_LIST(reply);
	CLIENT_STAGE_LIST(flush);
	CLIENT_STAGE_LIST(answer);
	CLIENT_STAGE_LIST(tick);
	CLIENT_STAGE_LIST(expire);
	CLIENT_STAGE_LIST(due);
	CLIENT_STAGE_LIST(down);
	const struct client_stage *take[CLIENT_STAGE_OPCODES]; /* by opcode; NULL: none */
};

/* client_stages.c */

/* Calls init of all stages, until one fails. 0; negative errno. */
int client_stages_init(struct fuse_client *f);
void client_stages_done(struct fuse_client *f);
/* client_stage.c */

/* Makes the lists; again when a stage has been switched on or off. */
void client_stages_select(struct fuse_client *f);
/* The active stage whose calls have that cookie; NULL: none. */
const struct client_stage *client_stage_of_cookie(const struct fuse_client *f, uint64_t cookie);

/* In the order of the table. */
extern const struct client_stage client_mount_worker_stage;
extern const struct client_stage client_init_stage;
extern const struct client_stage client_request_stage;
extern const struct client_stage client_cache_stage;
extern const struct client_stage client_prefetch_stage;
extern const struct client_stage client_local_dir_stage;
extern const struct client_stage client_closed_files_stage;
extern const struct client_stage client_deferred_ctime_stage;
extern const struct client_stage client_rdma_stage;
extern const struct client_stage client_ping_stage;
extern const struct client_stage client_interrupt_stage;
extern const struct client_stage client_dispatch_stage;
extern const struct client_stage client_forward_stage;

#endif
