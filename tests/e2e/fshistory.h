/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of plenum-consistency(7): the names and contents that the server has after every
 * operation in turn, the past states that each client may still see, and whether the outcome of an
 * operation is allowed. No system calls. Used by fshistory.c.
 */
#ifndef PLENUM_TESTS_E2E_FSHISTORY_H
#define PLENUM_TESTS_E2E_FSHISTORY_H

#include "netcfg/base/base.h"

#define CLIENTS 2U
#define DIRS 4U		/* names of directories in the root: d0... */
#define NAMES 6U	/* names of files in the root and in each directory: n0... */
#define SLOTS 6U	/* open files of a client */
#define INODES 96U	/* more than names and open files can hold */
#define VERSIONS 100U	/* of a file, as far back as a client may see */
#define FILE_BIG 12000U /* larger files are truncated */
#define IO_BYTES 16384U
#define PAGE 4096U
#define NOTHING (-1)
#define ATTR_AGE_NS (1100 * NSEC_PER_MSEC) /* the limit in the manual page, and a clock's tick */

struct path {
	int dir; /* NOTHING: the root */
	unsigned name;
};

enum op_kind {
	OP_OPEN,
	OP_CLOSE,
	OP_READ,
	OP_WRITE, /* at its offset; at the end where the file was opened with O_APPEND */
	OP_FTRUNCATE,
	OP_FSTAT,
	OP_FSYNC,
	OP_STAT,
	OP_TRUNCATE,
	OP_UNLINK,
	OP_LINK,
	OP_RENAME,
	OP_READDIR,
	OP_MKDIR,
	OP_RMDIR,
	OP_RENAMEDIR,
	OP_KIND_MAX
};

struct op {
	enum op_kind kind;
	unsigned client, slot, number;
	struct path a, b;
	int flags; /* OPEN: O_*; RENAME: RENAME_* */
	uint32_t off, len;
	uint32_t skip; /* WRITE: bytes of its data that another part has written */
	bool is_in_pair;
};

struct outcome {
	long r;	      /* 0 or a count; a negative errno */
	uint64_t ino; /* OPEN, STAT, FSTAT */
	uint64_t size, nlink;
	uint32_t names; /* READDIR: bit N for nN, bit NAMES + N for dN */
	uint64_t begun_ns, ended_ns;
	unsigned char data[IO_BYTES]; /* READ */
};

struct content { /* never changed: versions share it */
	unsigned refs;
	uint32_t size;
	unsigned char data[];
};

struct version {
	uint64_t seq, at_ns; /* from then on no client gets an older version */
	struct content *content;
	unsigned by; /* the client that made it, and what it changed */
	uint32_t from, to;
};

struct inode {
	bool used, is_dir;
	unsigned nlink, n_open;
	uint64_t ino; /* 0: not known yet */
	int names[NAMES];
	struct version versions[VERSIONS]; /* the last is what the server has */
	unsigned n_versions;
};

struct slot {
	int inode;	   /* NOTHING: closed */
	bool append, lost; /* lost: the versions it may see are no longer known; to be closed */
	uint64_t open_seq;
};

struct model {
	uint64_t seq, pair_seq; /* pair_seq: before two operations at once; 0: one at a time */
	int dirs[DIRS];
	struct inode inodes[INODES]; /* 0: the root */
	struct slot slots[CLIENTS][SLOTS];
};

void model_init(struct model *m);
void model_copy(struct model *to, const struct model *from);
void model_done(struct model *m);
/* The inode behind a name, NOTHING where there is none. */
int model_find(const struct model *m, const struct path *p);
/* Gives a file that has names another one. False: it has none, or that name is taken. */
bool model_link(struct model *m, int inode, const struct path *p);
/* The bytes that a write of this operation writes; never 0, so that holes are distinguishable. */
void model_data(const struct op *op, unsigned char *ret);
/*
 * Does the operation and judges its outcome: NULL, or what is wrong with it in a few words. *ret:
 * what the result should have been.
 */
const char *model_step(struct model *m, const struct op *op, const struct outcome *o, long *ret);
bool content_is(const struct content *a, const struct content *b);
/* Two simultaneous operations may have come in either order, and both models explain them: a
 * client may also have seen the intermediate state of the other order. */
void model_add_moments(struct model *m, int inode, const struct model *other, int other_inode);
/* The newest content of a file. */
const struct content *model_content(const struct model *m, int inode);

#endif
