/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for a path's packet size: apart from the packets, so that it can be tested alone. */
#include "dataplane/rudp/rudp_mtu.h"
#include <string.h>

/* What links of this world carry; the last is asked for only where hosts take more still. */
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
	return m->failed ? m->failed - 1U : m->most;
}

/* All common sizes at once, the largest possible among them in any case. */
static void ask_common(struct rudp_mtu *m, uint64_t now)
{
	probe_add(m, limit(m), now);
	for (unsigned i = 0; i < ARRAY_SIZE(common); i++)
		if (common[i] > m->now && common[i] < limit(m))
			probe_add(m, common[i], now);
}

static unsigned search_end(struct rudp_mtu *m, uint64_t now)
{
	m->done = true;
	m->round = 0;
	if (m->doubted) /* was it the size, or did the network lose some? */
		m->lost_limit = m->now >= m->doubted
					? (uint8_t)MIN_OF(m->lost_limit * 2U, RUDP_MTU_LOST_MOST)
					: RUDP_MTU_LOST_LEAST;
	m->doubted = 0;
	if (m->now < m->most) {
		m->raise_ns = now + m->raise_after_ns;
		m->raise_after_ns = MIN_OF(2 * m->raise_after_ns, RUDP_MTU_RAISE_MOST_NS);
	}
	if (m->found == m->now)
		return 0;
	m->found = m->now;
	m->changed_ns = now;
	return RUDP_MTU_FOUND;
}

/* What to ask next, once nothing is on its way. */
static unsigned search_on(struct rudp_mtu *m, uint64_t now)
{
	if (m->done || probing(m))
		return 0;
	if (m->now >= limit(m) || (m->round && m->failed && m->failed <= m->now + RUDP_MTU_STEP))
		return search_end(m, now);
	if (m->round == 0)
		ask_common(m, now);
	else if (m->round == 1) /* mostly it is just what arrived */
		probe_add(m, MIN_OF(m->now + RUDP_MTU_STEP, limit(m)), now);
	else
		probe_add(m, (m->now + limit(m) + 1U) / 2, now);
	m->round = (uint8_t)MIN_OF(m->round + 1U, 2U);
	return 0;
}

static unsigned search_start(struct rudp_mtu *m, uint64_t now)
{
	memset(m->probes, 0, sizeof(m->probes));
	m->done = false;
	m->round = 0;
	m->lost = 0;
	return search_on(m, now);
}

void rudp_mtu_init(struct rudp_mtu *m, uint16_t most, uint64_t now)
{
	*m = (struct rudp_mtu){.now = RUDP_MTU_BASE,
			       .most = most,
			       .found = most,
			       .confirm_ns = now + RUDP_MTU_CONFIRM_NS,
			       .raise_after_ns = RUDP_MTU_RAISE_FIRST_NS,
			       .lost_limit = RUDP_MTU_LOST_LEAST,
			       .changed_ns = now};
	(void)search_start(m, now);
}

void rudp_mtu_restart(struct rudp_mtu *m, uint16_t most, uint64_t now)
{
	if (m->found == m->most)
		m->found = most;
	m->most = most;
	m->now = RUDP_MTU_BASE;
	m->failed = 0;
	m->confirm_ns = now + RUDP_MTU_CONFIRM_NS;
	(void)search_start(m, now);
}

/* Asks for the size in use, unless a packet as large has arrived since the last look. */
static void confirm(struct rudp_mtu *m, uint64_t now)
{
	bool passed = m->passed_pn > m->confirmed_pn && m->passed_bytes >= m->now;

	m->confirm_ns = now + RUDP_MTU_CONFIRM_NS;
	m->confirmed_pn = m->passed_pn;
	if (!passed && m->now > RUDP_MTU_BASE)
		probe_add(m, m->now, now);
}

uint16_t rudp_mtu_next(struct rudp_mtu *m, bool in_use, uint64_t now)
{
	if (m->done && m->now < m->most && now >= m->raise_ns) {
		m->failed = 0;
		(void)search_start(m, now);
	}
	if (PLENUM_UNLIKELY(now >= m->confirm_ns) && m->done && in_use && !probing(m))
		confirm(m, now);
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		const struct rudp_mtu_probe *p = &m->probes[i];

		if (p->bytes && !p->on_way && now >= p->due_ns)
			return p->bytes;
	}
	return 0;
}

