/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded mounts with file locks, one per line. */
#include "agent/supervise/handover/lock_records.h"
#include "agent/base/path.h"
#include "dataplane/lock_layout.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "locks"

struct lock_known {
	uint8_t id[16];
	uint64_t epoch;
};

static const struct state_kind kind = {
	.name = FILE_NAME, .version = 1, .scope = STATE_OF_HOST, .bytes_max = 4U << 20};

/* ---- the file ---- */

static void record_put(struct state_draft *d, const struct lock_known *k)
{
	char id[2 * sizeof(k->id) + 1];

	for (size_t i = 0; i < sizeof(k->id); i++)
		snprintf(id + 2 * i, 3, "%02x", k->id[i]);
	state_draft_put(d, "mount %s %" PRIu64, id, k->epoch);
	state_draft_end(d);
}

static bool record_parse(struct state_file *f, struct lock_known *ret)
{
	const char *id;

	memset(ret, 0, sizeof(*ret));
	state_file_expect(f, "mount");
	id = state_file_word(f);
	if (strlen(id) != 2 * sizeof(ret->id))
		return false;
	for (size_t i = 0; i < sizeof(ret->id); i++)
		if (sscanf(id + 2 * i, "%2hhx", &ret->id[i]) != 1)
			return false;
	ret->epoch = state_file_number(f, UINT64_MAX);
	return state_file_line_ends(f) && ret->epoch != 0;
}

static int parse(struct lock_records *x, struct state_file *f)
{
	struct lock_known *k, one;

	while (state_file_line(f)) {
		if (!record_parse(f, &one) || x->n == LOCKS_MOUNTS)
			return STATE_TORN;
		k = vec_add(&x->all, &x->n, sizeof(*k));
		if (!k)
			return -ENOMEM;
		*k = one;
	}
	return 0;
}

int lock_records_load(struct lock_records *x, const char *state_dir)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f = {.kind = &kind};
	int r;

	x->file = path_join(state_dir, FILE_NAME);
	if (!x->file)
		return -ENOMEM;
	r = state_file_read(&f, &kind, x->file);
	if (r == 0)
		r = parse(x, &f);
	if (r == STATE_MISSING)
		return 0;
	if (r < 0) {
		x->n = 0;
		/* The file may contain records that should be removed, so it is replaced by the
		 * next write. */
		x->unsaved = true;
	}
	return r;
}

void lock_records_done(struct lock_records *x)
{
	free(x->file);
	free(x->all);
	*x = (struct lock_records){.file = NULL};
}

/* Removes the file. This needs no space, so on a full disk it is the only way to remove a record.
 * Clients of the other mounts then lose their locks if this host reboots. */
static int remove_all(struct lock_records *x)
{
	int r = state_file_remove(&kind, x->file);

	if (r == 0)
		r = file_sync_folder(x->file);
	if (r < 0)
		return r;
	x->n = 0;
	for (unsigned i = 0; i < x->n_answers;)
		if (x->answers[i].msg.type == LAUNCH_MSG_LOCK_FORGOTTEN)
			i++;
		else
			x->answers[i] = x->answers[--x->n_answers];
	return 0;
}

static bool forgets(const struct lock_records *x)
{
	for (unsigned i = 0; i < x->n_answers; i++)
		if (x->answers[i].msg.type == LAUNCH_MSG_LOCK_FORGOTTEN)
			return true;
	return false;
}

int lock_records_save(struct lock_records *x)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d = {.kind = &kind};
	int r;

	if (!x->unsaved)
		return 0;
	state_draft_init(&d, &kind);
	for (size_t i = 0; i < x->n; i++)
		record_put(&d, &x->all[i]);
	r = state_draft_save(&d, x->file);
	if (r < 0 && forgets(x)) {
		if (x->n > 0)
			log_warning("the record of mounts with file locks cannot be written (%s), "
				    "and was removed: clients lose their locks if this host "
				    "reboots",
				    strerror(-r));
		r = remove_all(x);
	}
	x->unsaved = r < 0;
	return r;
}

/* ---- the table ---- */

static int read_at(int fd, void *to, size_t len, size_t at)
{
	ssize_t n = pread(fd, to, len, (off_t)at);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EPROTO;
}

