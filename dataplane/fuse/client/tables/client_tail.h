/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the kernel's requests and the server's answers, and builds the tail of a request. A tail is
 * the part of a message that follows the kernel's format: in a request, the handles of the nodes
 * and files that it names; in an answer, handles and flags. The answer's tail is checked
 * completely. The functions only read and write bytes of messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_TAIL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_TAIL_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

#define CLIENT_REFS_MAX 2

/* The nodes and files that a request of the kernel names. */
struct client_refs {
	uint64_t nodeids[CLIENT_REFS_MAX];
	uint32_t n_nodes;
	uint32_t n_fhs;
	uint64_t fhs[CLIENT_REFS_MAX];
	uint32_t fh_at[CLIENT_REFS_MAX]; /* offsets of the file handles in the request */
};

struct client_handle {
	const uint8_t *bytes;
	unsigned len;
};

/* Finds which nodes and files a request names. Returns 0, -ENOSYS or -ENOTTY if no server supports
 * the request, or -EINVAL if it is too short. */
int client_refs_read(const void *req, size_t len, struct client_refs *ret);
/* Writes the tail, at most FUSE_PROTO_REQ_TAIL_MAX bytes, and returns its length. bulk: memory
 * offered for RDMA; NULL: the data travels in the messages. */
size_t client_tail_write(uint8_t *to, unsigned flags, const struct client_handle *handles,
			 unsigned n, const struct fuse_proto_bulk *bulk);

struct client_answer {
	struct fuse_out_header out;
	uint8_t *body; /* the part of the message that follows the header */
	size_t body_len;
	uint64_t age_ns; /* time since the request was taken; set by the caller */
	bool has_attr, has_server, has_dir_attr, has_bulk, is_end, has_names;
	bool is_unlocked; /* the answer has the flag FUSE_PROTO_RESP_UNLOCKED */
	struct fuse_attr attr, dir_attr;
	struct fuse_proto_server server;
	struct fuse_proto_bulk_done bulk;
	const uint8_t *handles; /* client_answer_handle() returns these n_handles handles one by
				   one */
	unsigned n_handles;
};

/* Reads and checks an answer. Returns 0, or -EPROTO if the answer violates the protocol. */
int client_answer_read(void *msg, size_t len, struct client_answer *ret);
/* Takes the next handle of the answer. Returns false if no handle is left. */
bool client_answer_handle(struct client_answer *a, struct client_handle *ret);
/* Returns whether the size and the file type are values that every kernel accepts. */
bool client_attr_is_valid(const struct fuse_attr *attr);
/* Finds the offset at which a reader continues after the last entry in this body, which belongs to
 * an answer to READDIRPLUS (plus) or READDIR. Returns false if the body is empty or malformed. */
bool client_dirents_end(const uint8_t *body, size_t len, bool plus, uint64_t *ret);
/* Reads the entry at *off of the body of a READDIRPLUS answer, sets *ret_at to its offset, and
 * advances *off. *ret_special: the entry is "." or "..", for which the kernel makes no node.
 * Returns 1 if there was an entry, 0 if there are no more, or -EPROTO. */
int client_direntplus_next(const uint8_t *body, size_t len, size_t *off, size_t *ret_at,
			   bool *ret_special);

#endif
