/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends requests that should wait no longer: on soft mounts after the timeout, and for processes
 * that are being killed. A signal that does not kill ends nothing: no program expects a file write
 * or fsync to be interrupted, and a database that saw EINTR would stop. FUSE does not report the
 * signal number, procfs does.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define STATUS_BYTES 4096

/* Whether SIGKILL is pending for the thread, as it is when any signal is about to end it.
 * else_dying: the result if procfs cannot tell. */
static bool thread_is_dying(const struct fuse_client *f, uint32_t pid, bool else_dying)
{
	static const char word[] = "\nSigPnd:";
	char path[32], text[STATUS_BYTES];
	autoclose int fd = -1;
	const char *p;
	ssize_t n;

	if (f->proc_fd < 0 || pid == 0)
		return else_dying;
	snprintf(path, sizeof(path), "%u/status", pid);
	fd = openat(f->proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return else_dying;
	text[n] = '\0';
	p = strstr(text, word);
	return p ? strtoull(p + sizeof(word) - 1, NULL, 16) >> (SIGKILL - 1) & 1 : else_dying;
}

/* Answers the program, whatever the server does with the request. */
static void slot_abandon(struct fuse_client *f, struct client_slot *s, int error)
{
	client_dispatch_cancel(f, s);
	s->accepted = client_slot_reply_error(f, s, error);
	client_slot_answered(f, s);
}

/*
 * A request that waits here ends at once. For a request at the server, the client sends an
 * interrupt and waits for a moment, so that a dead process leaves nothing in progress. A process
 * with a signal counts as dying if procfs cannot tell: to hang forever would be worse.
 */
static void slot_look(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	if (s->killed_ns == 0) {
		if (!client_mount_worker_is_cancelled(f, s) &&
		    !thread_is_dying(f, s->pid, s->interrupted))
			return;
		s->killed_ns = now_ns;
		if (s->state == CLIENT_SLOT_SENT)
			client_internal_interrupt(f, s);
	}
	if (s->state == CLIENT_SLOT_PENDING) {
		client_slot_fail(f, s, -EINTR);
	} else if (now_ns - s->killed_ns >= CLIENT_KILLED_NS) {
		slot_abandon(f, s, -EINTR);
	}
}

void client_interrupt_signalled(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	if (s->interrupted || s->answered)
		return;
	s->interrupted = true;
	if (f->n_interrupted++ == 0)
		f->look_ns = now_ns + CLIENT_LOOK_NS;
	slot_look(f, s, now_ns);
}

void client_interrupt_request(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns)
{
	struct fuse_interrupt_in in;
	struct client_slot *s;

	if (len < sizeof(struct fuse_in_header) + sizeof(in))
		return;
	memcpy(&in, (const uint8_t *)req + sizeof(struct fuse_in_header), sizeof(in));
	s = client_slot_find(f, in.unique);
	if (s)
		client_interrupt_signalled(f, s, now_ns);
	else
		client_forward_interrupt(f, in.unique, now_ns);
}

/* full: FUSE may have further INTERRUPTs that cannot be read before a slot is free, or reports
 * none; then all old requests are checked. */
static void look_all(struct fuse_client *f, bool full, uint64_t now_ns)
{
	struct client_slot *s, *newer;

	for (s = f->oldest.newer; s != &f->oldest; s = newer) {
		newer = s->newer;
		if (s->interrupted || (full && now_ns - s->arrived_ns >= CLIENT_KILLED_NS))
			slot_look(f, s, now_ns);
	}
}

static void soft_expire(struct fuse_client *f, struct client_slot *s)
{
	f->timeouts++;
	launch_stat_add(&f->stats->request_errors, 1);
	if (s->state == CLIENT_SLOT_PENDING) {
		client_slot_fail(f, s, -EIO);
		return;
	}
	slot_abandon(f, s, -EIO);
}

/* Once the server is known to be away, queued requests share one timeout. */
static uint64_t soft_tick(struct fuse_client *f, uint64_t now_ns)
{
	/* Requests that wait in a mount worker for an absent server go back to the owner. */
	bool away = f->link != CLIENT_READY && !f->area;
	uint64_t gone_ns = f->away_since_ns + f->soft_ns;

	while (f->oldest.newer != &f->oldest) {
		struct client_slot *s = f->oldest.newer;
		uint64_t due = s->arrived_ns + f->soft_ns;

		if (away && s->state == CLIENT_SLOT_PENDING)
			due = MIN_OF(due, gone_ns);
		if (now_ns < due)
			return due;
		soft_expire(f, s);
	}
	return UINT64_MAX;
}

static uint64_t interrupt_expire(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t due = f->soft_ns > 0 ? soft_tick(f, now_ns) : UINT64_MAX;
	bool full = !client_has_room(f);

	if (f->n_interrupted > 0 || full) {
		if (now_ns >= f->look_ns) {
			look_all(f, full, now_ns);
			f->look_ns = now_ns + CLIENT_LOOK_NS;
		}
		due = MIN_OF(due, f->look_ns);
	}
	if (f->oldest.newer != &f->oldest) {
		uint64_t long_ns = MAX_OF(f->oldest.newer->arrived_ns + CLIENT_LONG_NS, f->long_ns);

		if (now_ns >= long_ns) {
			look_all(f, true, now_ns);
			long_ns = f->long_ns = now_ns + CLIENT_LONG_NS;
		}
		due = MIN_OF(due, long_ns);
	}
	return due;
}

static bool interrupt_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
			   uint64_t now_ns)
{
	(void)in;
	client_interrupt_request(f, f->request, n, now_ns);
	return true;
}

const struct client_stage client_interrupt_stage = {
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_INTERRUPT),
	.take = interrupt_take,
	.expire = interrupt_expire,
};