static int write_at(int fd, const void *from, size_t len, size_t at)
{
	ssize_t n = pwrite(fd, from, len, (off_t)at);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

static size_t mount_at(size_t i)
{
	return offsetof(struct lock_memory, mounts) + i * sizeof(struct lock_mount);
}

/* Writes the recorded mounts to the new table. Writes the head last, because a table without a head
 * counts as new. */
static int seed(const struct lock_records *x, int fd)
{
	struct lock_head head = {.n_mounts = (uint32_t)x->n,
				 .grace_ns = x->n > 0 ? LOCKS_GRACE_DUE : 0,
				 .records = 1};
	int r = 0;

	for (size_t i = 0; i < x->n && r == 0; i++) {
		struct lock_mount m = {.used = 1,
				       .epoch = x->all[i].epoch,
				       .stable = LOCK_STABLE_KEPT | LOCK_STABLE_EXPECTED};

		memcpy(m.id, x->all[i].id, sizeof(m.id));
		r = write_at(fd, &m, sizeof(m), mount_at(i));
	}
	return r < 0 ? r : write_at(fd, &head, sizeof(head), offsetof(struct lock_memory, head));
}

static bool is_mount(const struct lock_mount *m, const uint8_t id[16], uint64_t epoch)
{
	return m->used && m->epoch == epoch && memcmp(m->id, id, sizeof(m->id)) == 0;
}

/* Removes the records of mounts that the table does not have. */
static int match(struct lock_records *x, int fd, uint32_t n_mounts)
{
	const uint32_t n = MIN_OF(n_mounts, LOCKS_MOUNTS);
	autofree struct lock_mount *all = calloc(MAX_OF(n, 1U), sizeof(*all));
	size_t kept = 0;
	int r = all ? read_at(fd, all, n * sizeof(*all), mount_at(0)) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < x->n; i++) {
		uint32_t j = 0;

		while (j < n && !is_mount(&all[j], x->all[i].id, x->all[i].epoch))
			j++;
		if (j < n)
			x->all[kept++] = x->all[i];
	}
	x->unsaved |= kept != x->n;
	x->n = kept;
	return 0;
}

int lock_records_check(struct lock_records *x, int fd)
{
	struct lock_head head;
	int r;

	if (x->checked)
		return 0;
	r = read_at(fd, &head, sizeof(head), offsetof(struct lock_memory, head));
	if (r == 0)
		r = head.state == 0 && !head.records ? seed(x, fd) : match(x, fd, head.n_mounts);
	x->checked = r == 0;
	return r;
}

/* ---- requests ---- */

static struct lock_known *find(const struct lock_records *x, const uint8_t id[16])
{
	for (size_t i = 0; i < x->n; i++)
		if (memcmp(x->all[i].id, id, sizeof(x->all[i].id)) == 0)
			return &x->all[i];
	return NULL;
}

static bool keep(struct lock_records *x, int fd, const struct launch_msg *msg)
{
	struct lock_known *k = find(x, msg->mount_id);
	const bool is_new = !k;
	struct lock_mount m;

	/* Ignores the request if another worker has had the record removed meanwhile. The table
	 * shows this, because a worker marks the mount in the table before it requests the
	 * removal. */
	if (msg->index >= LOCKS_MOUNTS || read_at(fd, &m, sizeof(m), mount_at(msg->index)) < 0 ||
	    !is_mount(&m, msg->mount_id, msg->key) || msg->key == 0 || m.leaving != LOCK_STAYS ||
	    m.stable & LOCK_STABLE_NEVER)
		return false;
	if (!k && x->n < LOCKS_MOUNTS)
		k = vec_add(&x->all, &x->n, sizeof(*k));
	if (!k)
		return false;
	x->unsaved |= is_new || k->epoch != msg->key;
	memcpy(k->id, msg->mount_id, sizeof(k->id));
	k->epoch = msg->key;
	return true;
}

static void forget(struct lock_records *x, const struct launch_msg *msg)
{
	struct lock_known *k = find(x, msg->mount_id);

	if (!k || k->epoch != msg->key)
		return;
	*k = x->all[--x->n];
	x->unsaved = true;
}

bool lock_records_ask(struct lock_records *x, int fd, uint32_t worker_id,
		      const struct launch_msg *msg)
{
	const bool keeps = msg->type == LAUNCH_MSG_LOCK_KEEP;
	struct launch_msg *answer;

	/* The request is ignored; the worker will repeat it. */
	if (x->n_answers == LOCK_ANSWERS_MAX || (keeps && !keep(x, fd, msg)))
		return false;
	if (!keeps)
		forget(x, msg);
	x->answers[x->n_answers].worker_id = worker_id;
	answer = &x->answers[x->n_answers++].msg;
	*answer = (struct launch_msg){.type = keeps ? LAUNCH_MSG_LOCK_KEPT
						    : LAUNCH_MSG_LOCK_FORGOTTEN,
				      .index = msg->index,
				      .key = msg->key};
	memcpy(answer->mount_id, msg->mount_id, sizeof(answer->mount_id));
	return true;
}
