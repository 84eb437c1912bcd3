/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that the operations of a helper share: they set the user's identity, make results,
 * write and check the journal's evidence, and lock directories.
 */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* Two changes of a file within this time may leave equal timestamps. */
#define TICK_NS (20 * NSEC_PER_MSEC)

const char *helper_fd_name(int fd, char name[HELPERS_FD_NAME_MAX])
{
	snprintf(name, HELPERS_FD_NAME_MAX, "%d", fd);
	return name;
}

/* ------------------------------------------------------------------ identity of the caller */

#define CAP(x) (1ULL << (x))
/* The capabilities that bypass file permissions. */
#define CAPS_CHECKS                                                                            \
	(CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_FOWNER) | \
	 CAP(CAP_FSETID) | CAP(CAP_MKNOD) | CAP(CAP_SETFCAP))

static int caps_set(struct helper *self, uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	if (caps == self->caps_effective)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(self->caps >> (32 * i));
		data[i].effective = (uint32_t)(caps >> (32 * i));
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return -errno;
	self->caps_effective = caps;
	return 0;
}

int helper_creds(struct helper *self)
{
	const struct helper_call *c = &self->call;
	uint32_t mask = c->umask & 0777;
	uint64_t caps = self->caps;
	/* The call does not change the capabilities, because SECBIT_NO_SETUID_FIXUP is set. */
	int r = fuse_ids_set(&self->ids, c->uid, c->gid);

	if (r < 0)
		return r;
	if (mask != self->umask) {
		umask(mask);
		self->umask = mask;
	}
	if (c->flags & HELPER_CHECK_PERMS)
		caps &= ~CAPS_CHECKS;
	/* With CAP_FSETID, a write would keep set-id bits. */
	if (c->flags & HELPER_KILL_PRIV)
		caps &= ~CAP(CAP_FSETID);
	return caps_set(self, caps);
}

/* Returns whether the client's gid map contains the group. */
static bool group_is_mapped(const struct helper *self, uint32_t gid)
{
	const struct helper_call *c = &self->call;
	const struct fs_helper *pool = self->pool;

	for (uint32_t i = 0; i < c->n_gids; i++) {
		uint64_t at = (uint64_t)c->first_gids + i;

		if (at < MIN_OF(pool->n_ids, (uint32_t)LAUNCH_IDS_MAX) &&
		    gid >= pool->ids[at].server && gid - pool->ids[at].server < pool->ids[at].count)
			return true;
	}
	return c->n_gids == 0;
}

static unsigned group_add(const struct helper *self, uint32_t *groups, unsigned n, uint32_t gid)
{
	if (gid == 0 || n == HELPERS_GROUPS_MAX || !group_is_mapped(self, gid))
		return n;
	for (unsigned i = 0; i < n; i++)
		if (groups[i] == gid)
			return n;
	groups[n] = gid;
	return n + 1;
}

/*
 * A request contains only the user's first group. The client's kernel knows all groups of the user,
 * and has checked them. So the server assumes that the user is a member of the objects' groups, as
 * NFS trusts the list of groups in a request. The file system still decides what each group may do.
 */
int helper_groups_set(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	uint32_t groups[HELPERS_GROUPS_MAX] = {};
	unsigned n = 0;
	struct stat st;

	if (!(c->flags & (HELPER_CHECK_PERMS | HELPER_KILL_PRIV)))
		return 0; /* the process bypasses all permission checks, so its groups have no
			     effect */
	if (c->flags & HELPER_OBJECT_GROUPS) {
		if (fstatat(a, "", &st, AT_EMPTY_PATH) == 0)
			n = group_add(self, groups, n, st.st_gid);
		if (b >= 0 && fstatat(b, "", &st, AT_EMPTY_PATH) == 0)
			n = group_add(self, groups, n, st.st_gid);
		if (c->op == HELPER_SETATTR && c->set.valid & FATTR_GID)
			n = group_add(self, groups, n, c->set.gid);
	}
	if (n == self->n_groups && memcmp(groups, self->groups, sizeof(groups)) == 0)
		return 0;
	if (syscall(SYS_setgroups, (size_t)n, groups) < 0)
		return -errno;
	memcpy(self->groups, groups, sizeof(groups));
	self->n_groups = n;
	return 0;
}

void helper_creds_restore(struct helper *self)
{
	/* If this call fails, the rest of the operation has fewer privileges, and fails. */
	(void)caps_set(self, self->caps);
}

/* ------------------------------------------------------------------ answers */

bool helper_has_no_xattrs(int fd)
{
	char name[HELPERS_FD_NAME_MAX];

	return listxattr(helper_fd_name(fd, name), NULL, 0) == 0;
}

static void answer_stat(struct helper *self, const struct stat *st)
{
	fs_helper_attr(st, self->root_dev, &self->result.attr);
	self->result.dev = st->st_dev;
	self->result.flags |= HELPER_RESULT_ATTR;
}

static int answer_at(struct helper *self, int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) < 0)
		return -errno;
	answer_stat(self, &st);
	/* Check the attributes only once, because a call adds no extended attributes before its
	 * result is made. */
	if (!*name && !(self->result.flags & HELPER_RESULT_NO_XATTRS) && helper_has_no_xattrs(fd))
		self->result.flags |= HELPER_RESULT_NO_XATTRS;
	return 0;
}

static int answer_entry_at(struct helper *self, int fd, const char *name)
{
	self->result.handle_len = helper_sign(self, fd, name, self->result.handle);
	if (self->result.handle_len > 0)
		self->result.flags |= HELPER_RESULT_HANDLE;
	return answer_at(self, fd, name);
}

int helper_answer_attr(struct helper *self, int fd)
{
	return answer_at(self, fd, "");
}

