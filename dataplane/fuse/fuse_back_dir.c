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

void back_op_opendir(fuse_req_t fr, fuse_ino_t nodeid, struct fuse_file_info *fi)
{
	struct back_mount *m = back_req_of(fr)->mount;
	const int flags = O_RDONLY | O_DIRECTORY;
	int fd = back_node_open(m, nodeid, flags), r;

	if (fd < 0) {
		fuse_reply_err(fr, -fd);
		return;
	}
	r = back_file_new(m, nodeid, fd, (uint32_t)flags, true, &fi->fh);
	if (r < 0) {
		close(fd);
		fuse_reply_err(fr, -r);
		return;
	}
	fuse_reply_open(fr, fi);
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

/* Room for the entry, or 0: it does not fit any more. */
static size_t dir_add(struct back_req *q, fuse_req_t fr, uint64_t nodeid,
		      const struct dir_entry *de, bool plus, uint8_t *to, size_t room)
{
	struct fuse_entry_param e = {};
	bool dots = strcmp(de->name, ".") == 0 || strcmp(de->name, "..") == 0;
	size_t need = plus ? fuse_add_direntry_plus(fr, NULL, 0, de->name, NULL, 0)
			   : fuse_add_direntry(fr, NULL, 0, de->name, NULL, 0);

	if (need > room)
		return 0;
	/* Looked up only when it is sure to be sent, for it counts as known from then on. The
	 * client knows . and .. already. What cannot be looked up is only named. */
	if (!plus || dots || back_node_lookup(q->mount, nodeid, de->name, &e) < 0)
		e = (struct fuse_entry_param){
			.attr = {.st_ino = de->ino, .st_mode = (mode_t)DTTOIF(de->type)}};
	if (nodeid == FUSE_ROOT_ID && strcmp(de->name, "..") == 0)
		e.attr.st_ino = q->mount->export->root_ino;
	if (plus)
		fuse_add_direntry_plus(fr, (char *)to, room, de->name, &e, de->off);
	else
		fuse_add_direntry(fr, (char *)to, room, de->name, &e.attr, de->off);
	return need;
}

static void dir_read(fuse_req_t fr, fuse_ino_t nodeid, size_t size, off_t off,
		     const struct fuse_file_info *fi, bool plus)
{
	struct back_req *q = back_req_of(fr);
	uint8_t *to = back_req_data(q);
	struct dir_entry *de;
	struct back_file *f;
	size_t used = 0, n;
	int r = -back_file_get(q->mount, fi->fh, nodeid, true, &f, NULL);

	if (r == 0 && !f->dir) {
		f->dir = malloc(sizeof(*f->dir));
		if (f->dir) {
			/* The descriptor may be a predecessor's, somewhere else. */
			f->dir->next = -1;
			f->dir->pos = f->dir->len = 0;
		} else {
			r = ENOMEM;
		}
	}
	while (r == 0 && (de = dir_next(f, off, &r))) {
		n = dir_add(q, fr, nodeid, de, plus, to + used, size - used);
		if (n == 0)
			break;
		used += n;
		off = de->off;
		f->dir->next = off;
		f->dir->pos += de->reclen;
	}
	if (r != 0 && used == 0)
		fuse_reply_err(fr, r);
	else
		back_reply_data(q, used);
}

void back_op_readdir(fuse_req_t fr, fuse_ino_t nodeid, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	dir_read(fr, nodeid, size, off, fi, false);
}

void back_op_readdirplus(fuse_req_t fr, fuse_ino_t nodeid, size_t size, off_t off,
			 struct fuse_file_info *fi)
{
	dir_read(fr, nodeid, size, off, fi, true);
}

void back_op_releasedir(fuse_req_t fr, fuse_ino_t nodeid, struct fuse_file_info *fi)
{
	back_op_release(fr, nodeid, fi);
}
