/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client for tests of the server. It sends FUSE requests as a frontend does, one or several at a
 * time, and receives the replies. Tests use node numbers and file handles as a kernel does. The rig
 * translates them to the server's handles, and reopens the files at the server's successor. It
 * replaces the transport (rudp_respond and others). Each rig has an export in a new directory, by
 * default on disk.
 */
#ifndef PLENUM_TESTS_SERVER_RIG_H
#define PLENUM_TESTS_SERVER_RIG_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/proto/fuse_proto.h"
#include "dataplane/fuse/server/fuse_server.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define ROOT FUSE_ROOT_ID
#define RIG_DEADLINE_NS (20 * NSEC_PER_SEC)
#define RIG_NODES_MAX 16384U
#define RIG_FILES_MAX 16384U
#define RIG_FH 0x1000000U /* a file handle of the rig is this number plus an index */

struct rudp_call {
	void *user;
	bool answered, hold; /* hold: do not acknowledge the reply */
	void *token;
	size_t len;
	uint8_t reply[RUDP_MSG_BYTES_MAX];
};

struct rig {
	char dir[64];
	struct launch_config cfg;
	struct launch_stats stats;
	struct fuse_handle *nodes; /* the server's handles by node number, the root's first */
	unsigned n_nodes;
	struct rig_file {
		uint64_t node, fh; /* fh: the server's file handle; 0: closed or lost */
		uint32_t flags;
	} * files;
	unsigned n_files;
	struct fuse_proto_server identity;
	uint64_t own_unique; /* id for the rig's internal requests */
	int reopen_r;	     /* error of the last failed reopen */
	int key_fd;
	uint64_t boot; /* identifies the boot of the host */
	struct fs_helper *helpers;
	struct fuse_server *server;
	struct fuse_server_client *client;
	struct fuse_hello hello;
	uint64_t unique;  /* id of the last request */
	bool resend;	  /* mark the next request as sent before */
	uint64_t late_ns; /* time that requests wait before the server gets them */
	uint32_t uid, gid;
	struct rudp_call *call; /* the call of rig_do */
	/* The files that the rig keeps open (pins) for the server, as an agent does. */
	struct rig *holder; /* the rig that has the pins; NULL: this rig */
	bool deaf;	    /* refuse requests to pin files */
	struct rig_held {
		uint64_t key;
		int fd;
	} held[8];
	unsigned n_held;
	bool holds_late; /* delay the next pin until rig_hear_late() */
	struct rig_held late;
	/* Data and tail of the last reply. */
	const void *data;
	size_t len;
	const uint8_t *tail;
	size_t tail_len;
	bool opened; /* the answer to the last rig_open had attributes */
	struct fuse_attr opened_attr;
};

extern struct fuse_server *rig_back; /* the server that gets acknowledgements */
/* called when a session is closed; may be NULL */
extern void (*rig_on_close)(struct rudp_session *s);
extern uint64_t rig_heard_ns;		/* when the last packet of every session arrived; 0: now */
extern enum rudp_standing rig_standing; /* standing of all sessions */
extern unsigned rig_short;		/* number of calls of rudp_responses_short() */

void rig_poll(struct rig *g);
void rig_wait(struct rig *g, const struct rudp_call *call);

/* Delivers one message to the server, which answers `call` now or later. */
void rig_send_raw(struct rig *g, struct rudp_call *call, const void *msg, size_t len);

struct rig_req { /* the parts of a request; a part that is 0 is absent */
	uint32_t op;
	uint64_t node;
	const void *arg;
	size_t arg_len;
	const char *name, *name2;
	const void *data;
	size_t data_len;
	uint16_t flags; /* FUSE_PROTO_REQ_* */
	uint64_t unique;
	struct fuse_proto_bulk bulk; /* after the handles, if its length is not 0 */
};

size_t rig_put_tail(const struct rig *g, uint8_t *to, const struct rig_req *r);
void rig_send(struct rig *g, struct rudp_call *call, const struct rig_req *r);

/* Returns the error in the answer to the call: 0 or negative errno. Sets g->data and g->len to the
 * answer's data. */
int rig_result(struct rig *g, const struct rudp_call *call);
int rig_do_(struct rig *g, const struct rig_req *r);
#define rig_do(g, o, n, ...) rig_do_((g), &(struct rig_req){.op = (o), .node = (n), ##__VA_ARGS__})
#define RIG_ARG(a) .arg = &(a), .arg_len = sizeof(a)

/* Returns the node for handle number i in the tail of the last reply. `what` is the expected value
 * of the tail's flags. */
uint64_t rig_tail_node(struct rig *g, unsigned i, uint16_t what);

/* Begins a session without reopening files. */
int rig_init_session(struct rig *g);

/* Reads the server's identity. If it has changed, reopens all files. */
void rig_reopen(struct rig *g);
int rig_accept(struct rig *g);
void rig_connect(struct rig *g);

/* Delivers the delayed pin. A test calls this after messages of another rig. */
void rig_hear_late(struct rig *g);
bool rig_hold(void *user, uint32_t export_index, uint64_t key, int fd);
void rig_hands(struct rig *g);
void rig_start(struct rig *g);

/* Ends the server as before an upgrade: only the descriptor of its state remains, and what the
 * client knows. */
void rig_stop(struct rig *g);
void rig_setup(struct rig *g, const char *base);
void rig_teardown(struct rig *g);

/* ---- common requests ---- */

uint64_t rig_entry_node(struct rig *g);

/* Returns the rig's file handle for the server's file handle fh, which it adds if it is new. */
uint64_t rig_file(struct rig *g, uint64_t node, uint64_t fh, uint32_t flags);

/* Sends RELEASE, and forgets the file whatever the reply is. */
int rig_release(struct rig *g, uint64_t node, uint64_t fh);
int rig_lookup(struct rig *g, uint64_t parent, const char *name, uint64_t *ret);
int rig_mkdir(struct rig *g, uint64_t parent, const char *name, uint64_t *ret);
int rig_create(struct rig *g, uint64_t parent, const char *name, uint32_t flags, uint32_t mode,
	       uint64_t *ret, uint64_t *ret_fh);
int rig_open(struct rig *g, uint64_t node, uint32_t flags, uint64_t *ret_fh);

/* Returns the number of bytes written, or negative errno. */
int rig_write(struct rig *g, uint64_t node, uint64_t fh, uint64_t off, uint32_t flags,
	      const void *data, size_t len);

/* Returns the number of bytes read, which are at g->data, or negative errno. */
int rig_read(struct rig *g, uint64_t node, uint64_t fh, uint64_t off, uint32_t len);
int rig_getattr(struct rig *g, uint64_t node, struct fuse_attr *ret);
const char *rig_path(const struct rig *g, const char *name);
void rig_put_text(const struct rig *g, const char *name, const char *text);

/* Entries for the list of a test program. ON(base, f) runs test f in a new directory below base,
 * with the setup() and teardown() of the file. BOTH(f) runs it on disk and in memory. */
#define ON(base, f)                                                                       \
	{                                                                                 \
#f " on " base, f, setup, teardown, (void *)(uintptr_t)(const char *)base \
	}
#define BOTH(f) ON("/tmp", f), ON("/dev/shm", f)

/* Returns whether the tests can run here. If not, prints the reason. */
bool rig_can(void);

#endif
