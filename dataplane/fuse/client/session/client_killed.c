/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends the requests of processes that are being killed. Other signals end no request, because
 * programs do not expect that a signal interrupts a write or an fsync; a database, for example,
 * would stop after EINTR. FUSE does not report which signal a process got, but procfs shows it.
 */
#include "dataplane/fuse/client/session/client_session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define STATUS_BYTES 4096

/* Returns whether SIGKILL is pending for the thread. The kernel makes SIGKILL pending whenever any
 * signal is about to end the thread. else_dying: the result if procfs has no information. */
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

void client_killed_abandon(struct fuse_client *f, struct client_slot *s, int error)
{
	client_dispatch_cancel(f, s);
	s->accepted = client_slot_reply_error(f, s, error);
	client_slot_answered(f, s);
}

/*
 * Ends a request that waits at the client at once. For a request at the server, the client sends an
 * interrupt and waits CLIENT_KILLED_NS for the answer, so that the server executes nothing for a
 * dead process. If procfs has no information, any signal counts as fatal, because a process that
 * cannot be killed would be worse.
 */
void client_killed_look(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	if (client_locks_wanted(f) &&
	    client_locks_must_end(s->opcode,
				  s->state == CLIENT_SLOT_SENT || client_slot_is_resent(s))) {
		/* The server may keep the request until its grace period ends. The interrupt makes
		 * the server answer it with EINTR. */
		if (s->opcode != FUSE_FLUSH && s->interrupted && s->state == CLIENT_SLOT_SENT)
			client_internal_interrupt(f, s);
		return;
	}
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
		client_killed_abandon(f, s, -EINTR);
	}
}

void client_killed_signalled(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	if (s->interrupted || s->answered)
		return;
	s->interrupted = true;
	if (f->n_interrupted++ == 0)
		f->look_ns = now_ns + CLIENT_LOOK_NS;
	client_killed_look(f, s, now_ns);
}
