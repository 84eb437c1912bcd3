/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory of the lock table: mapping, mutual exclusion, undo, and the lists of its
 * records. Only one process at a time uses the table: it must have a lock of fcntl(2) on the memory
 * file. The kernel manages this lock: no worker can forge the lock, and the kernel frees it when
 * the process dies. A mutex in the memory itself would not be safe, because libc would follow
 * pointers in it that a faulty worker can change.
 */
#include "dataplane/fuse/server/locks/lock_internal.h"
#include "netcfg/base/hash.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATE_READY = 2 };
/* Maximum time to wait while another process prepares the table. */
#define PREPARE_MS 2000U
/* Interval at which a process tries again to reserve the table while another process uses it. Each
 * use takes some microseconds. */
#define TRY_AGAIN_NS (20 * NSEC_PER_USEC)

static int prepare(struct lock_head *h)
{
	if (getrandom(&h->epoch, sizeof(h->epoch), 0) != sizeof(h->epoch))
		return -EIO;
	h->epoch >>= 1; /* the epoch is incremented later, so begin far below its largest value */
	h->version = LOCKS_VERSION;
	/* A process that sees STATE_READY in is_ready() also sees the complete table. */
	__atomic_store_n(&h->state, STATE_READY, __ATOMIC_RELEASE);
	return 0;
}

static bool is_ready(const struct lock_head *h)
{
	return __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) == STATE_READY;
}

/* Reserves (F_WRLCK) or frees (F_UNLCK) the table for this process. fd -1: no other process uses
 * the table, so there is nothing to do. Returns false if another process has reserved it. */
static bool reserve(int fd, short type)
{
	const struct flock all = {.l_type = type, .l_whence = SEEK_SET};

	return fd < 0 || fcntl(fd, F_SETLK, &all) == 0;
}

/* Prepares a new table. Only the process that has reserved the table does so. If it dies, the next
 * process starts again, because no process uses a table that is not ready. */
static int begin(int fd, struct lock_head *h)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < PREPARE_MS && !is_ready(h); i++) {
		int r = 0;

		if (!reserve(fd, F_WRLCK)) {
			nanosleep(&pause, NULL);
			continue;
		}
		if (!is_ready(h))
			r = prepare(h);
		reserve(fd, F_UNLCK);
		if (r < 0)
			return r;
		break;
	}
	if (!is_ready(h))
		return -ETIMEDOUT;
	return h->version == LOCKS_VERSION ? 0 : -EPROTO;
}

static void *memory_map(int fd)
{
	struct stat st;

	if (fd < 0)
		return mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fstat(fd, &st) < 0)
		return MAP_FAILED;
	if (st.st_size != LAUNCH_LOCKS_BYTES) {
		errno = EPROTO;
		return MAP_FAILED;
	}
	return mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		    fd, 0);
}

int lock_table_map(int fd, uint32_t worker, struct lock_table **ret)
{
	struct lock_table *t = calloc(1, sizeof(*t));
	void *mem;
	int r;

	if (!t)
		return -ENOMEM;
	mem = memory_map(fd);
	if (mem == MAP_FAILED) {
		r = -errno;
		free(t);
		return r;
	}
	t->mem = mem;
	t->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	t->worker = worker;
	t->seen = calloc(2 * (size_t)LOCKS_RECORDS, sizeof(*t->seen));
	if (fd >= 0 && t->fd < 0)
		r = -errno;
	else
		r = t->seen ? begin(t->fd, &t->mem->head) : -ENOMEM;
	if (r < 0) {
		lock_table_unmap(t);
		return r;
	}
	*ret = t;
	return 0;
}

struct lock_table *lock_table_unmap(struct lock_table *t)
{
	if (!t)
		return NULL;
	munmap(t->mem, LAUNCH_LOCKS_BYTES);
	if (t->fd >= 0)
		close(t->fd);
	free(t->seen);
	free(t);
	return NULL;
}

bool lock_table_is_occupied(const struct lock_table *t, uint32_t *ret_worker)
{
	*ret_worker = t->mem->head.worker;
	return t->occupied;
}

uint64_t lock_grants(const struct lock_table *t)
{
	/* A process increments the count when it grants a lock. This function reads the count
	 * without a lock on the table. */
	return __atomic_load_n(&t->mem->head.grants, __ATOMIC_ACQUIRE);
}

