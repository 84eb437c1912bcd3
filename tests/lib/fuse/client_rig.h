/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel and a server for tests of the client. A SOCK_SEQPACKET socket replaces /dev/fuse,
 * because reads and writes of both transfer whole messages. The functions below replace rudp, and
 * the test provides the server's answers with their tails.
 */
#ifndef PLENUM_TESTS_CLIENT_RIG_H
#define PLENUM_TESTS_CLIENT_RIG_H

#include "dataplane/fuse/client/fuse_client_internal.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define CALLS_MAX 300

/* ---- the transport ---- */

struct rudp_session {
	void *user;
	bool up, closed;
};

struct fake_call {
	uint64_t cookie;
	const uint8_t *msg;
	size_t len;
};

extern struct fake_call calls[CALLS_MAX];
extern unsigned n_calls, calls_limit;
extern struct rudp_session session;
extern struct fuse_hello said; /* the last hello that the client sent */
extern enum rudp_security session_security;
extern struct rudp_path_info session_paths[2];
extern unsigned n_session_paths;

/* ---- the kernel ---- */

#define NOW0 (100 * NSEC_PER_SEC)

struct rig {
	uint64_t now_ns;
	int kernel, dev, proc_fd;
	struct launch_config *cfg;
	struct launch_stats stats;
	struct fuse_client *f;
	struct fuse_proto_server server; /* the server that answered INIT */
	uint32_t features;		 /* features that the server supports */
	uint32_t lock_epoch;		 /* epoch of the mount's locks */
	bool reclaims;	 /* the server's host has rebooted: the client must reclaim its locks */
	uint64_t unique; /* id of the kernel's next request */
};

struct fake_call call_take(unsigned i);
struct fuse_in_header call_header(unsigned i);
void kernel_send_to(struct rig *g, uint32_t opcode, uint64_t unique, uint64_t nodeid,
		    const void *arg, size_t arg_len);
void kernel_send(struct rig *g, uint32_t opcode, uint64_t unique, const void *arg, size_t arg_len);

/* Receives the client's next answer to the kernel. Returns its length, or 0 if there is none. */
size_t kernel_receive(struct rig *g, struct fuse_out_header *ret, void *data, size_t size);
void expect_reply(struct rig *g, uint64_t unique, int error);
void expect_silence(struct rig *g);
void kernel_init(struct rig *g, uint32_t minor, uint64_t flags);

/* client_clock_refresh() returns this time if it is later than the current time. */
extern uint64_t later_ns;

uint64_t clock_later_ns(void);
void client_start(struct rig *g);
int rig_setup(void **state);
/* Sets up a rig with RDMA on n_legs legs. */
int rig_setup_rdma(void **state, unsigned n_legs);
int rig_teardown(void **state);

/* The tail of a server's answer. */
struct tail {
	size_t len;
	uint8_t bytes[1024];
};

struct tail tail_make(unsigned flags, unsigned n_handles);
void tail_add(struct tail *t, const void *p, size_t len);
void tail_add_handle(struct tail *t, const char *handle);

/* Answers call number `call` as the server. If `tail` is NULL, the answer has no tail. */
void respond_tail(struct rig *g, unsigned call, int error, const void *data, size_t len,
		  const struct tail *tail);
void respond(struct rig *g, unsigned call, int error, const void *data, size_t len);
void respond_empty(struct rig *g, unsigned call);
void reset_all(struct rig *g, uint64_t now_ns);

/* Answers the client's first call, an INIT, as the server. */
void respond_init(struct rig *g);

/* Establishes a session. The client's first call in it is INIT. */
void session_up(struct rig *g);

/* Mounts, connects, and exchanges INIT with the kernel and with the server. */
void bring_up(struct rig *g);

/* Ends the server and starts it again at once. */
void server_restarts(struct rig *g, uint64_t incarnation, uint64_t verifier);

/* Ends the worker and starts its successor, while the server keeps running. */
void worker_restarts(struct rig *g);

/* ---- whole exchanges ---- */

/* Returns the tail of call number i. */
struct fuse_proto_req_tail call_tail(unsigned i);

/* Asserts that handle number k of call number i equals `handle`. */
void expect_handle(unsigned i, unsigned k, const char *handle);
struct fuse_entry_out entry_make(uint32_t mode);
struct fuse_entry_out lookup_as(struct rig *g, const char *name, const char *handle, uint32_t mode);
uint64_t lookup(struct rig *g, const char *name, const char *handle);
void forget(struct rig *g, uint64_t nodeid, uint64_t n);

/* Opens a file. If `attr` is NULL, the server's answer has no attributes. */
struct fuse_open_out open_with(struct rig *g, uint64_t nodeid, uint32_t flags, uint64_t server_fh,
			       const struct fuse_attr *attr);
uint64_t open_file(struct rig *g, uint64_t nodeid, uint64_t server_fh);
void kernel_write(struct rig *g, uint64_t nodeid, uint64_t fh, const void *data, size_t len);

/* Makes a write that the server acknowledges. */
void write_some(struct rig *g, uint64_t nodeid, uint64_t fh);
void kernel_fsync(struct rig *g, uint64_t nodeid, uint64_t fh);

/* Sends an fsync, which the server executes, and asserts its result. */
void expect_fsync(struct rig *g, uint64_t nodeid, uint64_t fh, int error);
void kernel_release(struct rig *g, uint64_t nodeid, uint64_t fh);

#endif
