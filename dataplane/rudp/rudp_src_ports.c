/* SPDX-License-Identifier: BSD-3-Clause */
/* Which source ports arrive. Apart from rudp_validate.c, which asks the peer. */
#include "dataplane/rudp/rudp_src_ports.h"
#include "netcfg/base/base.h"

/* So many in a row: where three of ten packets are lost, once in 15,000; and it costs little. */
#define LOST_MOST 8U
#define ASK_FIRST_NS (20 * NSEC_PER_MSEC)
#define ASK_MOST_NS (10 * NSEC_PER_SEC)
#define DOUBLINGS_MOST 9U
/* In vain, which takes two and a half seconds: it is worth a word. */
#define ASKED_MOST 7U

static void ask_anew(struct rudp_source *of, uint64_t now)
{
	*of = (struct rudp_source){.ask_ns = now};
}

void rudp_src_ports_begin(struct rudp_src_ports *t, unsigned n, uint64_t life_ns, uint64_t now)
{
	t->n = (uint8_t)MIN_OF(n, RUDP_SOURCES_MAX - 1U);
	t->life_ns = life_ns;
	t->arrives = 0;
	for (unsigned k = 1; k <= t->n; k++)
		ask_anew(&t->of[k], now);
}

void rudp_src_ports_packet_lost(struct rudp_src_ports *t, unsigned k, uint64_t now)
{
	struct rudp_source *of = &t->of[k];

	of->well = 0;
	if (!(t->arrives >> k & 1) || ++of->lost_run < LOST_MOST)
		return;
	t->arrives &= (uint8_t) ~(1U << k);
	/* What asks is small: where only large packets are lost, it is heard each time. */
	*of = (struct rudp_source){
		.fell = (uint8_t)MIN_OF(of->fell + 1U, DOUBLINGS_MOST),
		.ask_ns = now + (of->fell ? MIN_OF(ASK_FIRST_NS << of->fell, ASK_MOST_NS) : 0)};
}

void rudp_src_ports_well(struct rudp_src_ports *t, unsigned k)
{
	t->of[k].fell = t->of[k].well = 0;
	t->lost &= (uint8_t) ~(1U << k);
}

void rudp_src_ports_none(struct rudp_src_ports *t, unsigned k)
{
	if (k > t->n)
		return;
	t->lost &= (uint8_t) ~(1U << k);
	t->of[k] = (struct rudp_source){.ask_ns = UINT64_MAX};
}

unsigned rudp_src_ports_ask(struct rudp_src_ports *t, uint64_t now, enum rudp_src_ports_news *ret)
{
	*ret = RUDP_SOURCES_NO_NEWS;
	for (unsigned k = 1; k <= t->n; k++) {
		struct rudp_source *of = &t->of[k];

		if (t->arrives >> k & 1 || now < of->ask_ns)
			continue;
		if (MAX_OF(of->asked, of->fell) >= ASKED_MOST && !(t->lost >> k & 1)) {
			t->lost |= (uint8_t)(1U << k);
			*ret = RUDP_SOURCES_CHANGED;
		}
		of->ask_ns = now + MIN_OF(ASK_FIRST_NS << of->asked, ASK_MOST_NS);
		of->asked = (uint8_t)MIN_OF(of->asked + 1U, DOUBLINGS_MOST);
		return k;
	}
	return 0;
}

enum rudp_src_ports_news rudp_src_ports_heard(struct rudp_src_ports *t, unsigned k)
{
	const uint8_t bit = (uint8_t)(1U << k);
	bool fell_often, was_lost = t->lost & bit;

	if (k == 0 || k > t->n)
		return RUDP_SOURCES_NO_NEWS;
	fell_often = t->of[k].fell >= ASKED_MOST;
	t->arrives |= bit;
	t->of[k] = (struct rudp_source){.fell = t->of[k].fell};
	if (fell_often || !was_lost)
		return RUDP_SOURCES_NO_NEWS;
	t->lost &= (uint8_t)~bit;
	return RUDP_SOURCES_CHANGED;
}

uint64_t rudp_src_ports_deadline(const struct rudp_src_ports *t)
{
	uint64_t d = UINT64_MAX;

	for (unsigned k = 1; k <= t->n; k++)
		if (!(t->arrives >> k & 1))
			d = MIN_OF(d, t->of[k].ask_ns);
	return d;
}
