/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a frame of ARP or neighbour discovery: rejected, or a claim of one known family from
 * a station that passes the privilege boundary; and a wiring watch takes claims in any order
 * without more packets than its limits allow.
 */
#include "agent/base/privsep.h"
#include "agent/lldp/claim.h"
#include "agent/wiring/wiring.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static bool taken;
static unsigned n_announced, n_probes;

bool fuzz_input_taken(void)
{
	return taken;
}

static void on_send(void *user, const struct wiring_packet *p)
{
	n_announced += p->announce;
	n_probes += !p->announce;
}

static void on_change(void *user, const struct wiring_leg *leg, const struct wiring_address *a)
{
	struct reason why;

	if (a->taken && !wiring_leg_reason(user, leg->name, 0, &why))
		abort();
}

static uint32_t no_random(void)
{
	return 0;
}

/* The claim every 100 ms for a minute, for an address that it concerns. */
static void repeat(const struct address_claim *c)
{
	const struct wiring_setup setup = {
		.send = on_send, .on_change = on_change, .random = no_random};
	struct wiring_view v = {.n_legs = 1, .n_addresses = 1};
	const uint64_t start = 1000 * NSEC_PER_SEC;
	struct wiring w;

	wiring_init(&w, &setup);
	w.setup.user = &w;
	v.legs[0] = (struct wiring_leg){.name = "leg-a", .ifindex = 2, .carrier = true};
	v.addresses[0] = (struct wiring_address){
		.ip = c->sender.family ? c->sender : c->target, .ifindex = 2, .kind = WIRING_OWN};
	n_announced = n_probes = 0;
	wiring_watch(&w, &v, start);
	for (uint64_t at = start; at < start + 60 * NSEC_PER_SEC; at += 100 * NSEC_PER_MSEC) {
		wiring_hear(&w, 2, c, at);
		(void)wiring_run(&w, at);
	}
	if (n_announced > 7 || n_probes > 35)
		abort();
	wiring_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1); /* so that a read past the end is detected */
	struct privsep_msg m = {.type = PRIVSEP_CLAIM, .size = sizeof(m.claim)};
	const char *why;

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	taken = claim_parse(exact, size, &m.claim.said) == 0;
	free(exact);
	if (!taken)
		return 0;
	if (privsep_check(PRIVSEP_LLDP, &m, offsetof(struct privsep_msg, claim) + m.size, false,
			  &why) < 0 ||
	    (m.claim.said.by.bytes[0] & 1) ||
	    (m.claim.said.sender.family && m.claim.said.target.family &&
	     m.claim.said.sender.family != m.claim.said.target.family))
		abort();
	repeat(&m.claim.said);
	return 0;
}
