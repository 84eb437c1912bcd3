/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data of WRITEs that the client has acknowledged to the kernel but not sent to the server yet. The
 * data are in the mount's state descriptor, so that a successor sends them if this worker dies.
 * Each file has two buffers: while one is being sent, the other gathers. This module does not
 * depend on messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_HELD_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_HELD_H

#include "dataplane/fuse/client/tables/client_state.h"

#define CLIENT_HELD_FILES 16U
#define CLIENT_HELD_BUFS 2U
#define CLIENT_HELD_BYTES (128U << 10) /* data bytes of a buffer */
/* Each buffer has room for a message before and behind the data. */
#define CLIENT_HELD_BUF_BYTES (CLIENT_HELD_BYTES + 4096U)
_Static_assert(FUSE_PROTO_WRITE_DATA + FUSE_PROTO_REQ_TAIL_MAX <= 4096, "the message fits");

struct client_held_buf {
	uint64_t offset; /* offset of the data in the file */
	uint32_t len;	 /* is written after all other members; 0: the buffer is empty */
	uint32_t pad;
};

struct client_held_file {
	uint64_t nodeid; /* is written after all other members; 0: the record is unused */
	uint32_t file;	 /* index of the open file by which programs have written the data */
	uint32_t lease;	 /* number of the lease at the server; 0: not known */
	uint32_t uid, gid, write_flags, open_flags; /* values of the WRITEs */
	struct client_held_buf bufs[CLIENT_HELD_BUFS];
};

struct client_held_head {
	uint64_t magic; /* is written after everything else */
	uint8_t mount_id[16];
	struct client_held_file files[CLIENT_HELD_FILES];
};

struct client_held {
	uint8_t *map;
	struct client_held_head *head;
	struct client_held_file *files;
};

/* Maps the table at offset `at` of fd. adopt: keeps what a predecessor of the same mount has held;
 * otherwise the table is empty. Returns 1 if a predecessor's table was adopted, 0 if the table is
 * new, or a negative errno. */
int client_held_open(struct client_held *h, int fd, uint64_t at, const uint8_t mount_id[16],
		     bool adopt);
void client_held_done(struct client_held *h);
/* Begins to use the unused record i. `as`: all members but the buffers. */
void client_held_begin(struct client_held *h, unsigned i, const struct client_held_file *as);
/* Stops using record i. Its data are dropped. */
void client_held_end(struct client_held *h, unsigned i);
/* Adds data to the file. Does not use the buffer `but`, which is being sent (CLIENT_HELD_BUFS: may
 * use either buffer). The data must follow all data that the file holds. Returns false, without
 * adding anything, if the buffers are full. */
bool client_held_add(struct client_held *h, unsigned i, unsigned but, uint64_t offset,
		     const void *data, uint32_t len);
/* Returns the buffer of the file to be sent first, or CLIENT_HELD_BUFS if the file holds no data.
 */
unsigned client_held_first(const struct client_held *h, unsigned i);
bool client_held_is_empty(const struct client_held *h, unsigned i);
/* Returns whether the data of the buffer should be sent now, because len further bytes do not fit
 * into it. */
bool client_held_is_full(const struct client_held *h, unsigned i, uint32_t len);
/* Call when the server has received the data of the buffer. */
void client_held_drop(struct client_held *h, unsigned i, unsigned buf);
/* Returns the message of the buffer: its data begin at FUSE_PROTO_WRITE_DATA. */
uint8_t *client_held_msg(const struct client_held *h, unsigned i, unsigned buf);

#endif
