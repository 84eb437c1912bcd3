/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stage is a part of the client that not every mount needs, such as RDMA or dispatch to mount
 * workers. It handles requests in the hooks below. Hooks that it does not need are NULL.
 * client_stages.c has the table of stages; hooks are called in the order of that table. Each mount
 * calls only its active stages: client_stages_select() makes a short list per hook, so that an
 * inactive stage costs nothing. A new stage is one file and one line in the table.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_STAGE_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_STAGE_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_client;
struct client_slot;

/* Number of opcodes that `take` can handle. Requests with larger opcodes always go to the
 * server. */
#define CLIENT_STAGE_OPCODES 64U
#define CLIENT_STAGE_OPCODE(opcode) (1ULL << (opcode))

struct client_stage {
	/* Returns whether the mount uses the stage. NULL: every mount does. */
	bool (*is_on)(const struct fuse_client *f);
	/* Allocates memory and adopts the state of a predecessor. Called for all stages, including
	 * inactive ones. Returns 0 or a negative errno. */
	int (*init)(struct fuse_client *f);
	/* Frees everything. Called for all stages in reverse order, also if init failed or was not
	 * called. */
	void (*done)(struct fuse_client *f);
	/* Called when the owner of the mount begins to read requests. all: the worker may sleep
	 * after this call of fuse_client_pull(). Returns the number of requests that the stage has
	 * taken. */
	int (*poll)(struct fuse_client *f, bool all, uint64_t now_ns);
	/* Called when the kernel has no more requests to read. */
	void (*drained)(struct fuse_client *f);
	/* Called after fuse_client_pull() has read all requests that it could. n_taken: the count
	 * of these requests. */
	void (*polled)(struct fuse_client *f, int n_taken, uint64_t now_ns);
	/* Called when no slot or buffer is free for another request. */
	void (*full)(struct fuse_client *f);
	/* Called before the client uses cached state of files: applies changes that other workers
	 * have made. */
	void (*sync)(struct fuse_client *f);
	/* Called with a request of n bytes in f->request whose opcode is in the bit mask `opcodes`.
	 * No two stages may have the same opcode. Returns true if the stage has answered the
	 * request, or has processed a request that expects no answer; the request then gets no
	 * slot. */
	uint64_t opcodes;
	bool (*take)(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
		     uint64_t now_ns);
	/* Called when the request in slot s is ready to be sent. Returns true if the stage has
	 * taken over the request; the client then does not send it. */
	bool (*offer)(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
	/*
	 * Decides whether the request in slot s may be sent now. The stages are called in reverse
	 * order. Returns:
	 * - 0: it may be sent
	 * - -ENOMEM: it must wait
	 * - -ECANCELED: it must be dropped
	 * - -ESTALE: it must be returned to the owner of the mount or, if that is not possible,
	 *   fail
	 * - another negative errno: it must fail with this error
	 */
	int (*holds)(struct fuse_client *f, struct client_slot *s);
	/* Called before the client writes the reply in msg, which begins with a struct
	 * fuse_out_header, to the kernel. Not called if the kernel has a reply already
	 * (s->answered). */
	void (*reply)(struct fuse_client *f, struct client_slot *s, void *msg, size_t len);
	/* Called when all files are open at the server again. Returns false while the stage has
	 * requests that must come before all others. */
	bool (*begin)(struct fuse_client *f);
	/* Sends requests of the stage that are due. Called while the server is ready. */
	void (*flush)(struct fuse_client *f, uint64_t now_ns);
	/* Only for a stage that makes calls to the server. cookie: identifies the stage's calls.
	 * resp_at, resp_bytes: offset and size, in struct fuse_client, of the memory for the
	 * server's answer. answer: called when the answer has arrived. */
	uint64_t cookie;
	size_t resp_at, resp_bytes;
	bool is_background; /* the worker may become idle while only this stage makes calls */
	void (*answer)(struct fuse_client *f, const void *msg, size_t len, uint64_t now_ns);
	/* Called at each tick, also after the unmount. */
	void (*tick)(struct fuse_client *f, uint64_t now_ns);
	/* Ends requests that have waited too long. Returns when to call it next. */
	uint64_t (*expire)(struct fuse_client *f, uint64_t now_ns);
	/* Returns when to call `flush` next; UINT64_MAX: no time is set. */
	uint64_t (*due)(struct fuse_client *f, uint64_t now_ns);
	/* Called when the session has ended. */
	void (*down)(struct fuse_client *f, uint64_t now_ns);
};

/* The active stages of a mount, by hook; each list ends with NULL. */
#define CLIENT_STAGES_PER_HOOK 12
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
	CLIENT_STAGE_LIST(begin);
	CLIENT_STAGE_LIST(flush);
	CLIENT_STAGE_LIST(answer);
	CLIENT_STAGE_LIST(tick);
	CLIENT_STAGE_LIST(expire);
	CLIENT_STAGE_LIST(due);
	CLIENT_STAGE_LIST(down);
	/* By opcode; NULL: no active stage takes requests with this opcode. */
	const struct client_stage *take[CLIENT_STAGE_OPCODES];
};

/* client_stages.c */

/* Calls init of all stages until one fails. Returns 0 or a negative errno. */
int client_stages_init(struct fuse_client *f);
void client_stages_done(struct fuse_client *f);
/* client_stage.c */

/* Makes the lists of active stages; call it again when a stage was switched on or off. */
void client_stages_select(struct fuse_client *f);
/* Returns the active stage whose calls have that cookie, or NULL if there is none. */
const struct client_stage *client_stage_of_cookie(const struct fuse_client *f, uint64_t cookie);

/* The stages, in the order of the table in client_stages.c. */
extern const struct client_stage client_mount_worker_stage;
extern const struct client_stage client_limits_stage;
extern const struct client_stage client_init_stage;
extern const struct client_stage client_request_stage;
extern const struct client_stage client_locks_stage;
extern const struct client_stage client_cache_stage;
extern const struct client_stage client_prefetch_stage;
extern const struct client_stage client_local_dir_stage;
extern const struct client_stage client_kept_files_stage;
extern const struct client_stage client_closed_files_stage;
extern const struct client_stage client_deferred_ctime_stage;
extern const struct client_stage client_write_back_stage;
extern const struct client_stage client_rdma_stage;
extern const struct client_stage client_ping_stage;
extern const struct client_stage client_interrupt_stage;
extern const struct client_stage client_refusal_stage;
extern const struct client_stage client_dispatch_stage;
extern const struct client_stage client_forward_stage;

#endif
