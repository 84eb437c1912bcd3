/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of idle sessions: a server with thousands of them and their clients, in one thread under
 * a virtual clock, exchanging only keepalives. Prints the server's share of a core and the memory
 * of a session's two ends.
 *
 *	rudp_idle [--sessions N] [--seconds N] [--auth]
 */
#include "tests/lib/rudp/rudp_ops.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_MAX 65536U
#define TURN_NS NSEC_PER_MSEC

struct frame {
	uint16_t len;
	uint8_t data[1600];
};
struct end {
	struct rudp *r;
	struct datagram_addr addr;
	struct frame *in; /* ring */
	unsigned head, tail;
	uint64_t packets, spent_ns, up;
};

static struct end ends[2]; /* server, clients */

static int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	struct end *to = user == &ends[0] ? &ends[1] : &ends[0];
	struct frame *f = &to->in[to->tail % QUEUE_MAX];

	if (to->tail - to->head == QUEUE_MAX)
		return -EAGAIN;
	f->len = (uint16_t)rudp_ops_copy(f->data, pkt);
	to->tail++;
	to->packets++;
	return 0;
}

static void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	free(buf);
	rudp_respond(call, "", 1, NULL);
}

static void op_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	struct end *end = user;

	end->up += e == RUDP_SESSION_UP;
	if (e == RUDP_SESSION_UP && end == &ends[1]) /* one call, as a mount makes when it starts */
		(void)rudp_call_send(s, "hello", 5, 0);
}

static const struct rudp_ops ops = {.tx = op_tx,
				    .tx_flush = rudp_ops_flush,
				    .buf_get = rudp_ops_buf_get,
				    .buf_put = rudp_ops_buf_put,
				    .request = op_request,
				    .call_gone = rudp_ops_call_gone,
				    .response = rudp_ops_response,
				    .sent = rudp_ops_sent,
				    .accept = rudp_ops_accept,
				    .event = op_event};

/* This thread's time only. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void turn(struct end *e, const struct end *peer, uint64_t now)
{
	uint64_t start;

	if (e->head == e->tail && now < rudp_deadline(e->r))
		return;
	start = cpu_ns();
	while (e->head != e->tail) {
		struct frame *f = &e->in[e->head++ % QUEUE_MAX];

		(void)rudp_rx(e->r, 0, &peer->addr, f->data, f->len, now);
	}
	for (unsigned i = 0; i < 64 && rudp_poll(e->r, now); i++)
		;
	e->spent_ns += cpu_ns() - start;
}

static uint64_t resident_bytes(void)
{
	unsigned long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void end_new(unsigned i, unsigned sessions, bool auth, uint64_t now)
{
	struct end *e = &ends[i];
	struct rudp_config cfg = {.identity = 1 + i,
				  .epoch = 1,
				  .seed = 7 + i,
				  .limits = {.sessions = sessions},
				  .ops = &ops,
				  .user = e,
				  .n_ports = 1};

	if (auth) {
		cfg.security = RUDP_AUTH;
		cfg.n_keys = 1;
	}
	e->addr = (struct datagram_addr){{AF_INET, {10, 0, 0, (uint8_t)(1 + i)}}, 7000};
	e->in = calloc(QUEUE_MAX, sizeof(*e->in));
	cfg.ports[0] = (struct rudp_port_info){
		.local = e->addr, .prefix_len = 24, .mtu = 1500, .up = true};
	if (!e->in || rudp_new(&cfg, now, &e->r))
		abort();
}

static void measure(unsigned sessions, unsigned seconds, bool auth)
{
	uint64_t now = 10 * NSEC_PER_SEC, until, before, packets;
	unsigned made = 0;

	for (unsigned i = 0; i < 2; i++)
		end_new(i, sessions, auth, now);
	memset(ends[0].in, 1,
	       QUEUE_MAX * sizeof(*ends[0].in)); /* touch it now, so that it is not counted below */
	memset(ends[1].in, 1, QUEUE_MAX * sizeof(*ends[1].in));
	before = resident_bytes();
	while (ends[0].up < sessions || ends[1].up < sessions) {
		struct rudp_session *s;

		for (unsigned i = 0; i < 8 && made < sessions; i++, made++)
			if (rudp_connect(ends[1].r, &ends[0].addr, 1, NULL, 0, NULL, now, &s))
				abort();
		now += TURN_NS;
		turn(&ends[1], &ends[0], now);
		turn(&ends[0], &ends[1], now);
		if (now > 300 * NSEC_PER_SEC) {
			fprintf(stderr, "rudp_idle: only %llu of %u sessions came up\n",
				(unsigned long long)ends[1].up, sessions);
			exit(1);
		}
	}
	ends[0].spent_ns = 0;
	packets = ends[0].packets;
	for (until = now + seconds * NSEC_PER_SEC; now < until; now += TURN_NS) {
		turn(&ends[1], &ends[0], now);
		turn(&ends[0], &ends[1], now);
	}
	printf("%u idle sessions%s: %.3f %% of a core, %.0f packets a second, %.1f KiB for the two "
	       "ends of each\n",
	       sessions, auth ? " (auth)" : "",
	       (double)ends[0].spent_ns / (seconds * (double)NSEC_PER_SEC) * 100,
	       (double)(ends[0].packets - packets) / seconds,
	       (double)(resident_bytes() - before) / 1024 / sessions);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"sessions", required_argument, NULL, 'n'},
						{"seconds", required_argument, NULL, 's'},
						{"auth", no_argument, NULL, 'a'},
						{}};
	unsigned sessions = 10000, seconds = 10;
	bool auth = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			sessions = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 's')
			seconds = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'a')
			auth = true;
		else
			return 2;
	}
	if (sessions == 0 || seconds == 0) {
		fprintf(stderr, "rudp_idle: --sessions and --seconds are at least 1\n");
		return 2;
	}
	measure(sessions, seconds, auth);
	return 0;
}
