/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which source ports reach the peer and when to probe them. rudp_validate.c sends the
 * probes. */
#include "dataplane/rudp/path/rudp_src_ports.h"
#include "netcfg/base/base.h"

/* A source port counts as failed after this many lost packets in a row. Even on a path that loses
 * three of ten packets, this happens by chance only once in 15,000 packets, and then has little
 * effect. */
#define LOST_MOST 8U
#define PROBE_FIRST_NS (20 * NSEC_PER_MSEC)
#define PROBE_MAX_NS (10 * NSEC_PER_SEC)
#define DOUBLINGS_MOST 9U
/* A source port is reported as lost after this many unanswered probes, which take about 2.5 s, or
 * if it stops reaching the peer this many times without working for long in between. */
#define UNANSWERED_MAX 7U

static void probe_reset(struct rudp_source *of, uint64_t now)
{
	*of = (struct rudp_source){.next_probe_ns = now};
}

void rudp_src_ports_begin(struct rudp_src_ports *t, unsigned n, uint64_t life_ns, uint64_t now)
{
	t->n = (uint8_t)MIN_OF(n, RUDP_SOURCES_MAX - 1U);
	t->life_ns = life_ns;
	t->usable = 0;
	for (unsigned k = 1; k <= t->n; k++)
		probe_reset(&t->of[k], now);
}

void rudp_src_ports_packet_lost(struct rudp_src_ports *t, unsigned k, uint64_t now)
{
	struct rudp_source *of = &t->of[k];

	of->acked_run = 0;
	if (!(t->usable >> k & 1) || ++of->lost_run < LOST_MOST)
		return;
	t->usable &= (uint8_t) ~(1U << k);
	/* Keep n_failed: a probe is small, so it may arrive although large packets are still
	 * lost. */
	*of = (struct rudp_source){
		.n_failed = (uint8_t)MIN_OF(of->n_failed + 1U, DOUBLINGS_MOST),
		.next_probe_ns =
			now +
			(of->n_failed ? MIN_OF(PROBE_FIRST_NS << of->n_failed, PROBE_MAX_NS) : 0)};
}

void rudp_src_ports_recovered(struct rudp_src_ports *t, unsigned k)
{
	t->of[k].n_failed = t->of[k].acked_run = 0;
	t->lost &= (uint8_t) ~(1U << k);
}

void rudp_src_ports_unusable(struct rudp_src_ports *t, unsigned k)
{
	if (k > t->n)
		return;
	t->lost &= (uint8_t) ~(1U << k);
	t->of[k] = (struct rudp_source){.next_probe_ns = UINT64_MAX};
}

unsigned rudp_src_ports_probe(struct rudp_src_ports *t, uint64_t now, enum rudp_src_ports_news *ret)
{
	*ret = RUDP_SOURCES_NO_NEWS;
	for (unsigned k = 1; k <= t->n; k++) {
		struct rudp_source *of = &t->of[k];

		if (t->usable >> k & 1 || now < of->next_probe_ns)
			continue;
		if (MAX_OF(of->n_probes, of->n_failed) >= UNANSWERED_MAX && !(t->lost >> k & 1)) {
			t->lost |= (uint8_t)(1U << k);
			*ret = RUDP_SOURCES_CHANGED;
		}
		of->next_probe_ns = now + MIN_OF(PROBE_FIRST_NS << of->n_probes, PROBE_MAX_NS);
		of->n_probes = (uint8_t)MIN_OF(of->n_probes + 1U, DOUBLINGS_MOST);
		return k;
	}
	return 0;
}

enum rudp_src_ports_news rudp_src_ports_confirmed(struct rudp_src_ports *t, unsigned k)
{
	const uint8_t bit = (uint8_t)(1U << k);
	bool failed_often, was_lost = t->lost & bit;

	if (k == 0 || k > t->n)
		return RUDP_SOURCES_NO_NEWS;
	failed_often = t->of[k].n_failed >= UNANSWERED_MAX;
	t->usable |= bit;
	t->of[k] = (struct rudp_source){.n_failed = t->of[k].n_failed};
	if (failed_often || !was_lost)
		return RUDP_SOURCES_NO_NEWS;
	t->lost &= (uint8_t)~bit;
	return RUDP_SOURCES_CHANGED;
}

uint64_t rudp_src_ports_deadline(const struct rudp_src_ports *t)
{
	uint64_t d = UINT64_MAX;

	for (unsigned k = 1; k <= t->n; k++)
		if (!(t->usable >> k & 1))
			d = MIN_OF(d, t->of[k].next_probe_ns);
	return d;
}
