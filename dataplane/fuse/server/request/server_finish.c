/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends requests: sends the reply and releases everything that a request uses. Also replies to
 * messages that the server refuses before it makes a request of them. */
#include "dataplane/fuse/proto/fuse_latency.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/request/server_request.h"
#include "dataplane/fuse/server/request/server_source.h"
#include "netcfg/base/log.h"
#include <string.h>

static struct fuse_out_header *req_header(struct server_req *q)
{
	return (struct fuse_out_header *)(server_req_data(q) - sizeof(struct fuse_out_header));
}

static void req_unlink(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;

	*(q->prev ? &q->prev->next : &srv->active) = q->next;
	if (q->next)
		q->next->prev = q->prev;
	srv->n_active--;
}

/* Releases the request's files and buffer. */
static void req_release(struct server_req *q)
{
	if (q->file)
		server_file_put(q->file);
	if (q->file2)
		server_file_put(q->file2);
	buf_pool_put(&q->client->server->answers, q->temp);
	q->file = q->file2 = NULL;
	q->temp = NULL;
}

/* Logs the first EIO of a session. A failing disk causes many errors, so further errors are not
 * logged. */
static void log_first_error(struct fuse_server_client *c, uint32_t opcode)
{
	if (!c->failed)
		log_warning("%s: FUSE request (opcode %u) failed: Input/output error", c->host,
			    opcode);
	c->failed = true;
}

void server_req_finish(struct server_req *q, int error, size_t len, size_t tail_len)
{
	struct fuse_server_client *c = q->client;
	struct fuse_server *srv = c->server;

	*req_header(q) = (struct fuse_out_header){
		.len = (uint32_t)(sizeof(struct fuse_out_header) + len),
		.error = error,
		.unique = q->unique,
	};
	server_lease_changed(q);
	/* No helper has received the request's journal record, so free it here. */
	if (q->record && q->ticket && !q->submitted)
		journal_cancel(q->record, q->ticket);
	req_release(q);
	launch_stat_add(&srv->stats->responses, 1);
	if (error == -EIO) {
		launch_stat_add(&srv->stats->request_errors, 1);
		log_first_error(c, q->in->opcode);
	}
	req_unlink(q);
	c->from->n_running[server_export_index(q->mount->export)]--;
	srv->wait_due = true;
	/* Read the clock here: copying data from memory may have taken long, so the time at which
	 * this turn began is too old. */
	if (q->call)
		fuse_latency_note(&srv->stats->latencies[server_export_index(q->mount->export)],
				  q->in->opcode, q->args.arrived_ns, clock_now_ns());
	buf_pool_put(&srv->requests, q->in);
	q->in = NULL;
	q->client = NULL;
	if (--c->n_reqs == 0 && c->gone) {
		c->next_dying = srv->dying;
		srv->dying = c;
	}
	if (q->call)
		rudp_respond(q->call, req_header(q), req_header(q)->len + tail_len, q);
	else
		fuse_server_sent(srv, q);
}

void fuse_server_sent(struct fuse_server *srv, void *token)
{
	struct server_req *q = token;

	if (!q)
		return;
	if (q->record && q->call && q->record->unique == q->unique)
		journal_ack(q->record);
	if (q->mount) {
		q->mount->n_refs--;
		server_mount_put(q->mount);
	}
	if (q->from)
		server_source_reply_give(q->from, q->class);
	buf_pool_put(&srv->answers, server_req_data(q));
	srv->wait_due = true;
}

void server_req_requeue(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;

	q->retry = NULL;
	*srv->retry_tail = q;
	srv->retry_tail = &q->retry;
}

void server_call_end(struct rudp_call *call)
{
	static const uint8_t nothing[1];

	rudp_respond(call, nothing, 0, NULL);
}

void server_req_refuse(struct fuse_server *srv, struct rudp_call *call, const void *buf, size_t len,
		       int err)
{
	struct fuse_out_header *out = buf_pool_get(&srv->answers, sizeof(*out));
	struct fuse_in_header in = {};
	struct server_req *q;

	memcpy(&in, buf, MIN_OF(len, sizeof(in)));
	if (!out) {
		server_call_end(call);
		return;
	}
	*out = (struct fuse_out_header){
		.len = sizeof(*out),
		.error = err,
		.unique = in.unique & ~FUSE_PROTO_UNIQUE_RESEND,
	};
	q = (struct server_req *)((uint8_t *)out - BUF_HEADROOM_BYTES);
	*q = (struct server_req){};
	rudp_respond(call, out, sizeof(*out), q);
}
