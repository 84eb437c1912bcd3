/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directories that are opened together with their entries, for tests of the client. Provides the
 * server's answers and the kernel's reads. Uses client_mount_workers_rig.h.
 */
#ifndef PLENUM_TESTS_CLIENT_PREFETCH_RIG_H
#define PLENUM_TESTS_CLIENT_PREFETCH_RIG_H

#include "tests/lib/fuse/client_mount_workers_rig.h"
#include <fcntl.h>

struct listing {
	size_t len;
	uint8_t body[2048]; /* body of the answer, beginning with struct fuse_open_out */
	struct tail tail;
};

void listing_add(struct listing *l, const char *name, const char *handle, uint32_t mode,
		 uint32_t generation);

/* Returns a listing of a directory, a leased file and a file without a lease. */
struct listing listing_of_three(void);

/* Returns whether the client's last call is an OPENDIR that requests the entries. */
bool entries_are_requested(void);
void open_begin(struct rig *g);
uint64_t open_end(struct rig *g);
void close_root(struct rig *g, uint64_t fh);

struct seen {
	unsigned n;
	uint64_t end;
	struct {
		struct fuse_entry_out e; /* attributes of the entry, with READDIRPLUS */
		char name[16];
	} entries[8];
};

/* Reads a directory. Returns whether the client sent a request to the server. */
bool read_dir_at(struct rig *g, uint32_t opcode, uint64_t fh, uint64_t off, uint32_t size,
		 struct seen *ret);
bool server_is_asked(struct rig *g, uint64_t fh, uint64_t off);

/* ---- directories that are opened locally ---- */

void respond_names_leased(struct rig *g);

/* Answers the RELEASE requests that the client has sent. */
void respond_releases(struct rig *g);
uint64_t open_dir_at_server(struct rig *g);
uint64_t open_dir_locally(struct rig *g);
void read_dir(struct rig *g, uint64_t fh, struct seen *ret);

/* Opens a directory, lists it and closes it. */
void list_once(struct rig *g);

/* Returns whether the client still caches the directory. */
bool is_cached(struct rig *g);
void expect_answer_to(struct rig *g, uint64_t unique, int error);
void expect_answer(struct rig *g, int error);

/* Sets up a rig whose server leases names. */
int names_leased_setup(void **state);

#endif
