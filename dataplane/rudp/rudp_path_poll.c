/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes a path, and decides on its state by its answers and its silence (see rudp_path.c). */
#include "dataplane/rudp/rudp_internal.h"

#define PROBE_DOWN_NS (50 * NSEC_PER_MSEC)
#define PROBE_ALONE_NS (10 * NSEC_PER_MSEC)
/* A path that is down for longer than this is probed less often. */
#define PROBE_SOON_FOR_NS (5 * NSEC_PER_SEC)
#define PROBE_LATE_NS (250 * NSEC_PER_MSEC)
/* All sessions of an endpoint together send at most ten thousand probes a second on silent paths,
 * even if all paths of all sessions fail. */
#define PROBE_EACH_NS (100 * NSEC_PER_USEC)
#define PROBES_MISSED 3U
#define ALIVE_ELSEWHERE_NS (2 * NSEC_PER_MSEC)
#define SILENT_EVERYWHERE_NS NSEC_PER_SEC

/* Sends MTU probes, and a small packet after them. If the acknowledgement of the small packet does
 * not cover a probe, the probe is lost. */
static void mtu_probe(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	bool sent = false;
	uint16_t mtu;

	while (!p->tx_blocked && (mtu = rudp_mtu_next(&p->mtu, p->quiet == 0, now))) {
		uint64_t pn = p->sent.next_pn;
		int res = rudp_tx_ping_padded(s, p, mtu, now);

		if (res == -EMSGSIZE)
			rudp_path_mtu_result(s, p, rudp_mtu_refused(&p->mtu, mtu, now), now);
		else if (res)
			break;
		else
			rudp_mtu_sent(&p->mtu, mtu, pn);
		sent |= res == 0;
	}
	if (sent)
		rudp_tx_ping(s, p, now);
}

/* Returns whether there is a better path than p: one that is up and either answers or has nothing
 * in flight. */
static bool better_exists(const struct rudp_session *s, const struct rudp_path *p)
{
	for (unsigned i = 0; i < s->n_paths; i++) {
		const struct rudp_path *q = &s->paths[i];

		if (q != p && q->state == PATH_UP && !q->timed_out && q->sent.pto_count == 0)
			return true;
	}
	return false;
}

static void path_time_out(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (!p->timed_out) {
		p->timed_out = true;
		p->timed_out_ns = now;
		p->alive_elsewhere_ns = 0;
		if (!p->suspect_stage)
			p->pause_ns = 0;
	}
	for (unsigned i = 0; i < s->n_paths; i++) { /* send PINGs on idle paths: their answers show
						       whether only p is silent, or the whole
						       peer */
		struct rudp_path *q = &s->paths[i];

		if (q != p && q->state == PATH_UP && q->sent.in_flight == 0)
			rudp_tx_ping(s, q, now);
	}
}

static uint64_t keepalive_at(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t idle = s->r->lim.keepalive_ns;

	if (p->sent.in_flight)
		return RUDP_TIME_NEVER;
	if (p->timed_out)
		return p->sent.pto_base + s->r->lim.min_rto_ns;
	/* Idle paths are probed more and more rarely. The client's interval is shorter, so its
	 * probes come first and serve both sides. */
	idle <<= p->quiet;
	idle = s->is_client ? MIN_OF(idle, s->r->lim.lost_ns / 10 * 8)
			    : MIN_OF(idle + idle / 2, s->r->lim.lost_ns / 10 * 9);
	return MAX_OF(p->last_rx_ns, p->probe_ns) + idle;
}

/*
 * Detects that the peer answers on another path after p became silent. Only an answer counts: a
 * path that has just recovered or was just used has not shown yet that it works. A path in its hold
 * time has shown that it works, so that path is better than p. The peer may only have been late
 * with its answer on p, so p gets one more probe before it goes down.
 */
static void alive_elsewhere_check(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	for (unsigned i = 0; i < s->n_paths && !p->alive_elsewhere_ns; i++) {
		const struct rudp_path *q = &s->paths[i];

		if (q == p || (q->state != PATH_UP && !q->answered_since) || q->timed_out ||
		    q->sent.pto_count || q->sent.acked_ns <= p->timed_out_ns)
			continue;
		p->alive_elsewhere_ns = now;
		rudp_tx_ping(s, p, now);
	}
}

