/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of DPDK ports for links and hosts that are not available here: queues, descriptors and
 * buffers, and the reported limitations.
 */
#include "dataplane/port/dpdk/port_dpdk_sizes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CACHE 256
#define SHORT_ROOM 2048
#define LONG_ROOM 9216
#define ONE_LEG_MIB 48 /* of a worker's 64, of which DPDK itself uses 16 */
#define TWO_LEGS_MIB 24

static struct port_dpdk_wants wants(uint32_t mbps, uint32_t mtu, uint32_t memory_mib,
				    unsigned queues)
{
	return (struct port_dpdk_wants){.mbps = mbps,
					.mtu = mtu,
					.room = mtu > 1900 ? LONG_ROOM : SHORT_ROOM,
					.memory_mib = memory_mib,
					.queues = (uint16_t)queues};
}

static uint64_t bytes_of(const struct port_dpdk_sizes *s, unsigned room)
{
	return (uint64_t)port_dpdk_sizes_buffers(s, CACHE) * port_dpdk_sizes_buffer_bytes(room);
}

static void expect(const struct port_dpdk_wants *w, unsigned queues, unsigned rx, unsigned tx)
{
	struct port_dpdk_sizes s;

	port_dpdk_sizes_choose(w, &s);
	assert_int_equal(s.rx_queues, queues);
	assert_int_equal(s.rx_descriptors, rx);
	assert_int_equal(s.tx_descriptors, tx);
	assert_true(bytes_of(&s, w->room) <= (uint64_t)w->memory_mib << 20);
}

/* A millisecond of the link in frames of the MTU; at least a minimum on slow links. */
static void rings_follow_the_link_speed(void **state)
{
	static const struct {
		uint32_t mbps, mtu;
		unsigned queues, rx, tx;
	} cases[] = {
		{0, 1500, 1, 1024, 1024},      {100, 1500, 1, 1024, 1024},
		{1000, 1500, 1, 1024, 1024},   {10000, 1500, 1, 1024, 1024},
		{25000, 1500, 1, 2048, 1024},  {40000, 1500, 2, 2048, 1024},
		{100000, 1500, 4, 2048, 1024}, {0, 9000, 1, 256, 256},
		{10000, 9000, 1, 256, 256},    {25000, 9000, 1, 512, 512},
		{40000, 9000, 2, 512, 1024},   {100000, 9000, 4, 512, 1024},
		{200000, 9000, 4, 1024, 1024}, {400000, 1500, 4, 4096, 1024},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct port_dpdk_wants w = wants(cases[i].mbps, cases[i].mtu, 256, 16);

		expect(&w, cases[i].queues, cases[i].rx, cases[i].tx);
	}
}

/* As many as the device can spread over, and at most as many as are read per call. */
static void queues_follow_the_device(void **state)
{
	struct port_dpdk_wants w = wants(100000, 1500, ONE_LEG_MIB, 1);

	(void)state;
	expect(&w, 1, 4096, 1024);
	w.queues = 2;
	expect(&w, 2, 4096, 1024);
	w.queues = 256;
	expect(&w, PORT_DPDK_QUEUES_MAX, 2048, 1024);
	w = wants(1000, 1500, ONE_LEG_MIB, 256);
	expect(&w, 1, 1024, 1024);
	/* A device that always spreads gets each of them read. */
	w.all_queues = true;
	w.queues = 3;
	expect(&w, 3, 512, 1024);
}

/* Sizes are reduced to the planned memory instead of taking other workers'. */
static void sizes_fit_the_planned_memory(void **state)
{
	struct port_dpdk_wants w = wants(100000, 1500, TWO_LEGS_MIB, 4);

	(void)state;
	expect(&w, 4, 2048, 1024);
	w = wants(200000, 1500, TWO_LEGS_MIB, 4);
	expect(&w, 4, 2048, 1024);
	w = wants(100000, 9000, TWO_LEGS_MIB, 4);
	expect(&w, 4, 256, 512);
	/* The minimum, as planned for a worker with many legs, also with AF_PACKET's buffers. */
	w = wants(1000, 1500, plenum_dpdk_port_mib(1500), 4);
	expect(&w, 1, 1024, 1024);
	w = wants(1000, 9000, plenum_dpdk_port_mib(9000), 4);
	w.room = 12288;
	expect(&w, 1, 256, 256);
}

static void descriptors_are_halved_to_a_minimum(void **state)
{
	struct port_dpdk_sizes s = {.rx_queues = 2, .rx_descriptors = 1024, .tx_descriptors = 256};
	unsigned before = port_dpdk_sizes_buffers(&s, CACHE);

	(void)state;
	assert_true(port_dpdk_sizes_halve(&s));
	assert_int_equal(s.rx_descriptors, 512);
	assert_int_equal(s.tx_descriptors, 128);
	assert_int_equal(port_dpdk_sizes_buffers(&s, CACHE), before - 1024 - 128);
	assert_true(port_dpdk_sizes_halve(&s));
	assert_true(port_dpdk_sizes_halve(&s));
	assert_int_equal(s.rx_descriptors, 128);
	assert_int_equal(s.tx_descriptors, 128);
	assert_false(port_dpdk_sizes_halve(&s));
	assert_int_equal(s.rx_descriptors, 128);
}

static void expect_says(struct port_dpdk_got g, const char *text)
{
	struct reason why;
	char said[REASON_FORMAT_MAX];

	memset(&why, 'x', sizeof(why));
	port_dpdk_sizes_report(&g, &why);
	assert_string_equal(reason_format(&why, said, sizeof(said)), text);
}

static void limitations_are_reported(void **state)
{
#define FEW "few-buffers: 512 receive buffers, not 2048: too few free hugepages"
#define FAR "far-memory: buffers are on NUMA node 0, the device on node 1"
	(void)state;
	expect_says((struct port_dpdk_got){2048, 2048, 1, 1}, "");
	expect_says((struct port_dpdk_got){2048, 2048, -1, 1}, ""); /* a device without a node */
	expect_says((struct port_dpdk_got){2048, 2048, 1, -1}, "");
	expect_says((struct port_dpdk_got){2048, 512, 1, 1}, FEW);
	expect_says((struct port_dpdk_got){2048, 2048, 1, 0}, FAR);
	expect_says((struct port_dpdk_got){2048, 512, 1, 0}, FEW "; " FAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_follow_the_link_speed),
		cmocka_unit_test(queues_follow_the_device),
		cmocka_unit_test(sizes_fit_the_planned_memory),
		cmocka_unit_test(descriptors_are_halved_to_a_minimum),
		cmocka_unit_test(limitations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
