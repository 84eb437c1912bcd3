/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which clients still acknowledge responses. The application uses this when its memory for
 * responses is short. Clients that have become silent, for example because their rack has lost
 * power, must not occupy memory that other clients need. A client that has sent nothing for a while
 * is first asked by a PING. While memory is short, sessions that leave responses unacknowledged
 * end.
 *
 * The cause of the silence may be this host: after an outage of our network, or a pause of this
 * process, all clients have been silent, although most would answer now. So a session ends only if
 * its client has left several PINGs unanswered that were sent while memory was short. Silence
 * counts only while a port of the session receives packets of any client. A port that works does
 * receive packets, because clients that wait for memory answer PINGs.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"

/* If a packet of the client arrived within this time, or within three timeouts, the client is
 * alive. */
#define HEARD_NS (20 * NSEC_PER_MSEC)
/* A client is silent if it has acknowledged no packet in flight for this time or, if that is
 * longer, for four timeouts. The time is so long that a host whose virtual processor pauses for 20
 * ms does not count as silent. */
#define SILENT_NS (40 * NSEC_PER_MSEC)
/* Limit for a client that answers PINGs but acknowledges no part of its responses. */
#define UNTAKEN_NS (500 * NSEC_PER_MSEC)
#define LATELY_NS NSEC_PER_SEC
#define SHORT_NS (20 * NSEC_PER_MSEC)
#define CHECK_NS (5 * NSEC_PER_MSEC)
/* Maximum number of sessions checked in one poll; the next poll continues. */
#define CHECK_SESSIONS 128U
#define ASK_DOUBLINGS_MOST 5U
/* A session ends only if its client has left this many PINGs unanswered. They are sent in the
 * second half of the limit. */
#define SILENT_PINGS 4U

static uint64_t longest_rto(const struct rudp_session *s)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state == PATH_UP)
			ns = MAX_OF(ns, rudp_path_rto(s, &s->paths[i]));
	return ns;
}

static uint64_t silent_limit(const struct rudp_session *s)
{
	return MAX_OF(SILENT_NS, 4 * longest_rto(s));
}

/* Returns whether packets are in flight and none was acknowledged for this long. */
static bool is_silent(const struct rudp_session *s, uint64_t limit, uint64_t now)
{
	bool any = false;

	if (s->last_rx_ns + limit > now)
		return false;
	for (unsigned i = 0; i < s->n_paths; i++) {
		const struct rudp_path *p = &s->paths[i];

		if (p->state == PATH_NONE || p->sent.in_flight == 0)
			continue;
		if (rudp_sent_silent_since(&p->sent) + limit > now)
			return false;
		any = true;
	}
	return any;
}

/* Returns when a port of the session began to receive packets without a pause; RUDP_TIME_NEVER if
 * none of its ports receives any now. */
static uint64_t hears_since(const struct rudp_session *s, uint64_t now)
{
	const struct rudp *r = s->r;
	uint64_t since = RUDP_TIME_NEVER;

	for (unsigned i = 0; i < s->n_paths; i++) {
		unsigned port = s->paths[i].port;

		if (s->paths[i].state != PATH_NONE && now < r->heard_ns[port] + RUDP_DEAF_NS)
			since = MIN_OF(since, r->hears_since_ns[port]);
	}
	return since;
}

static bool takes_nothing(const struct rudp_session *s, uint64_t now)
{
	const struct slot *oldest = list_entry(s->answers.next, const struct slot, answer);
	uint64_t since = hears_since(s, now);

	return oldest->answer_ns && since != RUDP_TIME_NEVER &&
	       MAX_OF(since, MAX_OF(oldest->answer_ns, s->acked_ns)) + UNTAKEN_NS <= now;
}

/* Requests a PING, which the next poll sends. A client that does not answer gets PINGs more and
 * more rarely. */
static void ask(struct rudp_session *s, uint64_t now)
{
	if (s->last_rx_ns >= s->asked_ns)
		s->n_asked = 0;
	else if (now < s->asked_ns + (HEARD_NS << s->n_asked))
		return;
	else
		s->n_asked = (uint8_t)MIN_OF(s->n_asked + 1U, ASK_DOUBLINGS_MOST);
	s->asked_ns = now;
	s->ask_due = true;
	rudp_session_touch(s);
}

