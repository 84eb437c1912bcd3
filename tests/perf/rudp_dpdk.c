/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rudp over DPDK between two processes with shared memory (memif: no NIC, no kernel), client and
 * server on one core each: requests of 32 bytes per second and core, and their latency. For the
 * plain forwarding rate of the device compare testpmd; see part dpdk of run.
 *
 *	rudp_dpdk [--rounds N] [--ms N] [--in-flight N]
 */
#include "tests/perf/rudp_app.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL_BYTES 32U
#define SAMPLES_MAX (1U << 20)
#define ROUNDS_MAX 64U
#define IP_CLIENT "10.99.9.1/24"
#define IP_SERVER "10.99.9.2/24"
#define SOCKET "@plenum-perf-memif" /* abstract: leaves no file */

struct options {
	unsigned rounds, round_ms, in_flight;
};

static struct app *end_new(bool is_server)
{
	struct app_config c = {.transport = LAUNCH_DPDK,
			       .ip = is_server ? IP_SERVER : IP_CLIENT,
			       .ifname = "",
			       .device = is_server ? "net_memif0,role=server,socket=" SOCKET
						   : "net_memif0,role=client,socket=" SOCKET,
			       .mtu = 1500,
			       .core = is_server,
			       .is_server = is_server};
	struct app *a = app_new(&c);

	a->request_bytes = SMALL_BYTES;
	return a;
}

static void server(int ready)
{
	struct app *a = end_new(true);

	if (write(ready, "r", 1) != 1)
		app_die("ready");
	for (;;)
		app_turn(a);
}

static unsigned calls_one(struct app *a, uint64_t round_ns, uint32_t *samples)
{
	uint64_t start = clock_now_ns(), t0 = start, t1;
	unsigned n = 0, before;

	while (n < SAMPLES_MAX && t0 - start < round_ns) {
		before = a->done;
		app_ask(a, 0, SMALL_BYTES);
		(void)rudp_poll(a->rudp, t0);
		while (a->done == before)
			app_turn(a);
		t1 = clock_now_ns();
		samples[n++] = (uint32_t)(t1 - t0);
		t0 = t1;
	}
	return n;
}

/* Requests per second with so many in flight. */
static double calls_many(struct app *a, unsigned in_flight, uint64_t round_ns)
{
	unsigned asked = 0, before = a->done;
	uint64_t start = clock_now_ns();

	do {
		while (asked - (a->done - before) < in_flight)
			app_ask(a, asked++ % in_flight, SMALL_BYTES);
		app_turn(a);
	} while (a->now_ns - start < round_ns);
	while (a->done - before < asked)
		app_turn(a);
	return asked / ((double)(clock_now_ns() - start) / 1e9);
}

static void client(const struct options *o)
{
	double p50[ROUNDS_MAX], p99[ROUNDS_MAX], mean[ROUNDS_MAX], rate[ROUNDS_MAX];
	uint32_t *samples = malloc(SAMPLES_MAX * sizeof(*samples));
	struct app *a = end_new(false);
	uint64_t ns = o->round_ms * NSEC_PER_MSEC;

	if (!samples)
		app_die("memory");
	app_connect(a, IP_SERVER);
	(void)calls_many(a, o->in_flight, 50 * NSEC_PER_MSEC); /* warm up */
	for (unsigned i = 0; i < o->rounds; i++) {
		unsigned n = calls_one(a, ns, samples);

		mean[i] = 0;
		for (unsigned j = 0; j < n; j++)
			mean[i] += samples[j] / 1e3 / n;
		qsort(samples, n, sizeof(*samples), app_compare_u32);
		p50[i] = samples[n / 2] / 1e3;
		p99[i] = samples[n * 99ULL / 100] / 1e3;
		rate[i] = calls_many(a, o->in_flight, ns);
	}
	printf("%-8s %16s %12s %16s %12s   (memif, requests and answers of %u bytes, %u "
	       "outstanding)\n",
	       "", "one: p50 us", "p99 us", "requests/s", "one: mean us", SMALL_BYTES,
	       o->in_flight);
	printf("%-8s %16.2f %12.2f %16.0f %12.2f\n", "rudp", app_median(p50, o->rounds),
	       app_median(p99, o->rounds), app_median(rate, o->rounds),
	       app_median(mean, o->rounds));
	if (a->failed)
		printf("%llu calls failed\n", (unsigned long long)a->failed);
	free(samples);
}

static unsigned number(const char *text, const char *name, unsigned least, unsigned most)
{
	char *end = NULL;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || *end || v < least || v > most) {
		fprintf(stderr, "%s takes a number from %u to %u\n", name, least, most);
		exit(2);
	}
	return (unsigned)v;
}

static struct options options_parse(char **argv)
{
	struct options o = {.rounds = 5, .round_ms = 300, .in_flight = 64};

	for (argv++; *argv; argv += 2) {
		if (strcmp(*argv, "--rounds") == 0)
			o.rounds = number(argv[1], *argv, 1, ROUNDS_MAX);
		else if (strcmp(*argv, "--ms") == 0)
			o.round_ms = number(argv[1], *argv, 10, 60000);
		else if (strcmp(*argv, "--in-flight") == 0)
			o.in_flight = number(argv[1], *argv, 1, APP_IN_FLIGHT_MAX);
		else {
			fprintf(stderr, "usage: rudp_dpdk [--rounds N] [--ms N] [--in-flight N]\n");
			exit(2);
		}
	}
	return o;
}

int main(int argc, char **argv)
{
	struct options o = options_parse(argv);
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) != 0)
		app_die("pipe");
	pid = fork();
	if (pid < 0)
		app_die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server(ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	client(&o);
	(void)kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
