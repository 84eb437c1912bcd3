/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a packet that probes a leg: rejected, or a packet that is written again with the
 * same bytes; the answers to it are no longer than the packet, and few. The first byte chooses
 * whether the packet gets a valid hash, so that its other fields are tested too.
 */
#include "agent/links/links.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static bool taken;
static size_t heard_len, sent_bytes;
static unsigned n_sent;

bool fuzz_input_taken(void)
{
	return taken;
}

static void demand(bool is)
{
	if (!is)
		abort();
}

static void on_send(void *user, uint32_t ifindex, const struct ip_addr *to, const uint8_t *buf,
		    size_t len)
{
	demand(len >= LINKS_HEAD_BYTES && len <= LINKS_PACKET_MAX);
	n_sent++;
	sent_bytes += len;
}

static uint32_t no_random(void *user)
{
	return 4;
}

static void hear(const uint8_t *packet, size_t len, const struct links_keys *keys)
{
	const struct links_setup setup = {.send = on_send, .random = no_random};
	const struct ip_addr from = {AF_INET, {10, 1, 0, 2}};
	struct links_leg leg = {.ifindex = 2, .ip = {{AF_INET, {10, 1, 0, 1}}, 16}, .open = true};
	struct links_peer peers[2] = {
		{.host = "host-b", .leg = "leg-a", .ip = from},
		{.host = "host-c", .leg = "leg-a", .ip = {AF_INET, {10, 1, 0, 3}}}};
	static struct links l;

	links_init(&l, &setup);
	l.keys = *keys;
	links_set_legs(&l, &leg, 1, NSEC_PER_SEC);
	links_set_peers(&l, 2, peers, 2, NSEC_PER_SEC);
	n_sent = 0;
	sent_bytes = 0;
	heard_len = len;
	(void)links_hear(&l, 2, &from, packet, len, NSEC_PER_SEC);
	demand(sent_bytes <= len); /* no amplifier */
	for (int i = 0; i < 500; i++)
		(void)links_hear(&l, 2, &from, packet, len, NSEC_PER_SEC);
	demand(n_sent <= 60);
	for (uint64_t at = 1; at < 30; at++)
		(void)links_run(&l, NSEC_PER_SEC + at * 100 * NSEC_PER_MSEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ip_addr from = {AF_INET, {10, 1, 0, 2}}, to = {AF_INET, {10, 1, 0, 1}};
	struct links_keys keys = {.n = 0};
	uint8_t *exact, again[LINKS_PACKET_MAX];
	struct links_packet p;
	bool sign;

	taken = false;
	if (size == 0)
		return 0;
	sign = data[0] & 1;
	links_keys_add(&keys, "test", NULL, 0);
	data++;
	size--;
	exact = malloc(size ? size : 1); /* so that a read past the end is detected */
	if (!exact)
		return 0;
	memcpy(exact, data, size);
	if (sign && size >= LINKS_HEAD_BYTES)
		links_wire_sign(exact, &keys, &from, &to);
	taken = links_wire_parse(exact, size, &keys, &from, &to, &p) == 0;
	if (taken) {
		links_wire_write(again, size, &p, &keys, &from, &to);
		demand(memcmp(again, exact, LINKS_HEAD_BYTES) == 0);
		hear(exact, size, &keys);
	}
	free(exact);
	return 0;
}
