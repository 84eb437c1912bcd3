/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arbitrary frames for a port without a kernel: a byte of options, then records of a time step, a
 * length and a frame. The parser must stay within each frame, a datagram must lie within its frame,
 * and replies must fit the device.
 */
#include "dataplane/port/l2/port_neigh.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum choice { CHOICE_V6 = 1, CHOICE_CHECKED = 2, CHOICE_PARTIAL = 4, CHOICE_PROBE = 8 };

static void emit(void *user, const uint8_t *frame, size_t len)
{
	if (len < PORT_L2_ETHER_BYTES || len > PORT_L2_ECHO_MAX || frame[6] != 0x02)
		abort();
}

static void one_frame(struct port_neigh *n, const struct port_l2_local *local, unsigned flags,
		      const uint8_t *data, size_t len, uint64_t now_ns)
{
	uint8_t *exact =
		malloc(len ? len : 1); /* so that the sanitizer detects a read past the end */
	struct datagram_addr src;
	struct port_l2_frame f;
	struct mac_addr mac;
	uint32_t bytes;

	if (!exact)
		return;
	memcpy(exact, data, len);
	/* Frames the fast path accepts must be accepted by the full parser. */
	if (port_l2_take_udp(local, exact, len, flags, &src, &bytes) &&
	    (port_l2_parse(local, exact, len, flags, &f) != PORT_L2_UDP || bytes != f.payload_len ||
	     !ip_addr_equal(&src.ip, &f.src.ip) || src.port != f.src.port))
		abort();
	if (port_l2_parse(local, exact, len, flags, &f) == PORT_L2_UDP) {
		if (f.payload < exact || f.payload + f.payload_len > exact + len)
			abort();
		if (port_neigh_resolve(n, &f.src.ip, now_ns, &mac) == -EINPROGRESS) {
			uint8_t *parked = port_neigh_park(n, &f.src.ip);

			if (parked)
				memset(parked, 2, 64);
			port_neigh_park_len(n, &f.src.ip, 64);
		}
	} else if (f.kind != PORT_L2_DROP) {
		port_neigh_input(n, &f, exact, len, now_ns);
	} else if (!port_l2_drop_to_string(f.drop)) {
		abort();
	}
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct port_neigh_config cfg = {.frame_bytes_max = 1514, .emit = emit};
	struct port_l2_local *local = &cfg.local;
	struct port_neigh *n;
	uint64_t now_ns = NSEC_PER_SEC;
	uint8_t choice;

	if (size == 0)
		return 0;
	choice = *data++;
	size--;
	local->mac = (struct mac_addr){{0x02, 0, 0, 0, 0, 0x0b}};
	local->udp_port = 4420;
	local->accept_partial_checksum = choice & CHOICE_PARTIAL;
	cfg.prefix_len = choice & CHOICE_V6 ? 64 : 24;
	if (ip_addr_parse(choice & CHOICE_V6 ? "2001:db8::2" : "192.0.2.2", &local->ip) < 0 ||
	    ip_addr_parse(choice & CHOICE_V6 ? "2001:db8::ff" : "192.0.2.254", &cfg.gateway) < 0 ||
	    port_neigh_new(&cfg, &n) < 0)
		abort();
	if (choice & CHOICE_PROBE)
		port_neigh_probe_start(n, now_ns);
	while (size >= 3) {
		size_t len = MIN_OF((size_t)(data[1] | data[2] << 8), size - 3);

		now_ns += data[0] * 10 * NSEC_PER_MSEC;
		(void)port_neigh_tick(n, now_ns);
		one_frame(n, local, choice & CHOICE_CHECKED ? PORT_L2_CHECKSUM_GOOD : 0, data + 3,
			  len, now_ns);
		data += 3 + len;
		size -= 3 + len;
	}
	port_neigh_free(n);
	return 0;
}