void rudp_mtu_sent(struct rudp_mtu *m, uint16_t bytes, uint64_t pn)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		struct rudp_mtu_probe *p = &m->probes[i];

		if (p->bytes != bytes || p->on_way)
			continue;
		p->on_way = true;
		p->pn = pn;
		return;
	}
}

uint64_t rudp_mtu_deadline(const struct rudp_mtu *m)
{
	uint64_t at = m->done && m->now < m->most ? m->raise_ns : UINT64_MAX;

	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes && !m->probes[i].on_way)
			at = MIN_OF(at, m->probes[i].due_ns);
	return at;
}

static struct rudp_mtu_probe *probe_find(struct rudp_mtu *m, uint64_t pn)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes && m->probes[i].on_way && m->probes[i].pn == pn)
			return &m->probes[i];
	return NULL;
}

/* Drops the probes that can tell nothing new. */
static void probes_settle(struct rudp_mtu *m)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++)
		if (m->probes[i].bytes <= m->now || m->probes[i].bytes > limit(m))
			m->probes[i].bytes = 0;
}

unsigned rudp_mtu_probe_acked(struct rudp_mtu *m, uint64_t pn, uint64_t now)
{
	const struct rudp_mtu_probe *p = probe_find(m, pn);

	if (!p)
		return 0;
	m->now = MAX_OF(m->now, p->bytes);
	m->lost = 0;
	probes_settle(m);
	return search_on(m, now);
}

static unsigned fall(struct rudp_mtu *m, uint64_t now)
{
	if (now > m->changed_ns + RUDP_MTU_STABLE * m->raise_after_ns)
		m->raise_after_ns = RUDP_MTU_RAISE_FIRST_NS;
	m->doubted = MAX_OF(m->doubted, m->now);
	m->now = RUDP_MTU_BASE;
	return RUDP_MTU_FELL | search_start(m, now);
}

unsigned rudp_mtu_probe_lost(struct rudp_mtu *m, uint64_t pn, uint64_t now)
{
	struct rudp_mtu_probe *p = probe_find(m, pn);

	if (!p)
		return 0;
	p->on_way = false;
	p->due_ns = now + (RUDP_MTU_TRY_GAP_NS << p->lost);
	if (++p->lost < RUDP_MTU_TRIES)
		return 0;
	if (p->bytes <= m->now) { /* it did arrive once */
		m->failed = 0;
		return fall(m, now);
	}
	m->failed = p->bytes;
	probes_settle(m);
	return search_on(m, now);
}

void rudp_mtu_probes_forget(struct rudp_mtu *m, uint64_t now)
{
	for (unsigned i = 0; i < RUDP_MTU_PROBES; i++) {
		if (!m->probes[i].on_way)
			continue;
		m->probes[i].on_way = false;
		m->probes[i].due_ns = now + RUDP_MTU_TRY_GAP_NS;
	}
}

unsigned rudp_mtu_packet_lost(struct rudp_mtu *m, uint64_t pn, unsigned bytes, uint64_t now)
{
	if (bytes <= RUDP_MTU_BASE || bytes > m->now)
		return 0;
	/* One as large that was sent later has arrived: it is not the size. */
	if (pn < m->passed_pn && bytes <= m->passed_bytes)
		return 0;
	m->lost_least = (uint16_t)(m->lost ? MIN_OF(m->lost_least, bytes) : bytes);
	if (++m->lost < m->lost_limit)
		return 0;
	m->failed = 0;
	return fall(m, now);
}

unsigned rudp_mtu_refused(struct rudp_mtu *m, unsigned bytes, uint64_t now)
{
	if (bytes <= RUDP_MTU_BASE || bytes > m->most)
		return 0;
	m->failed = (uint16_t)(m->failed ? MIN_OF(m->failed, bytes) : bytes);
	if (m->now >= bytes)
		return fall(m, now);
	probes_settle(m);
	return search_on(m, now);
}