bool lock_in_grace(const struct lock_table *t)
{
	/* A process writes this time when it begins or ends a grace period. This function reads it
	 * without a lock on the table. */
	return __atomic_load_n(&t->mem->head.grace_ns, __ATOMIC_ACQUIRE) != 0;
}

/* ------------------------------------------------------------------ changes */

/* Waits until no other process uses the table, and reserves it. Returns false if this lasts too
 * long. */
static bool reserve_wait(struct lock_table *t)
{
	const struct timespec pause = {.tv_nsec = TRY_AGAIN_NS};
	const uint64_t began_ns = clock_now_ns();
	uint64_t waited_ns = 0;
	bool reserved = false;

	if (began_ns >= t->refill_ns) {
		t->refill_ns = began_ns + NSEC_PER_SEC;
		t->budget_ns = t->occupied ? LOCK_WAIT_OCCUPIED_NS : LOCK_WAIT_NS;
	}
	while (!reserved && waited_ns < t->budget_ns) {
		nanosleep(&pause, NULL);
		reserved = reserve(t->fd, F_WRLCK);
		waited_ns = clock_now_ns() - began_ns;
	}
	t->budget_ns -= MIN_OF(t->budget_ns, waited_ns);
	return reserved;
}

int lock_enter(struct lock_table *t, bool *ret_died)
{
	struct lock_head *h = &t->mem->head;
	uint32_t n;

	*ret_died = false;
	t->occupied = t->damaged || (!reserve(t->fd, F_WRLCK) && !reserve_wait(t));
	if (t->occupied)
		return -EBUSY;
	*ret_died = lock_once(h->busy) != 0;
	__atomic_store_n(&h->busy, 1, __ATOMIC_SEQ_CST);
	h->worker = t->worker;
	t->visits = LOCK_VISITS_MAX;
	t->n_undo = 0;
	if (!*ret_died)
		return 0;
	n = lock_once(h->n_undo);
	t->n_undo = MIN_OF(n, LOCKS_UNDO);
	lock_undo(t);
	return 0;
}

void lock_leave(struct lock_table *t)
{
	t->damaged = t->visits == 0;
	__atomic_store_n(&t->mem->head.busy, 0, __ATOMIC_SEQ_CST);
	reserve(t->fd, F_UNLCK);
}

void lock_touch(struct lock_table *t, void *p, size_t len)
{
	struct lock_head *h = &t->mem->head;
	struct lock_undo *u = &t->mem->undo[t->n_undo];

	if (t->n_undo >= LOCKS_UNDO)
		return; /* LOCK_OWNER_MAX limits the size of a change, so this happens only if
			   another worker has damaged the table */
	u->at = (uint32_t)((uint8_t *)p - (uint8_t *)t->mem);
	u->len = (uint32_t)len;
	memcpy(u->bytes, p, len);
	/* Increment the count after saving the old bytes, and before the caller changes them. So at
	 * the death of this process at any time, the count includes exactly the bytes that were
	 * saved completely. */
	__atomic_store_n(&h->n_undo, ++t->n_undo, __ATOMIC_SEQ_CST);
}

void lock_commit(struct lock_table *t)
{
	t->n_undo = 0;
	__atomic_store_n(&t->mem->head.n_undo, 0, __ATOMIC_SEQ_CST);
}

void lock_undo(struct lock_table *t)
{
	struct lock_head *h = &t->mem->head;

	while (t->n_undo > 0) {
		const struct lock_undo *u = &t->mem->undo[t->n_undo - 1];
		const uint32_t at = lock_once(u->at), len = lock_once(u->len);

		if (at <= sizeof(*t->mem) - LOCKS_UNDO_BYTES)
			memcpy((uint8_t *)t->mem + at, u->bytes, MIN_OF(len, LOCKS_UNDO_BYTES));
		__atomic_store_n(&h->n_undo, --t->n_undo, __ATOMIC_SEQ_CST);
	}
}

/* ------------------------------------------------------------------ lists */

/* Returns the record's link in the list of its file (of_file) or of its mount. */
static struct lock_link *link_of(struct lock_record *r, bool of_file)
{
	return of_file ? &r->in_file : &r->in_mount;
}