enum rudp_standing rudp_session_standing(struct rudp_session *s)
{
	uint64_t now = s->r->now;

	if (s->state != SESSION_UP || is_silent(s, silent_limit(s), now))
		return RUDP_STANDING_SILENT;
	if (s->last_rx_ns + MAX_OF(HEARD_NS, 3 * longest_rto(s)) < now) {
		ask(s, now);
		return RUDP_STANDING_SILENT;
	}
	return s->acked_ns && now < s->acked_ns + LATELY_NS ? RUDP_STANDING_GOOD
							    : RUDP_STANDING_NEW;
}

/* Returns the path for a PING: preferably a healthy path, else a path that is up, else a path that
 * may come back. */
static struct rudp_path *ask_route(struct rudp_session *s)
{
	struct rudp_path *up = NULL, *down = NULL;

	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		if (p->state == PATH_UP && !p->timed_out)
			return p;
		if (p->state == PATH_UP)
			up = p;
		else if (p->state == PATH_DOWN && !p->local_down)
			down = p;
	}
	return up ? up : down;
}

void rudp_standing_ask(struct rudp_session *s, uint64_t now)
{
	struct rudp_path *p = ask_route(s);

	s->ask_due = false;
	if (p)
		rudp_tx_ping(s, p, now);
}

/* Sends PINGs to a silent client. Returns true if it has left all of them unanswered. */
static bool ignores_pings(struct rudp_session *s, uint64_t limit, uint64_t now)
{
	uint64_t since = hears_since(s, now);

	if (since == RUDP_TIME_NEVER)
		return false;
	if (s->pinged_ns < MAX_OF(since, MAX_OF(s->last_rx_ns, s->r->short_since_ns))) {
		s->pinged_ns = now;
		s->n_pinged = 0;
	}
	if (now < s->pinged_ns + s->n_pinged * (limit / 2 / SILENT_PINGS))
		return false;
	if (s->n_pinged == SILENT_PINGS)
		return true;
	s->n_pinged++;
	s->ask_due = true;
	rudp_session_touch(s);
	return false;
}

/* Returns whether the client is silent and has left all PINGs of the second half of the limit
 * unanswered. */
static bool is_gone(struct rudp_session *s, uint64_t now)
{
	uint64_t limit = silent_limit(s);

	return is_silent(s, limit / 2, now) && ignores_pings(s, limit, now) &&
	       is_silent(s, limit, now);
}

void rudp_responses_short(struct rudp *r)
{
	if (r->now >= r->short_until_ns)
		r->short_check_ns = r->short_since_ns = r->now;
	r->short_until_ns = r->now + SHORT_NS;
	r->dirty = true;
}

static bool may_end(struct rudp_session *s)
{
	return s->state == SESSION_UP && (!s->r->ops->may_end || s->r->ops->may_end(s->r->user, s));
}

void rudp_standing_run(struct rudp *r, uint64_t now)
{
	if (PLENUM_LIKELY(now >= r->short_until_ns) || now < r->short_check_ns)
		return;
	if (r->n_to_check == 0)
		r->n_to_check = r->n_answering;
	for (unsigned i = 0; i < CHECK_SESSIONS && !list_empty(&r->answering); i++) {
		struct rudp_session *s =
			list_entry(r->answering.next, struct rudp_session, answering);

		if (r->n_to_check == 0)
			break;
		r->n_to_check--;
		list_del(&s->answering);
		list_add_tail(&r->answering, &s->answering);
		if (may_end(s) && (is_gone(s, now) || takes_nothing(s, now)))
			rudp_session_stuck(s);
	}
	if (list_empty(&r->answering))
		r->n_to_check = 0;
	r->short_check_ns = r->n_to_check > 0 ? now : now + CHECK_NS;
}

uint64_t rudp_standing_deadline(const struct rudp *r, uint64_t now)
{
	return now < r->short_until_ns ? r->short_check_ns : RUDP_TIME_NEVER;
}