void helper_answer_stat(struct helper *self, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		answer_stat(self, &st);
}

int helper_answer_entry(struct helper *self, int fd)
{
	return answer_entry_at(self, fd, "");
}

int helper_answer_name(struct helper *self, int dirfd, const char *name)
{
	autoclose int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		return helper_answer_entry(self, fd);
	/* If no descriptor is free, use the name instead, because the client must learn of an
	 * object that was created. */
	return errno == EMFILE || errno == ENFILE ? answer_entry_at(self, dirfd, name) : -errno;
}

void helper_answer_removed(struct helper *self, uint32_t fmt)
{
	const struct helper_call *c = &self->call;
	struct timespec now;
	uint8_t *to = self->result.handle;
	uint64_t id;

	clock_gettime(CLOCK_REALTIME, &now);
	id = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
	*to = HELPERS_HANDLE_GONE;
	memcpy(to + 1, &id, sizeof(id));
	memcpy(to + 1 + sizeof(id), &self->owner, sizeof(self->owner));
	self->result.handle_len = (uint8_t)(1 + sizeof(id) + sizeof(self->owner));
	self->result.dev = self->root_dev;
	self->result.attr = (struct fuse_attr){
		.ino = id,
		.mode = fmt | (c->mode & 07777 & ~self->umask),
		.uid = c->uid,
		.gid = c->gid,
		.atime = (uint64_t)now.tv_sec,
		.mtime = (uint64_t)now.tv_sec,
		.ctime = (uint64_t)now.tv_sec,
		.blksize = 4096,
	};
	self->result.flags |= HELPER_RESULT_ATTR | HELPER_RESULT_HANDLE;
}

/* ------------------------------------------------------------------ evidence of earlier execution
 */

static uint64_t ns_of(struct timespec ts)
{
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

void helper_evidence(const struct helper *self, int fd, struct journal_object *ret)
{
	struct stat st;

	*ret = (struct journal_object){};
	if (fd < 0 || !self->claim.rec || fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return;
	ret->id = helper_object_id(self, fd, &st);
	ret->ctime_ns = ns_of(st.st_ctim);
	ret->size = (uint64_t)st.st_size;
}

/* Returns whether the object is unchanged since the evidence was taken. With coarse timestamps, two
 * changes may leave the same timestamp. So then the evidence must also be newer than the last
 * change by more than the resolution. */
static bool object_is_same(const struct helper *self, const struct journal_object *was,
			   const struct journal_object *is, uint64_t before_ns)
{
	if (was->id != is->id || was->ctime_ns != is->ctime_ns || was->size != is->size)
		return false;
	return was->id == 0 || self->fine_times || before_ns > was->ctime_ns + TICK_NS;
}

int helper_log_intent(struct helper *self, const struct journal_object *a,
		      const struct journal_object *b)
{
	static const struct journal_object none;
	struct journal_record *rec = self->claim.rec;
	struct timespec now;

	if (!rec)
		return 1;
	if (self->suspect) {
		self->suspect = false;
		if (!object_is_same(self, &rec->a, a, rec->before_ns) ||
		    !object_is_same(self, &rec->b, b ? b : &none, rec->before_ns)) {
			self->result.flags |= HELPER_RESULT_UNKNOWN;
			return 0;
		}
	}
	/* Replace the evidence of an earlier attempt of this request. */
	journal_clear_intent(&self->claim);
	clock_gettime(CLOCK_REALTIME, &now);
	rec->before_ns = ns_of(now);
	rec->a = *a;
	rec->b = b ? *b : none;
	journal_log_intent(&self->claim);
	return 1;
}

/* ------------------------------------------------------------------ locks */

static uint32_t *lock_for(struct helper *self, int fd)
{
	struct stat st;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return NULL;
	return &journal_locks(
		&self->journal)[(st.st_ino * 0x9e3779b97f4a7c15ULL >> 32) % JOURNAL_LOCKS];
}

/* Takes the lock. Waits while another helper of the same export holds it, at this worker or
 * another. A helper that holds a lock waits only for the disk, so this function hangs only if the
 * disk hangs. */
static void lock_take(struct helper *self, uint32_t *lock)
{
	const struct timespec pause = {.tv_nsec = 20000};
	uint32_t was = 0;

	/* The previous holder frees the lock in helper_locks_drop(). This helper then sees all
	 * changes that the previous holder made. */
	while (!__atomic_compare_exchange_n(lock, &was, self->owner, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (journal_owner_is_alive(&self->journal, was)) {
			was = 0;
			nanosleep(&pause, NULL);
		} /* the owner was killed, so this helper takes over its lock */
	}
}

void helper_work_set(struct helper *self, uint64_t bytes)
{
	/* Relaxed order suffices, because the worker only derives a time limit from the value. */
	__atomic_store_n(&self->shared->work_bytes, bytes, __ATOMIC_RELAXED);
}

int helper_lock(struct helper *self, int a, int b)
{
	uint32_t *first = lock_for(self, a), *second = b >= 0 ? lock_for(self, b) : first;

	if (!first || !second)
		return -EIO;
	/* Take two locks in the same order as all helpers, so that they cannot deadlock. */
	if (first > second) {
		uint32_t *x = first;

		first = second;
		second = x;
	}
	lock_take(self, first);
	self->locks[0] = first;
	if (second != first) {
		lock_take(self, second);
		self->locks[1] = second;
	}
	return 0;
}

void helper_locks_drop(struct helper *self)
{
	for (unsigned i = 0; i < ARRAY_SIZE(self->locks); i++) {
		if (self->locks[i])
			/* The next holder, which takes the lock in lock_take(), sees all changes
			 * that this helper made. */
			__atomic_store_n(self->locks[i], 0, __ATOMIC_RELEASE);
		self->locks[i] = NULL;
	}
}
