/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the loss of each path per direction, and decides whether a path is lossy or slow. A
 * sender cannot distinguish a lost packet from a packet whose acknowledgement was lost, or for
 * which the peer had no memory. The receiver can do so by the packet numbers. So each side counts
 * the packets that arrive and reports the count in every PING; both sides then know both
 * directions. Packets above the path MTU are expected to be lost; their sender reports how many it
 * has sent.
 *
 * Each path gets one PING a second, and more while losses are suspected. The more sessions this
 * endpoint has, the fewer PINGs each path gets. A peer that has many sessions must not be burdened
 * by our PINGs either: on an idle path we send no more PINGs than the peer does, but at least the
 * keepalives.
 */
#include "dataplane/rudp/rudp_internal.h"

#define PROBE_NS NSEC_PER_SEC
#define PROBE_MOST_NS (4 * NSEC_PER_SEC) /* longest keepalive interval */
/* A peer that reports at least this often has few sessions. */
#define PROBE_FEW_NS (3 * NSEC_PER_SEC)
#define PROBE_LOADED_SUSPECTED_NS (250 * NSEC_PER_MSEC)
#define PROBE_SUSPECTED_NS (20 * NSEC_PER_MSEC)
/* Interval of probes while packets of the peer are missing. The peer suspects a loss only after a
 * report. It is also the interval until the first loss share is known. */
#define PROBE_SOON_NS (250 * NSEC_PER_MSEC)
#define PROBES_FIRST 20U
#define PROBE_AFTER_NS (10 * NSEC_PER_SEC)
#define PROBE_UNANSWERED_FOR_NS (2 * NSEC_PER_SEC)
/* All sessions of an endpoint together send about 200 probes a second, with two paths each. */
#define PROBE_SESSION_NS (10 * NSEC_PER_MSEC)
/* If at least this many packets were sent since the last probe, their losses show as much as probes
 * would. */
#define LOADED_PACKETS 8U
/* A peer that has sent no report after this many probes probably has a version without reports. */
#define UNHEARD_MOST 8U
#define PROBE_UNHEARD_NS (16 * NSEC_PER_SEC)
/* If two reports are farther apart than this, packets that are missing between them were lost in an
 * outage, and do not count. */
#define OUTAGE_NS (3 * NSEC_PER_SEC)
#define OUTAGE_PROBES 8U

/* Returns the loss share of the best other path, or RUDP_LOSS_UNKNOWN if the peer has no other
 * path. */
static uint32_t sister_ppm(const struct rudp_session *s, const struct rudp_path *p, bool out)
{
	uint32_t best = RUDP_LOSS_UNKNOWN;

	for (unsigned i = 0; i < s->n_paths; i++) {
		const struct rudp_path *q = &s->paths[i];

		if (q != p && q->state == PATH_UP)
			best = MIN_OF(best,
				      rudp_loss_share(out ? &q->quality.out : &q->quality.in));
	}
	return best;
}

/* Decides which paths to avoid: lossy paths, while another path is up that loses less than a
 * quarter as much. */
static void avoid(struct rudp_session *s)
{
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];
		uint32_t lossy = rudp_quality_lossy(&p->quality);

		p->quality.avoided = false;
		for (unsigned k = 0; k < s->n_paths && lossy; k++) {
			const struct rudp_path *q = &s->paths[k];

			p->quality.avoided |=
				q->state == PATH_UP && rudp_quality_lossy(&q->quality) < lossy / 4;
		}
	}
}

static void judge(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	struct rudp_quality *q = &p->quality;
	bool was = rudp_quality_lossy(q) != 0, is;
	enum rudp_loss_news out = rudp_loss_close(&q->out, sister_ppm(s, p, true), now);
	enum rudp_loss_news in = rudp_loss_close(&q->in, sister_ppm(s, p, false), now);

	if (out == RUDP_LOSS_ENDS)
		q->out_ended_ns = now;
	is = rudp_quality_lossy(q) != 0;
	if (was || is)
		avoid(s);
	if (out == RUDP_LOSS_NO_NEWS && in == RUDP_LOSS_NO_NEWS)
		return;
	rudp_session_touch(s);
	rudp_session_event(s, RUDP_PATH_LOSS, p->index, is);
}

/* Decides whether the path is slow. Ignores standby paths, which may lead to another switch,
 * farther away. */
static void judge_latency(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	struct rudp_latency_others others = {.least = 0};
	enum rudp_latency_news news;

	if (!rudp_latency_is_due(&p->latency, now))
		return;
	for (unsigned i = 0; i < s->n_paths; i++) {
		const struct rudp_path *q = &s->paths[i];

		if (q->port != p->port && q->state == PATH_UP)
			rudp_latency_compare(&q->latency, q->port, now, &others);
	}
	news = rudp_latency_close(&p->latency, p->rtt.base, p->standby ? NULL : &others, now);
	if (news != RUDP_LATENCY_NO_NEWS)
		rudp_session_event(s, RUDP_PATH_SLOW, p->index, news == RUDP_LATENCY_SLOW);
}

