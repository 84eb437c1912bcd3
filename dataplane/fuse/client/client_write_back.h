/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-back: small consecutive writes to a file that the server has leased to this client are
 * answered at once, gathered, and sent in large requests. Only dataplane/fuse/client/ includes this
 * header.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_WRITE_BACK_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_WRITE_BACK_H

#include "dataplane/fuse/client/tables/client_held.h"
#include "dataplane/fuse/client/tables/client_nodes.h"

struct client_answer;
struct client_file;
struct client_slot;
struct fuse_client;

#define CLIENT_WRITE_BACK_RECENT 64U

enum client_write_back_state {
	CLIENT_WRITE_BACK_UNUSED,
	CLIENT_WRITE_BACK_ASKING, /* a WRITE asks the server for the lease */
	CLIENT_WRITE_BACK_LEASED,
	CLIENT_WRITE_BACK_ENDING, /* the held data are sent, then the lease is returned */
};

/* A file with a lease, or one that may have a lease. It has the same index in client_held. */
struct client_write_back_file {
	enum client_write_back_state state;
	struct client_node *node; /* pinned */
	uint64_t fh;		  /* the kernel's file handle */
	uint64_t unique;	  /* ASKING: the WRITE that asks */
	uint64_t asked_ns;	  /* when the client has read that WRITE from the kernel */
	uint64_t end;		  /* offset at which the next write must begin */
	uint32_t last_len;	  /* length of the last write */
	uint64_t until_ns;	  /* when to send the data and to return the lease */
	uint64_t retry_ns;	  /* after a transient error: when to try again */
	bool flush;		  /* other requests wait until the data are sent */
	bool sent;		  /* a request for the file is in flight */
	bool returning;		  /* the request in flight returns the lease */
	bool again;		  /* return the lease once more, because it was granted meanwhile */
	unsigned buf;		  /* otherwise, the index of the buffer that the request sends */
};

struct client_write_back {
	struct client_held held;
	struct client_write_back_file files[CLIENT_HELD_FILES];
	unsigned n_files;
	bool adopted;	 /* a predecessor may have held data */
	bool has_failed; /* open files may have an error to report */
	struct {
		uint64_t fh, end, at_ns;
	} recent[CLIENT_WRITE_BACK_RECENT]; /* the last small write of files, by their handle */
};

/* Returns whether the mount uses write-back. */
bool client_write_back_is_wanted(const struct fuse_client *f);
/* client_write_back_find: returns the record of the file, or NULL. client_write_back_has_data:
 * returns whether the client holds data of it. */
struct client_write_back_file *client_write_back_find(const struct fuse_client *f,
						      const struct client_node *node);
bool client_write_back_has_data(const struct fuse_client *f,
				const struct client_write_back_file *w);
/* Returns whether the WRITE in slot s must ask for the lease of its file. */
bool client_write_back_asks(const struct fuse_client *f, const struct client_slot *s);
/* Returns whether the client holds data of the file. */
bool client_write_back_has(const struct fuse_client *f, const struct client_node *node);
/* Returns whether closed files must not be reported to the server yet, because data written by them
 * are not sent yet. If so, the client sends these data next. */
bool client_write_back_delays_release(struct fuse_client *f);

#endif
