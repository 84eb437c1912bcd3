/* SPDX-License-Identifier: BSD-3-Clause */
/* Path MTU discovery. */
#include "dataplane/rudp/path/rudp_mtu.h"
#include <string.h>

#define PPM 1000000U
#define TRY_GAP_DOUBLED_MOST 3U

/* Common MTUs of links. The limit of the hosts' links is probed as well if it is larger. */
static const uint16_t common[] = {1500, 4096, 9000};

static void probe_add(struct rudp_mtu *m, unsigned bytes, uint64_t now)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		if (m->probes[i].bytes)
			continue;
		m->probes[i] = (struct rudp_mtu_probe){.bytes = (uint16_t)bytes, .due_ns = now};
		return;
	}
}

static bool probing(const struct rudp_mtu *m)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes)
			return true;
	return false;
}

static unsigned limit(const struct rudp_mtu *m)
{
	return m->too_large ? m->too_large - 1U : m->max;
}

/* Probes all common sizes at the same time, and the largest possible size. */
static void probe_common(struct rudp_mtu *m, uint64_t now)
{
	probe_add(m, limit(m), now);
	for (unsigned i = 0; i < ARRAY_SIZE(common); i++)
		if (common[i] > m->cur && common[i] < limit(m))
			probe_add(m, common[i], now);
}

static unsigned search_end(struct rudp_mtu *m, uint64_t now)
{
	m->done = true;
	m->round = 0;
	/* If the search has reached the former size again, random loss was the cause of the fall,
	 * so from now on more packets must be lost. */
	if (m->before_fall)
		m->lost_limit = m->cur >= m->before_fall
					? (uint8_t)MIN_OF(m->lost_limit * 2U, RUDP_MTU_LOST_MOST)
					: RUDP_MTU_LOST_LEAST;
	m->before_fall = 0;
	if (m->cur < m->max) {
		m->raise_ns = now + m->raise_after_ns;
		m->raise_after_ns = MIN_OF(2 * m->raise_after_ns, RUDP_MTU_RAISE_MOST_NS);
	}
	if (m->found == m->cur)
		return 0;
	m->found = m->cur;
	m->changed_ns = now;
	return RUDP_MTU_FOUND;
}

/* Continues the search if no probe is in flight. */
static unsigned search_continue(struct rudp_mtu *m, uint64_t now)
{
	if (m->done || probing(m))
		return 0;
	if (m->cur >= limit(m) ||
	    (m->round && m->too_large && m->too_large <= m->cur + RUDP_MTU_STEP))
		return search_end(m, now);
	if (m->round == 0)
		probe_common(m, now);
	else if (m->round == 1) /* the common size that arrived is usually the exact path MTU, so
				   probe only a little above it */
		probe_add(m, MIN_OF(m->cur + RUDP_MTU_STEP, limit(m)), now);
	else
		probe_add(m, (m->cur + limit(m) + 1U) / 2, now);
	m->round = (uint8_t)MIN_OF(m->round + 1U, 2U);
	return 0;
}

static unsigned search_start(struct rudp_mtu *m, uint64_t now)
{
	memset(m->probes, 0, sizeof(m->probes));
	m->done = false;
	m->round = 0;
	m->lost = 0;
	return search_continue(m, now);
}

void rudp_mtu_init(struct rudp_mtu *m, uint16_t max, uint64_t now)
{
	*m = (struct rudp_mtu){.cur = RUDP_MTU_BASE,
			       .max = max,
			       .found = max,
			       .confirm_ns = now + RUDP_MTU_CONFIRM_NS,
			       .raise_after_ns = RUDP_MTU_RAISE_FIRST_NS,
			       .lost_limit = RUDP_MTU_LOST_LEAST,
			       .changed_ns = now};
	(void)search_start(m, now);
}

void rudp_mtu_restart(struct rudp_mtu *m, uint16_t max, uint64_t now)
{
	if (m->found == m->max)
		m->found = max;
	m->max = max;
	m->cur = RUDP_MTU_BASE;
	m->too_large = 0;
	m->confirm_ns = now + RUDP_MTU_CONFIRM_NS;
	(void)search_start(m, now);
}

/* Probes the size in use, unless a packet as large has arrived since the last check. */
static void probe_current(struct rudp_mtu *m, uint64_t now)
{
	bool passed = m->passed_pn > m->confirmed_pn && m->passed_bytes >= m->cur;

	m->confirm_ns = now + RUDP_MTU_CONFIRM_NS;
	m->confirmed_pn = m->passed_pn;
	if (!passed && m->cur > RUDP_MTU_BASE)
		probe_add(m, m->cur, now);
}

