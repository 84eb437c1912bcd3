/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the share of lost packets of a path, and decides whether the path is lossy. */
#include "dataplane/rudp/path/rudp_quality.h"

#define PPM 1000000
#define WINDOW_NS NSEC_PER_SEC
#define WINDOW_MOST_NS (10 * NSEC_PER_SEC)
/* Length of a window in which packets were lost, but too few to decide whether the path is
 * lossy. */
#define WINDOW_SUSPECTED_NS (30 * NSEC_PER_SEC)
#define LOST_SUSPECTED 2
/* With this many packets, a loss of RUDP_LOSS_LEAST_PPM differs clearly from no loss. */
#define PACKETS_MANY 4000
#define PACKETS_LEAST 16 /* with fewer packets, the reported share does not change */
/* Fewer lost packets may be due to chance, or to one short interruption. */
#define LOST_LEAST 8
#define PACKETS_SHOWN 1000
/* The reported share of a lossy path is computed from this many packets. They are fewer than for
 * other paths, so that it follows changes sooner. */
#define PACKETS_SHOWN_LOSSY 200
#define WINDOWS_BAD 2
#define WINDOWS_GOOD 2
/* A path becomes lossy at this many times its usual loss share, or the share of the other path. */
#define FAR 4U

void rudp_loss_add(struct rudp_loss_rate *t, int64_t expected, int64_t lost, uint64_t now)
{
	if (t->window_ns == 0)
		t->window_ns = now;
	t->expected += expected;
	t->lost += MIN_OF(lost, expected);
}

static uint32_t share(int64_t lost, int64_t expected)
{
	if (lost <= 0 || expected <= 0)
		return 0;
	return (uint32_t)(MIN_OF(lost, expected) * PPM / expected);
}

uint32_t rudp_loss_share(const struct rudp_loss_rate *t)
{
	return t->shown_expected ? share(t->shown_lost, t->shown_expected) : RUDP_LOSS_UNKNOWN;
}

/* Returns whether enough packets arrived without loss to show that a lossy path has recovered. */
static bool shows_recovery(const struct rudp_loss_rate *t)
{
	return t->lossy_ppm && t->expected * t->lossy_ppm >= (int64_t)PACKETS_LEAST * PPM;
}

static bool is_complete(const struct rudp_loss_rate *t, uint64_t now)
{
	uint64_t age = now - t->window_ns;

	if (t->window_ns == 0 || age < WINDOW_NS)
		return false;
	if (t->lost >= LOST_LEAST || t->expected >= PACKETS_MANY)
		return true;
	if (t->shown_expected == 0 && t->lost == 0) /* the loss share is not known yet */
		return t->expected >= PACKETS_LEAST;
	if (t->lossy_ppm)
		return shows_recovery(t);
	return age >= (t->lost < LOST_SUSPECTED ? WINDOW_MOST_NS : WINDOW_SUSPECTED_NS);
}

static void show(struct rudp_loss_rate *t)
{
	int64_t most = t->lossy_ppm ? PACKETS_SHOWN_LOSSY : PACKETS_SHOWN;

	if (t->shown_expected > most) {
		t->shown_lost = t->shown_lost * most / t->shown_expected;
		t->shown_expected = most;
	}
	t->shown_expected += t->expected;
	t->shown_lost += t->lost;
}

/* Computes the reported share from the current window alone: the path has just become lossy or
 * stopped being lossy, so earlier windows are outdated. */
static void show_only_this(struct rudp_loss_rate *t)
{
	t->shown_expected = t->expected;
	t->shown_lost = t->lost;
}

/* Returns the loss share above which the path is lossy: far above its former share, or far above
 * the share of another path to the same peer. */
static uint32_t limit_ppm(const struct rudp_loss_rate *t, uint32_t sister_ppm)
{
	uint32_t far = FAR * MIN_OF(MIN_OF(t->usual_ppm, sister_ppm), RUDP_LOSS_MOST_PPM);

	return MIN_OF(MAX_OF(far, RUDP_LOSS_LEAST_PPM), RUDP_LOSS_MOST_PPM);
}

/* Decides on a window in which a lossy path lost much less than before. */
static enum rudp_loss_news judge_good(struct rudp_loss_rate *t, uint32_t ppm, uint32_t limit)
{
	if (++t->good_run < WINDOWS_GOOD)
		return RUDP_LOSS_NO_NEWS;
	t->good_run = 0;
	if (ppm >= limit / 2) { /* the path loses less than before, but still too much */
		t->lossy_ppm = MAX_OF(ppm, limit);
		return RUDP_LOSS_NO_NEWS;
	}
	t->lossy_ppm = 0;
	show_only_this(t);
	return RUDP_LOSS_ENDS;
}

static enum rudp_loss_news judge_lossy(struct rudp_loss_rate *t, uint32_t ppm, uint32_t limit,
				       bool bad)
{
	if (ppm <= t->lossy_ppm / FAR && shows_recovery(t))
		return judge_good(t, ppm, limit);
	t->good_run = 0;
	if (bad)
		t->lossy_ppm = rudp_loss_share(t);
	return RUDP_LOSS_NO_NEWS;
}

static enum rudp_loss_news judge(struct rudp_loss_rate *t, uint32_t sister_ppm)
{
	uint32_t ppm = share(t->lost, t->expected), limit = limit_ppm(t, sister_ppm);
	bool bad = t->lost >= LOST_LEAST && ppm >= limit;

	if (t->lossy_ppm)
		return judge_lossy(t, ppm, limit, bad);
	if (!bad && t->expected >= PACKETS_SHOWN)
		t->usual_ppm = (t->usual_ppm * 15 + ppm) / 16;
	t->bad_run = bad ? (uint8_t)(t->bad_run + 1) : 0;
	if (t->bad_run < WINDOWS_BAD)
		return RUDP_LOSS_NO_NEWS;
	t->bad_run = 0;
	show_only_this(t);
	t->lossy_ppm = ppm;
	return RUDP_LOSS_BEGINS;
}

enum rudp_loss_news rudp_loss_close(struct rudp_loss_rate *t, uint32_t sister_ppm, uint64_t now)
{
	enum rudp_loss_news news = RUDP_LOSS_NO_NEWS;

	if (!is_complete(t, now))
		return news;
	if (t->expected >= PACKETS_LEAST) {
		show(t);
		news = judge(t, sister_ppm);
	}
	t->window_ns = now;
	t->expected = t->lost = 0;
	return news;
}