/* Returns whether `since` is at most `ns` ago. A `since` of 0 means never. */
static bool within(uint64_t since, uint64_t ns, uint64_t now)
{
	return since && now < since + ns;
}

static uint64_t idle_interval(const struct rudp_quality *q, uint64_t all, uint64_t now)
{
	bool few = q->peer_interval_ns && q->peer_interval_ns < PROBE_FEW_NS;

	if (!q->heard && q->sent >= UNHEARD_MOST)
		return PROBE_UNHEARD_NS;
	/* Probe often for a while after the loss has ended, because the peer needs as many packets
	 * as this side to notice the end. */
	if (rudp_loss_is_suspected(&q->out) || within(q->out_ended_ns, PROBE_AFTER_NS, now) ||
	    (few && within(q->unanswered_ns, PROBE_UNANSWERED_FOR_NS, now)))
		return MAX_OF(PROBE_SUSPECTED_NS, all / 2);
	if (rudp_loss_is_suspected(&q->in))
		return MAX_OF(PROBE_SOON_NS, all);
	if (few && q->sent < PROBES_FIRST)
		return MAX_OF(PROBE_SOON_NS, all);
	return MAX_OF(MAX_OF(PROBE_NS, all), MIN_OF(q->peer_interval_ns, PROBE_MOST_NS));
}

static uint64_t interval(const struct rudp_session *s, const struct rudp_path *p, bool loaded,
			 uint64_t now)
{
	uint64_t all = s->r->n_live * PROBE_SESSION_NS;
	bool suspected = rudp_loss_is_suspected(&p->quality.out);

	if (!loaded)
		return idle_interval(&p->quality, all, now);
	return MAX_OF(suspected ? PROBE_LOADED_SUSPECTED_NS : PROBE_NS, all);
}

/* Brings the next probe forward if its time was set before a packet was missing. */
static void probe_sooner(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t at = p->quality.probed_ns + interval(s, p, false, now);

	if (p->quality.probe_ns <= at)
		return;
	p->quality.probe_ns = at;
	rudp_session_touch(s);
}

void rudp_report_unanswered(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	p->quality.unanswered_ns = now;
	probe_sooner(s, p, now);
}

int rudp_report_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_report *r,
		   uint64_t now)
{
	struct rudp_quality *q = &p->quality;
	uint64_t out_top = rudp_pn_expand(r->top, p->sent.next_pn), in_top = p->acks.top;
	/* All counts are modulo 2^32, as on the wire. */
	uint32_t out_missing = r->top - r->arrived - (uint32_t)p->probes_lost;
	uint32_t in_missing = (uint32_t)p->acks.top - (uint32_t)p->acks.arrived - r->probes_lost;
	uint64_t outage = MAX_OF(OUTAGE_NS, OUTAGE_PROBES * interval(s, p, true, now));

	if (out_top >= p->sent.next_pn)
		return -EBADMSG;
	if (q->counts && out_top < q->out_top)
		return 0; /* a later report arrived before this one */
	q->peer_interval_ns = q->heard ? now - q->heard_ns : 0;
	q->heard_ns = now;
	q->heard = true;
	q->peer_srtt_us = r->srtt_us;
	if (!q->counts && out_top < q->out_from)
		return 0; /* the report was made before the end of the outage */
	if (q->counts && now < q->report_ns + outage) {
		rudp_loss_add(&q->out, (int64_t)(out_top - q->out_top),
			      (int32_t)(out_missing - q->out_missing), now);
		rudp_loss_add(&q->in, (int64_t)(in_top - q->in_top),
			      (int32_t)(in_missing - q->in_missing), now);
		q->in_missing_sum += (int32_t)(in_missing - q->in_missing);
		if (q->in_missing_sum > (int64_t)q->in_lost)
			q->in_lost = (uint64_t)q->in_missing_sum;
	}
	q->counts = true;
	q->report_ns = now;
	q->out_top = out_top;
	q->in_top = in_top;
	q->out_missing = out_missing;
	q->in_missing = in_missing;
	judge(s, p, now);
	judge_latency(s, p, now);
	probe_sooner(s, p, now);
	return 0;
}

void rudp_report_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	struct rudp_quality *q = &p->quality;
	bool loaded = p->sent.next_pn - q->probed_pn >= LOADED_PACKETS;

	if (q->probe_ns == 0 || now < q->probed_ns + interval(s, p, loaded, now)) {
		q->probe_ns = now + interval(s, p, false, now);
		if (q->probed_ns == 0)
			q->probed_ns = now;
		return;
	}
	if (q->sent < PROBES_FIRST)
		q->sent++;
	q->probed_ns = now;
	rudp_tx_ping(s, p, now);
	q->probed_pn = p->sent.next_pn;
	q->probe_ns = now + interval(s, p, false, now);
}
