/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directory streams. Apart from files because an offset in a directory is a cookie of the file
 * system's, which must mean the same to a worker's successor.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <dirent.h>
#include <string.h>
#include <sys/syscall.h>

#define DIR_BYTES 32768

struct dir_entry { /* getdents64(2) */
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

struct back_dir {   /* what was read of the directory and not yet asked for */
	off_t next; /* the client's position that the entry at pos answers */
	size_t pos, len;
	_Alignas(8) uint8_t bytes[DIR_BYTES];
};

void back_dir_free(struct back_dir *d)
{
	free(d);
}

void back_op_opendir(struct back_req *q)
{
	struct back_node *n;
	struct stat st;
	uint64_t fh;
	int fd = back_req_node(q, 0, &n), r;

	if (fd == 0)
		fd = back_node_open(n, O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		back_reply_err(q, -fd);
		return;
	}
	r = fstat(fd, &st) < 0 ? -errno : back_file_is_there(q, &st);
	if (r == 0)
		r = back_file_new(q->mount, n, fd, true, &fh);
	if (r < 0) {
		close(fd);
		back_reply_err(q, -r);
		return;
	}
	back_reply_open(q, NULL, NULL, fh);
}

/* Makes the directory's next entry the one at off. NULL with *ret_err 0: the end. */
static struct dir_entry *dir_next(struct back_file *f, off_t off, int *ret_err)
{
	struct back_dir *d = f->dir;
	long n;

	*ret_err = 0;
	if (off != d->next) {
		if (lseek(f->fd, off, SEEK_SET) < 0) {
			*ret_err = errno;
			return NULL;
		}
		d->next = off;
		d->pos = d->len = 0;
	}
	if (d->pos == d->len) {
		n = syscall(SYS_getdents64, f->fd, d->bytes, sizeof(d->bytes));
		d->pos = 0;
		d->len = n > 0 ? (size_t)n : 0;
		if (n <= 0) {
			*ret_err = n < 0 ? errno : 0;
			return NULL;
		}
	}
	return (struct dir_entry *)(d->bytes + d->pos);
}

/* An answer in the making. */
struct dir_answer {
	uint8_t *at;
	size_t room;
	struct back_node *nodes[FUSE_PROTO_DIRPLUS_MAX / FUSE_PROTO_DIRPLUS_ENTRY];
	unsigned n_nodes;
};

/* Bytes of the entry, or 0: it does not fit any more. */
static size_t dir_add(struct back_req *q, struct back_node *dir, const struct dir_entry *de,
		      bool plus, struct dir_answer *a)
{
	size_t name_len = strlen(de->name), head = plus ? sizeof(struct fuse_entry_out) : 0;
	size_t need = FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + name_len);
	bool dots = strcmp(de->name, ".") == 0 || strcmp(de->name, "..") == 0;
	struct fuse_dirent *out = (void *)(a->at + head);
	struct back_entry e = {};

	if (need > a->room)
		return 0;
	/* The client knows . and .. already. What cannot be looked up is only named. */
	if (!plus || dots || back_node_lookup(dir, de->name, &e) < 0)
		e = (struct back_entry){
			.st = {.st_ino = de->ino, .st_mode = (mode_t)DTTOIF(de->type)}};
	if (dir == dir->export->root && strcmp(de->name, "..") == 0)
		e.st.st_ino = dir->export->root_ino;
	memset(a->at, 0, need);
	if (plus)
		back_entry_fill(&e, (void *)a->at);
	*out = (struct fuse_dirent){
		.ino = e.st.st_ino,
		.off = (uint64_t)de->off,
		.namelen = (uint32_t)name_len,
		.type = IFTODT(e.st.st_mode),
	};
	memcpy(out->name, de->name, name_len);
	a->at += need;
	a->room -= need;
	if (e.node) {
		back_node_ref(e.node);
		a->nodes[a->n_nodes++] = e.node;
	}
	return need;
}

static void dir_read(struct back_req *q, bool plus)
{
	const struct fuse_read_in *in = back_req_arg(q);
	struct dir_answer a = {
		.at = back_req_data(q),
		.room = plus ? MIN_OF(in->size, FUSE_PROTO_DIRPLUS_MAX) : in->size,
	};
	off_t off = (off_t)in->offset;
	struct dir_entry *de;
	struct back_file *f;
	int r = -back_file_get(q, 0, in->fh, true, &f);

	if (r == 0 && !f->dir) {
		f->dir = malloc(sizeof(*f->dir));
		if (f->dir) {
			f->dir->next = -1; /* it is nowhere yet */
			f->dir->pos = f->dir->len = 0;
		} else {
			r = ENOMEM;
		}
	}
	while (r == 0 && (de = dir_next(f, off, &r))) {
		if (dir_add(q, f->node, de, plus, &a) == 0)
			break;
		off = de->off;
		f->dir->next = off;
		f->dir->pos += de->reclen;
	}
	if (r != 0 && a.at == back_req_data(q))
		back_reply_err(q, r);
	else
		back_reply_entries(q, (size_t)(a.at - back_req_data(q)), a.nodes, a.n_nodes);
	while (a.n_nodes > 0)
		back_node_put(a.nodes[--a.n_nodes]);
}

void back_op_readdir(struct back_req *q)
{
	dir_read(q, false);
}

void back_op_readdirplus(struct back_req *q)
{
	dir_read(q, true);
}