/* Returns when a path that has timed out goes down. */
static uint64_t dead_at(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t at = MAX_OF(p->sent.progress_ns + s->r->lim.path_dead_ns, p->timed_out_ns);

	if (!p->timed_out)
		return RUDP_TIME_NEVER;
	if (p->tx_error_ns && !rudp_path_is_only(s, p))
		return p->tx_error_ns + s->r->lim.path_dead_ns;
	if (!p->alive_elsewhere_ns)
		return MAX_OF(at, p->timed_out_ns + SILENT_EVERYWHERE_NS);
	return MAX_OF(at, p->alive_elsewhere_ns + MAX_OF(ALIVE_ELSEWHERE_NS, 2 * p->rtt.srtt));
}

static void pto_fire(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	p->sent.pto_count++;
	p->sent.pto_base = now;
	rudp_report_unanswered(s, p, now);
	if (p->sent.pto_count >= 2)
		path_time_out(s, p, now);
	if (p->timed_out && better_exists(s, p)) {
		rudp_loss_move_all(s, p);
		rudp_tx_ping(s, p, now);
	} else {
		rudp_tx_probe(s, p, now);
	}
}

/* Returns a time before which p cannot time out, whatever its round trip. Until then, the exact
 * timeout need not be computed. */
static uint64_t silent_least(const struct rudp_session *s, uint64_t since)
{
	return since + MIN_OF(s->r->lim.min_rto_ns, RUDP_RTO_MAX_NS);
}

/* Returns when to check p for silence next: at the next timeout of packets in flight, or
 * earlier. */
static uint64_t silence_at(const struct rudp_session *s, const struct rudp_path *p, uint64_t now)
{
	uint64_t least = silent_least(s, p->sent.pto_base);

	return least > now ? least : rudp_path_pto(s, p);
}

static void poll_up(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (p->sent.loss_check || now >= p->sent.loss_deadline)
		rudp_loss_detect(s, p, now);
	rudp_suspect_poll(s, p, now);
	if (p->sent.in_flight && now >= silent_least(s, p->sent.pto_base) &&
	    now >= rudp_path_pto(s, p))
		pto_fire(s, p, now);
	if (p->probe_due || now >= keepalive_at(s, p)) {
		if (!p->probe_due)
			rudp_path_quiet(p);
		p->probe_due = false;
		p->probe_ns = p->sent.pto_base = now;
		rudp_tx_ping(s, p, now);
	}
	if (!p->timed_out) {
		if (now >= p->quality.probe_ns)
			rudp_report_poll(s, p, now);
		mtu_probe(s, p, now);
		return;
	}
	alive_elsewhere_check(s, p, now);
	if (now >= dead_at(s, p))
		rudp_path_set_down(s, p, p->tx_error_ns ? p->tx_error_code : -ETIMEDOUT, now);
}

/*
 * Returns how many probes in a row a recovering path may leave unanswered. Busy hosts are late by a
 * tenth of a second now and then, which must not restart the hold time. An unstable path has a
 * longer hold time, but may not leave more probes unanswered than other paths, because long
 * silences are the reason for that longer time.
 */
static unsigned misses_max(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t silence = s->r->lim.hold_ns / 4 + 2 * p->rtt.srtt;

	return MAX_OF(PROBES_MISSED, (unsigned)(silence / PROBE_DOWN_NS));
}

/* Returns whether the path still answers, and will have answered for long enough at time `at`.
 * Probes in flight do not count as unanswered. */
static bool held_long_enough(const struct rudp_session *s, const struct rudp_path *p, uint64_t at)
{
	unsigned on_way = 1 + (unsigned)(2 * p->rtt.srtt / PROBE_DOWN_NS);

	if (!p->answered_since || p->peer_down || p->unanswered > misses_max(s, p))
		return false;
	return rudp_path_is_only(s, p) ||
	       (p->unanswered <= on_way && at >= p->answered_since + p->hold_ns);
}