static void list_add(struct lock_table *t, struct lock_list *l, struct lock_record *r, bool of_file)
{
	uint32_t i = lock_record_number(t, r);
	struct lock_record *last = lock_record_at(t, l->last);

	LOCK_TOUCH(t, l);
	if (last) {
		LOCK_TOUCH(t, link_of(last, of_file));
		link_of(last, of_file)->next = i;
	} else {
		l->first = i;
	}
	*link_of(r, of_file) = (struct lock_link){.prev = l->last};
	l->last = i;
}

static void list_remove(struct lock_table *t, struct lock_list *l, struct lock_record *r,
			bool of_file)
{
	const struct lock_link at = *link_of(r, of_file);
	struct lock_record *prev = lock_record_at(t, at.prev), *next = lock_record_at(t, at.next);

	LOCK_TOUCH(t, l);
	if (prev) {
		LOCK_TOUCH(t, link_of(prev, of_file));
		link_of(prev, of_file)->next = at.next;
	} else {
		l->first = at.next;
	}
	if (next) {
		LOCK_TOUCH(t, link_of(next, of_file));
		link_of(next, of_file)->prev = at.prev;
	} else {
		l->last = at.prev;
	}
}

static struct lock_list *file_list(struct lock_table *t, const struct lock_record *r)
{
	struct lock_file *f = lock_file_at(t, r->file);

	const uint32_t state = lock_once(r->state);

	return state == LOCK_WAITING ? &f->waiting : state == LOCK_BROKEN ? &f->broken : &f->held;
}

static struct lock_list *mount_list(struct lock_table *t, const struct lock_record *r)
{
	const uint32_t state = lock_once(r->state);

	return &lock_mount_at(t, r->mount)->lists[MIN_OF(state, LOCK_STATE_MAX - 1)];
}

/* Adds `by` (1 for a new record, -1 for a dropped record) to the record counts of the mount and of
 * the table. */
static void record_count(struct lock_table *t, const struct lock_record *r, uint32_t by)
{
	uint32_t *of_mount = &lock_mount_at(t, r->mount)->n, *all = &t->mem->head.n_used;

	LOCK_TOUCH(t, of_mount);
	*of_mount += by;
	LOCK_TOUCH(t, all);
	*all += by;
}

static bool mount_may_have_more(const struct lock_table *t, uint32_t mount)
{
	uint32_t share = (LOCKS_RECORDS - t->mem->head.n_used) / LOCKS_FREE_SHARE;

	return t->exceeds ||
	       lock_mount_at(t, mount)->n < MIN_OF(MAX_OF(share, LOCKS_MOUNT_MIN), LOCK_MOUNT_MAX);
}

/* Adds the record to its file's list for the record's state. */
static void file_add(struct lock_table *t, struct lock_record *r)
{
	struct lock_file *f = lock_file_at(t, r->file);

	list_add(t, file_list(t, r), r, true);
	LOCK_TOUCH(t, &f->n);
	f->n++;
}

static void file_remove(struct lock_table *t, struct lock_record *r)
{
	struct lock_file *f = lock_file_at(t, r->file);

	list_remove(t, file_list(t, r), r, true);
	LOCK_TOUCH(t, &f->n);
	f->n--;
}

/* ------------------------------------------------------------------ records */

struct lock_record *lock_record_new(struct lock_table *t, const struct lock_record *as)
{
	struct lock_head *h = &t->mem->head;
	struct lock_record *r = lock_record_at(t, h->free_record);
	const uint32_t n = lock_once(h->n_records);

	if (!mount_may_have_more(t, as->mount) || lock_file_at(t, as->file)->n >= LOCK_FILE_MAX ||
	    (!r && n >= LOCKS_RECORDS))
		return NULL;
	if (r) {
		LOCK_TOUCH(t, r);
		LOCK_TOUCH(t, &h->free_record);
		h->free_record = r->in_mount.next;
	} else {
		LOCK_TOUCH(t, &h->n_records);
		h->n_records = n + 1;
		r = &t->mem->records[n];
		LOCK_TOUCH(t, r);
	}
	LOCK_TOUCH(t, &h->last_id);
	*r = *as;
	r->id = ++h->last_id;
	file_add(t, r);
	list_add(t, mount_list(t, r), r, false);
	record_count(t, r, 1);
	return r;
}

