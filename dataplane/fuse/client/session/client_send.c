/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends pending requests and, after an unmount, DESTROY. */
#include "dataplane/fuse/client/changes/client_changes.h"
#include "dataplane/fuse/client/session/client_session.h"

void client_session_drop(struct fuse_client *f, uint64_t now_ns)
{
	if (!f->session)
		return;
	rudp_session_close(f->session, now_ns);
	f->session = NULL;
	/* Set the time only if there was a server until now: away_since_ns is when the client began
	 * to be without a server. */
	if (f->link == CLIENT_READY || f->link == CLIENT_REOPEN)
		f->away_since_ns = now_ns;
	f->link = CLIENT_AWAY;
}

/* Returns whether the request may remove the last name of a file. */
static bool client_removes_names(uint32_t opcode)
{
	return opcode == FUSE_UNLINK || opcode == FUSE_RENAME || opcode == FUSE_RENAME2;
}

/* Sends the request. Returns 0; -ENOMEM if the request must wait for a stage or for a free buffer
 * for its answer; -ENOBUFS if rudp takes no more calls now; or the error for the kernel. */
static int client_send(struct fuse_client *f, struct client_slot *s)
{
	const void *msg;
	size_t len;
	int e;

	for (const struct client_stage *const *st = f->on.holds; *st; st++) {
		e = (*st)->holds(f, s);
		if (e < 0)
			return e;
	}
	if (s->resp_max > CLIENT_SMALL_BYTES && !s->resp) {
		bool has_buf = client_slot_resp_get(f, s);

		if (!has_buf && s->opcode != FUSE_OPENDIR)
			return -ENOMEM;
		if (!has_buf) /* send the request nevertheless, but without a request for directory
				 entries */
			client_prefetch_request(s, 0);
	}
	if (client_removes_names(s->opcode)) {
		client_kept_files_removal(f, s);
		client_internal_release(f);
	}
	e = client_request_seal(f, s, &msg, &len);
	if (e < 0)
		return e;
	e = rudp_call_send(f->session, msg, len, client_slot_cookie(f, s));
	if (e < 0)
		return e == -ENOBUFS ? e : -EIO;
	client_slot_unqueue(f, s);
	s->state = CLIENT_SLOT_SENT;
	f->n_sent++;
	client_note_sent(f, s->opcode);
	return 0;
}

void client_flush_stages(struct fuse_client *f, uint64_t now_ns)
{
	client_internal_begin(f, now_ns);
	if (f->link != CLIENT_READY)
		return;
	for (const struct client_stage *const *st = f->on.flush; *st; st++)
		(*st)->flush(f, now_ns);
}

/* Sends pending requests, oldest first. A request that waits for a buffer, or for RDMA, does not
 * block later ones. */
void client_flush(struct fuse_client *f, uint64_t now_ns)
{
	struct client_slot *s, *next;

	if (!f->session)
		return;
	client_flush_stages(f, now_ns);
	if (f->link != CLIENT_READY || !f->flush_wanted)
		return;
	f->flush_wanted = false;
	for (s = f->pending.next; s != &f->pending; s = next) {
		int e;

		next = s->next;
		e = client_send(f, s);
		if (e == -ENOBUFS)
			break;
		if (e == -ECANCELED || (e == -ESTALE && client_mount_worker_return(s))) {
			client_slot_free(f, s);
		} else if (e < 0 && e != -ENOMEM) {
			launch_stat_add(&f->stats->request_errors, 1);
			client_slot_fail(f, s, client_local_dir_error(f, s, e));
		}
	}
}

/* Sends DESTROY after an unmount. The kernel sends DESTROY only for mounts of block devices. But
 * without it, the server would keep nodes and handles for a successor. */
void client_goodbye(struct fuse_client *f)
{
	struct client_slot *s, *next;

	client_dispatch_report_unmounted(f);
	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		client_slot_free(f, s);
	}
	if (f->link != CLIENT_READY || f->bye_sent)
		return;
	client_deferred_ctime_flush(f, UINT64_MAX);
	/* First send deferred updates and held data, because the server ignores requests after
	 * DESTROY. */
	if (f->n_deferred > 0 || client_write_back_delays_goodbye(f))
		return;
	f->bye = (struct client_bye_msg){.in = {.len = sizeof(f->bye.in), .opcode = FUSE_DESTROY}};
	f->bye_sent = rudp_call_send(f->session, &f->bye, sizeof(f->bye), CLIENT_COOKIE_BYE) == 0;
}