/*
 * Call when a probe on p got no answer. The cause is p only if a packet of the peer arrived on
 * another path after the probe was sent. PINGs on other, idle paths make the peer send such a
 * packet.
 */
static void probe_missed(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	bool elsewhere = false;

	p->unanswered++;
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *q = &s->paths[i];

		if (q == p || q->state != PATH_UP)
			continue;
		elsewhere |= q->last_rx_ns > p->probe_sent_ns;
		if (p->answered_since && p->unanswered > 1 && q->sent.in_flight == 0)
			rudp_tx_ping(s, q, now);
	}
	if (elsewhere && ++p->missed > misses_max(s, p))
		p->answered_since = 0;
}

static uint64_t probe_interval(struct rudp_session *s, const struct rudp_path *p, uint64_t now)
{
	bool only = rudp_path_is_only(s, p);
	uint64_t ns, all = s->r->n_live * PROBE_EACH_NS * (only ? s->n_paths : 1);

	if (only && all <= PROBE_ALONE_NS)
		return PROBE_ALONE_NS;
	if (!only && p->answered_since) /* probe at the full rate during the hold time, because
					   the answers are counted */
		return PROBE_DOWN_NS;
	ns = now > p->since_ns + PROBE_SOON_FOR_NS ? PROBE_LATE_NS : PROBE_DOWN_NS;
	ns = only ? all : MAX_OF(ns, all);
	return ns - ns / 8 + rudp_random(s->r) % (ns / 4);
}

void rudp_path_heard(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t at = MAX_OF(now, p->probe_sent_ns + PROBE_ALONE_NS);

	if (rudp_path_is_only(s, p))
		p->probe_ns = MIN_OF(p->probe_ns, at);
}

static void poll_down(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (p->local_down)
		return;
	if (p->sent.loss_check || now >= p->sent.loss_deadline)
		rudp_loss_detect(s, p, now);
	if (held_long_enough(s, p, now)) {
		if (p->probes_answered >= p->probes_sent / 2 || rudp_path_is_only(s, p)) {
			rudp_path_set_up(s, p, now);
			return;
		}
		p->answered_since = 0; /* end the run, because the path loses most packets */
	}
	if (now < p->probe_ns)
		return;
	probe_missed(s, p, now);
	rudp_loss_move_all(s, p);
	rudp_tx_ping(s, p, now);
	p->probes_sent++;
	p->probe_sent_ns = now;
	p->probe_ns = now + probe_interval(s, p, now);
}

void rudp_path_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (p->state == PATH_UP)
		poll_up(s, p, now);
	else if (p->state == PATH_DOWN)
		poll_down(s, p, now);
}

static uint64_t after(uint64_t t, uint64_t now)
{
	return t > now ? t : RUDP_TIME_NEVER;
}

uint64_t rudp_path_deadline(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t now = s->r->now;
	uint64_t d = p->sent.loss_deadline;

	if (p->state == PATH_NONE || p->state == PATH_JOINING)
		return RUDP_TIME_NEVER;
	if (p->acks.pending)
		d = MIN_OF(d, p->acks.deadline);
	if (p->state == PATH_DOWN) {
		if (p->local_down)
			return d;
		if (held_long_enough(s, p, RUDP_TIME_NEVER))
			d = MIN_OF(d, p->answered_since + p->hold_ns);
		return MIN_OF(d, p->probe_ns);
	}
	d = MIN_OF(d, p->sent.in_flight ? silence_at(s, p, now) : keepalive_at(s, p));
	if (PLENUM_UNLIKELY(p->timed_out))
		d = MIN_OF(d, after(dead_at(s, p), now));
	if (s->n_paths > 1)
		d = MIN_OF(d, after(rudp_suspect_deadline(s, p), now));
	if (!p->timed_out) {
		d = MIN_OF(d, rudp_mtu_deadline(&p->mtu));
		d = MIN_OF(d, p->quality.probe_ns);
	}
	if (rudp_tx_pending(s)) {
		d = MIN_OF(d, after(p->pace_ns, now));
		d = MIN_OF(d, after(p->small_pace_ns, now));
	}
	if (PLENUM_UNLIKELY(p->label_pending))
		d = MIN_OF(d, after(p->label_ns, now));
	return d;
}
