/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the minimum round trip in each time window of a path, and decides whether the path is
 * slow. */
#include "dataplane/rudp/path/rudp_latency.h"

#define HOST_MORE 4U
#define SAMPLES_LEAST 2U
#define WINDOWS_SLOW 2
#define WINDOWS_GOOD 2
#define USUAL_WINDOWS 16U /* count of windows in the average */
#define USUAL_LEAST 3U	  /* with fewer windows, the usual round trip of the path is unknown */
/* If no other path is faster, the round trip of a slow path becomes its usual round trip after
 * about an hour, because the peer may now be farther away. */
#define USUAL_SLOW_WINDOWS 8192U

void rudp_latency_add(struct rudp_latency *l, uint64_t rtt, uint64_t host, uint64_t now)
{
	if (l->window_ns == 0)
		l->window_ns = now;
	host += host / HOST_MORE; /* the peer rounds its own delay down, see wire_gap_code() */
	if (host >= rtt)
		return;
	l->least = l->samples ? MIN_OF(l->least, rtt - host) : rtt - host;
	l->samples++;
}

void rudp_latency_restart(struct rudp_latency *l, uint64_t now)
{
	l->window_ns = now;
	l->samples = 0;
	l->slow_run = l->good_run = 0;
}

bool rudp_latency_is_due(const struct rudp_latency *l, uint64_t now)
{
	return l->window_ns && now >= l->window_ns + RUDP_LATENCY_WINDOW_NS &&
	       l->samples >= SAMPLES_LEAST;
}

static uint64_t limit(uint64_t usual)
{
	return MAX_OF(usual * RUDP_LATENCY_FAR, usual + RUDP_LATENCY_MORE_NS);
}

static bool is_late(const struct rudp_latency *l)
{
	return l->windows >= USUAL_LEAST && l->last > limit(l->usual);
}

void rudp_latency_compare(const struct rudp_latency *l, int port, uint64_t now,
			  struct rudp_latency_others *o)
{
	/* A value counts as recent for several windows, because the paths to a peer with many
	 * sessions are probed rarely. */
	uint64_t current = 3 * MAX_OF(l->last_took, RUDP_LATENCY_WINDOW_NS);

	if (l->last == 0 || now > l->last_ns + current)
		return;
	o->late |= is_late(l);
	if (o->least && o->least <= l->last)
		return;
	o->least = l->last;
	o->port = port;
}

/* Returns the round trip to compare the window with: the usual round trip of the path or, if that
 * is less, the minimum of the paths of other ports. */
static uint64_t reference(const struct rudp_latency *l, const struct rudp_latency_others *o,
			  int *ret_port)
{
	bool by_past = l->windows >= USUAL_LEAST && !o->late;

	if (o->least && !(by_past && l->usual < o->least)) {
		*ret_port = o->port;
		return o->least;
	}
	*ret_port = RUDP_LATENCY_OWN_PAST;
	return by_past ? l->usual : 0;
}

static void usual_add(struct rudp_latency *l, bool slow)
{
	uint64_t part;

	if (!slow)
		l->windows = MIN_OF(l->windows + 1, USUAL_WINDOWS);
	part = slow ? USUAL_SLOW_WINDOWS : l->windows;
	if (l->windows == 0)
		return;
	l->usual = l->last > l->usual ? l->usual + (l->last - l->usual) / part
				      : l->usual - (l->usual - l->last) / part;
}

static void slow_set(struct rudp_latency *l, uint64_t than, int port)
{
	l->slow = l->last;
	l->than = than;
	l->than_port = port;
	l->slow_run = l->good_run = 0;
}

/* Decides on a window of a slow path. A path that has become faster, but not fast enough, stays
 * slow. */
static enum rudp_latency_news judge_slow(struct rudp_latency *l, uint64_t than, int port)
{
	if (than && l->last > limit(than) / 4 * 3) {
		slow_set(l, than, port);
		return RUDP_LATENCY_NO_NEWS;
	}
	if (++l->good_run < WINDOWS_GOOD)
		return RUDP_LATENCY_NO_NEWS;
	l->slow = l->than = 0;
	l->good_run = 0;
	return RUDP_LATENCY_GOOD;
}

static enum rudp_latency_news judge(struct rudp_latency *l, const struct rudp_latency_others *o)
{
	int port = RUDP_LATENCY_OWN_PAST;
	uint64_t than = o ? reference(l, o, &port) : 0;

	if (l->slow)
		return judge_slow(l, than, port);
	l->slow_run = than && l->last > limit(than) ? (uint8_t)(l->slow_run + 1) : 0;
	if (l->slow_run < WINDOWS_SLOW)
		return RUDP_LATENCY_NO_NEWS;
	slow_set(l, than, port);
	return RUDP_LATENCY_SLOW;
}

enum rudp_latency_news rudp_latency_close(struct rudp_latency *l, uint64_t base,
					  const struct rudp_latency_others *o, uint64_t now)
{
	enum rudp_latency_news news;

	l->last = MAX_OF(MIN_OF(l->least, base), 1U);
	l->last_took = now - l->window_ns;
	l->last_ns = now;
	l->window_ns = now;
	l->samples = 0;
	news = judge(l, o);
	usual_add(l, is_late(l));
	return news;
}
