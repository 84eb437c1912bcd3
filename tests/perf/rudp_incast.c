/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many senders and one receiver that share a downlink and a switch queue, in the simulator: a table
 * of goodput, fairness, loss and paths taken down. Time is virtual, so the figures are the same on
 * every machine.
 *
 *	rudp_incast [--senders N] [--ms N] [--seed N] [NAME]
 *
 * NAME: prints that line of the table only. Each line is a scenario: message size and depth of all
 * senders.
 */
#include "tests/lib/rudp/rudp_sim.h"
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GBIT 1000000000ULL

static const struct load {
	const char *name;
	uint32_t bytes;
	unsigned depth, legs;
	uint32_t mtu, queue_bytes;
	uint64_t bits_per_s;
} loads[] = {
	{"1MiB-x4", 1U << 20, 4, 1, 1500, 512U << 10, 10 * GBIT},
	{"1MiB-x16", 1U << 20, 16, 1, 1500, 512U << 10, 10 * GBIT},
	{"1MiB-x4-9000", 1U << 20, 4, 1, 9000, 512U << 10, 10 * GBIT},
	{"1MiB-x4-2legs", 1U << 20, 4, 2, 1500, 512U << 10, 10 * GBIT},
	{"1MiB-x4-100G", 1U << 20, 4, 1, 9000, 4U << 20, 100 * GBIT},
	{"100KiB-x8", 100U << 10, 8, 1, 1500, 512U << 10, 10 * GBIT},
	{"4KiB-x32", 4096, 32, 1, 1500, 512U << 10, 10 * GBIT},
	{"4KiB-x32-9000", 4096, 32, 1, 9000, 512U << 10, 10 * GBIT},
	{"4KiB-x32-2legs", 4096, 32, 2, 1500, 512U << 10, 10 * GBIT},
	{"4KiB-x32-256K", 4096, 32, 1, 1500, 256U << 10, 10 * GBIT},
	{"4KiB-x32-128K", 4096, 32, 1, 1500, 128U << 10, 10 * GBIT},
	{"4KiB-x32-9000-128K", 4096, 32, 1, 9000, 128U << 10, 10 * GBIT},
	{"4KiB-x32-64K", 4096, 32, 1, 1500, 64U << 10, 10 * GBIT},
	{"16KiB-x8-128K", 16384, 8, 1, 1500, 128U << 10, 10 * GBIT},
	{"1MiB-x4-128K", 1U << 20, 4, 1, 1500, 128U << 10, 10 * GBIT},
	{"1MiB-x16-128K", 1U << 20, 16, 1, 1500, 128U << 10, 10 * GBIT},
	{"1MiB-x4-9000-128K", 1U << 20, 4, 1, 9000, 128U << 10, 10 * GBIT},
	{"1MiB-x4-64K", 1U << 20, 4, 1, 1500, 64U << 10, 10 * GBIT},
	{"1MiB-x4-100G-1M", 1U << 20, 4, 1, 9000, 1U << 20, 100 * GBIT},
};

static const struct load *load;

static void call_again(struct sim *sim, unsigned client)
{
	(void)sim_call(sim, client, load->bytes, 64, 0);
}

struct counts {
	uint64_t got[SIM_CLIENTS_MAX + 1], packets, dropped, latest_ns;
	unsigned downs;
};

static void count(const struct sim *sim, uint64_t since, struct counts *ret)
{
	*ret = (struct counts){};
	for (unsigned i = 0; i < sim->n_calls; i++) {
		const struct sim_call *c = &sim->calls[i];

		if (c->state != SIM_CALL_DONE || c->done_ns < since)
			continue;
		ret->got[c->client] += c->req_len;
		ret->latest_ns = MAX_OF(ret->latest_ns, c->done_ns - c->sent_ns);
	}
	for (unsigned e = 0; e <= sim->cfg.clients; e++)
		ret->downs += sim->ends[e].events[RUDP_PATH_DOWN];
	for (unsigned l = 0; l < sim->cfg.legs; l++) {
		ret->packets += sim->ends[SIM_SERVER].links[l].down_packets;
		ret->dropped += sim->ends[SIM_SERVER].links[l].down_dropped;
	}
}

static void run(const struct load *l, unsigned senders, uint64_t ns, uint64_t seed)
{
	struct sim_config cfg = {.seed = seed,
				 .legs = l->legs,
				 .clients = senders,
				 .bits_per_s = l->bits_per_s,
				 .down_bits_per_s = l->bits_per_s,
				 .down_queue_bytes = l->queue_bytes,
				 .delay_ns = 10 * NSEC_PER_USEC,
				 .bufs = {8192, 512, 64},
				 .mtu = l->mtu,
				 .limits = {.sessions = senders}};
	struct sim *sim = sim_new(&cfg);
	double sum = 0, squares = 0;
	struct counts c;
	uint64_t since;

	load = l;
	sim_connect(sim, NSEC_PER_SEC);
	sim->on_done = call_again;
	since = sim->now;
	for (unsigned e = 1; e <= senders; e++)
		for (unsigned i = 0; i < l->depth; i++)
			call_again(sim, e);
	sim_pass(sim, ns);
	count(sim, since, &c);
	for (unsigned e = 1; e <= senders; e++) {
		sum += (double)c.got[e];
		squares += (double)c.got[e] * (double)c.got[e];
	}
	printf("%-18s %7.1f %% %7.3f %7.3f %% %6u %9.2f ms%s%s\n", l->name,
	       sum * 8e2 / (double)(ns / NSEC_PER_USEC * (l->bits_per_s / 1000000) * l->legs),
	       squares > 0 ? sum * sum / ((double)senders * squares) : 0,
	       c.packets ? (double)c.dropped * 100 / (double)c.packets : 0, c.downs,
	       (double)c.latest_ns / 1e6, sim->fault[0] ? "  " : "", sim->fault);
	fflush(stdout);
	sim_free(sim);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"senders", required_argument, NULL, 'n'},
						{"ms", required_argument, NULL, 'm'},
						{"seed", required_argument, NULL, 's'},
						{}};
	unsigned senders = 64;
	uint64_t ms = 1000, seed = 1;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			senders = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'm')
			ms = strtoull(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (senders == 0 || senders > SIM_CLIENTS_MAX) {
		fprintf(stderr, "rudp_incast: 1 to %d senders\n", SIM_CLIENTS_MAX);
		return 2;
	}
	printf("%u senders         goodput    Jain    loss  failovers  slowest\n", senders);
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		if (optind >= argc || !strcmp(argv[optind], loads[i].name))
			run(&loads[i], senders, ms * NSEC_PER_MSEC, seed);
	return 0;
}