uint16_t rudp_mtu_next(struct rudp_mtu *m, bool in_use, uint64_t now)
{
	uint64_t idle_ns = in_use ? 0 : RUDP_MTU_CONFIRM_IDLE_NS - RUDP_MTU_CONFIRM_NS;

	if (m->done && m->cur < m->max && now >= m->raise_ns) {
		m->too_large = 0;
		(void)search_start(m, now);
	}
	if (PLENUM_UNLIKELY(now >= m->confirm_ns + idle_ns) && m->done && !probing(m))
		probe_current(m, now);
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		const struct rudp_mtu_probe *p = &m->probes[i];

		if (p->bytes && !p->in_flight && now >= p->due_ns)
			return p->bytes;
	}
	return 0;
}

void rudp_mtu_sent(struct rudp_mtu *m, uint16_t bytes, uint64_t pn)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		struct rudp_mtu_probe *p = &m->probes[i];

		if (p->bytes != bytes || p->in_flight)
			continue;
		p->in_flight = true;
		p->pn = pn;
		return;
	}
}

uint64_t rudp_mtu_deadline(const struct rudp_mtu *m)
{
	uint64_t at = m->done && m->cur < m->max ? m->raise_ns : UINT64_MAX;

	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes && !m->probes[i].in_flight)
			at = MIN_OF(at, m->probes[i].due_ns);
	return at;
}

static struct rudp_mtu_probe *probe_find(struct rudp_mtu *m, uint64_t pn)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes && m->probes[i].in_flight && m->probes[i].pn == pn)
			return &m->probes[i];
	return NULL;
}

/* Drops probes whose result would not change anything. */
static void probes_settle(struct rudp_mtu *m)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes <= m->cur || m->probes[i].bytes > limit(m))
			m->probes[i].bytes = 0;
}

unsigned rudp_mtu_probe_acked(struct rudp_mtu *m, uint64_t pn, uint64_t now)
{
	const struct rudp_mtu_probe *p = probe_find(m, pn);

	if (!p)
		return 0;
	m->cur = MAX_OF(m->cur, p->bytes);
	m->lost = 0;
	probes_settle(m);
	return search_continue(m, now);
}

static unsigned fall_back(struct rudp_mtu *m, uint64_t now)
{
	if (now > m->changed_ns + RUDP_MTU_STABLE * m->raise_after_ns)
		m->raise_after_ns = RUDP_MTU_RAISE_FIRST_NS;
	m->before_fall = MAX_OF(m->before_fall, m->cur);
	m->cur = RUDP_MTU_BASE;
	return RUDP_MTU_FELL | search_start(m, now);
}

/* Returns how many probes must be lost so that this happens by chance only once in about a million
 * times. */
unsigned rudp_mtu_tries(uint32_t ppm)
{
	uint64_t by_chance = PPM;
	unsigned n = 0;

	while (by_chance > 1 && n < RUDP_MTU_TRIES_MOST) {
		by_chance = (by_chance * MIN_OF(ppm, PPM) + PPM - 1) / PPM;
		n++;
	}
	return MAX_OF(n, RUDP_MTU_TRIES);
}

unsigned rudp_mtu_probe_lost(struct rudp_mtu *m, uint64_t pn, unsigned tries, uint64_t now)
{
	struct rudp_mtu_probe *p = probe_find(m, pn);

	if (!p)
		return 0;
	p->in_flight = false;
	p->due_ns = now + (RUDP_MTU_TRY_GAP_NS << MIN_OF(p->lost, TRY_GAP_DOUBLED_MOST));
	if (++p->lost < tries)
		return 0;
	/* Packets of this size have arrived before, so the path MTU has fallen. */
	if (p->bytes <= m->cur) {
		m->too_large = 0;
		return fall_back(m, now);
	}
	m->too_large = p->bytes;
	probes_settle(m);
	return search_continue(m, now);
}

void rudp_mtu_probes_forget(struct rudp_mtu *m, uint64_t now)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		if (!m->probes[i].in_flight)
			continue;
		m->probes[i].in_flight = false;
		m->probes[i].due_ns = now + RUDP_MTU_TRY_GAP_NS;
	}
}

unsigned rudp_mtu_packet_lost(struct rudp_mtu *m, uint64_t pn, unsigned bytes, uint64_t now)
{
	if (bytes <= RUDP_MTU_BASE || bytes > m->cur)
		return 0;
	/* A later packet of at least this size has arrived, so the size is not the cause of the
	 * loss. */
	if (pn < m->passed_pn && bytes <= m->passed_bytes)
		return 0;
	m->lost_least = (uint16_t)(m->lost ? MIN_OF(m->lost_least, bytes) : bytes);
	if (++m->lost < m->lost_limit)
		return 0;
	m->too_large = 0;
	return fall_back(m, now);
}

unsigned rudp_mtu_refused(struct rudp_mtu *m, unsigned bytes, uint64_t now)
{
	if (bytes <= RUDP_MTU_BASE || bytes > m->max)
		return 0;
	m->too_large = (uint16_t)(m->too_large ? MIN_OF(m->too_large, bytes) : bytes);
	if (m->cur >= bytes)
		return fall_back(m, now);
	probes_settle(m);
	return search_continue(m, now);
}