void lock_record_drop(struct lock_table *t, struct lock_record *r)
{
	struct lock_head *h = &t->mem->head;

	if (r->state != LOCK_GRANTED)
		file_remove(t, r);
	list_remove(t, mount_list(t, r), r, false);
	record_count(t, r, -1U);
	LOCK_TOUCH(t, r);
	LOCK_TOUCH(t, &h->free_record);
	*r = (struct lock_record){.in_mount.next = h->free_record};
	h->free_record = lock_record_number(t, r);
}

void lock_record_turn(struct lock_table *t, struct lock_record *r, enum lock_state state)
{
	file_remove(t, r);
	list_remove(t, mount_list(t, r), r, false);
	LOCK_TOUCH(t, r);
	r->state = state;
	if (state != LOCK_GRANTED)
		file_add(t, r);
	list_add(t, mount_list(t, r), r, false);
}

/* ------------------------------------------------------------------ files */

static uint32_t *chain_of(struct lock_table *t, uint64_t dev, uint64_t ino)
{
	const uint64_t of[2] = {dev, ino};
	static const uint64_t key[2] = {0x6c6f636b7461626c, 0x652066696c657320};

	return &t->mem->chains[hash_keyed(key, of, sizeof(of)) % LOCKS_CHAINS];
}

static struct lock_file *file_new(struct lock_table *t)
{
	struct lock_head *h = &t->mem->head;
	struct lock_file *f;

	if (h->free_file) {
		f = lock_file_at(t, h->free_file);
		LOCK_TOUCH(t, f);
		LOCK_TOUCH(t, &h->free_file);
		h->free_file = f->next;
		return f;
	}
	if (h->n_files >= LOCKS_FILES)
		return NULL;
	LOCK_TOUCH(t, &h->n_files);
	f = lock_file_at(t, ++h->n_files);
	LOCK_TOUCH(t, f);
	return f;
}

static bool mount_may_have_file(const struct lock_table *t, const struct lock_record *as)
{
	uint32_t share = (LOCKS_FILES - t->mem->head.n_used_files) / LOCKS_FREE_SHARE;

	return lock_mount_at(t, as->mount)->n < MAX_OF(share, LOCKS_MOUNT_MIN);
}

struct lock_file *lock_file_find(struct lock_table *t, uint64_t dev, uint64_t ino,
				 const struct lock_record *as)
{
	uint32_t *chain = chain_of(t, dev, ino);
	struct lock_file *f;
	unsigned n = 0;

	for (uint32_t i = *chain; i && n < LOCKS_FILES; i = f->next, n++) {
		f = lock_file_at(t, i);
		if (f->dev == dev && f->ino == ino)
			return f;
	}
	f = as && mount_may_have_file(t, as) ? file_new(t) : NULL;
	if (!f)
		return NULL;
	LOCK_TOUCH(t, &t->mem->head.n_used_files);
	t->mem->head.n_used_files++;
	*f = (struct lock_file){.used = 1, .next = *chain, .dev = dev, .ino = ino};
	LOCK_TOUCH(t, chain);
	*chain = lock_file_number(t, f);
	return f;
}

void lock_file_settle(struct lock_table *t, struct lock_file *f)
{
	struct lock_head *h = &t->mem->head;
	uint32_t *p = chain_of(t, f->dev, f->ino), i = lock_file_number(t, f);
	unsigned n = 0;

	if (f->held.first || f->waiting.first || f->broken.first)
		return;
	for (; *p != i && n < LOCKS_FILES; n++)
		p = &lock_file_at(t, *p)->next;
	if (n == LOCKS_FILES)
		return; /* another worker has damaged the chain */
	LOCK_TOUCH(t, p);
	LOCK_TOUCH(t, f);
	LOCK_TOUCH(t, &h->free_file);
	if (f->freed) { /* the file has no waiting requests any more; lock_undo() does not
			   restore the flag, see lock_table_flag() */
		f->freed = false;
		h->n_freed--;
	}
	LOCK_TOUCH(t, &h->n_used_files);
	h->n_used_files--;
	*p = f->next;
	*f = (struct lock_file){.next = h->free_file};
	h->free_file = i;
}
