/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processor cost of a packet in rudp: two endpoints in one thread exchange packets through an
 * array, without sockets. Prints ns per packet for sender and receiver, together and separately.
 *
 *	rudp_cpu [none|auth|encrypt]
 */
#include "tests/lib/rudp/rudp_ops.h"
#include <stdio.h>
#include <string.h>

#define WIRE_MAX 4096
#define BURST 64

struct frame {
	size_t len;
	uint8_t data[1600];
};
struct end {
	struct rudp *r;
	struct rudp_session *s;
	struct datagram_addr addr;
	struct frame *out; /* ring */
	unsigned head, tail;
	uint64_t tx_ns, rx_ns, packets;
};

static uint8_t memory[1 << 21];
static struct end ends[2];
static unsigned answered, sent_back;
static void *pool[64]; /* buffers for whole messages, as in the application: no page faults */
static unsigned pooled;

static void *buf_take(void)
{
	return pooled ? pool[--pooled] : malloc(RUDP_MSG_BYTES_MAX);
}

static void buf_give(void *buf)
{
	if (buf && pooled < ARRAY_SIZE(pool))
		pool[pooled++] = buf;
	else
		free(buf);
}

static int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	struct end *e = user;
	struct frame *f = &e->out[e->tail % WIRE_MAX];

	if (e->tail - e->head == WIRE_MAX)
		return -EAGAIN;
	f->len = rudp_ops_copy(f->data, pkt);
	e->tail++;
	e->packets++;
	return 0;
}

static void *op_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			size_t len)
{
	return buf_take();
}

static void op_buf_put(void *user, struct rudp_session *s, void *buf)
{
	buf_give(buf);
}

static void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	uint32_t resp_len;

	memcpy(&resp_len, buf, sizeof(resp_len));
	buf_give(buf);
	rudp_respond(call, memory, resp_len, NULL);
}

static void op_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			size_t len)
{
	buf_give(buf);
	answered++;
}

static void op_sent(void *user, struct rudp_session *s, void *token)
{
	sent_back++;
}

static const struct rudp_ops ops = {.tx = op_tx,
				    .tx_flush = rudp_ops_flush,
				    .buf_get = op_buf_get,
				    .buf_put = op_buf_put,
				    .request = op_request,
				    .call_gone = rudp_ops_call_gone,
				    .response = op_response,
				    .sent = op_sent,
				    .accept = rudp_ops_accept};

static void turn(struct end *e, struct end *peer)
{
	uint64_t t0 = clock_now_ns(), t1;
	unsigned n = 0;

	while (peer->head != peer->tail && n++ < BURST) {
		struct frame *f = &peer->out[peer->head++ % WIRE_MAX];

		rudp_rx(e->r, 0, &peer->addr, f->data, f->len, t0);
	}
	t1 = clock_now_ns();
	rudp_poll(e->r, t1);
	e->rx_ns += t1 - t0;
	e->tx_ns += clock_now_ns() - t1;
}

static void measure(const char *name, uint32_t req_len, uint32_t resp_len, unsigned depth,
		    unsigned total)
{
	uint64_t start = clock_now_ns(), packets = ends[0].packets + ends[1].packets, ns;
	unsigned made = 0, before = answered;

	for (unsigned i = 0; i < 2; i++)
		ends[i].rx_ns = ends[i].tx_ns = 0;
	memcpy(memory, &resp_len, sizeof(resp_len));
	while (answered - before < total) {
		while (made < total && made - (answered - before) < depth)
			rudp_call_send(ends[0].s, memory, req_len, made++);
		turn(&ends[0], &ends[1]);
		turn(&ends[1], &ends[0]);
	}
	ns = clock_now_ns() - start;
	packets = ends[0].packets + ends[1].packets - packets;
	printf("%-24s %9.0f calls/s %6.2f Gb/s, ns per packet: %4.0f all, client %4.0f rx %4.0f "
	       "tx, server %4.0f rx %4.0f tx\n",
	       name, total * 1e9 / (double)ns,
	       (double)(req_len + resp_len) * total * 8 / (double)ns, (double)ns / (double)packets,
	       (double)ends[0].rx_ns / (double)packets, (double)ends[0].tx_ns / (double)packets,
	       (double)ends[1].rx_ns / (double)packets, (double)ends[1].tx_ns / (double)packets);
}

static const char *const securities[RUDP_SECURITY_MAX] = {"none", "auth", "encrypt"};

int main(int argc, char **argv)
{
	unsigned security = RUDP_SECURITY_NONE;

	while (argc > 1 && security < RUDP_SECURITY_MAX && strcmp(argv[1], securities[security]))
		security++;
	if (security == RUDP_SECURITY_MAX || argc > 2) {
		fprintf(stderr, "usage: rudp_cpu [none|auth|encrypt]\n");
		return 2;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct end *e = &ends[i];
		struct rudp_config cfg = {.identity = 1 + i,
					  .epoch = 1,
					  .seed = i,
					  .ops = &ops,
					  .user = e,
					  .security = security,
					  .n_keys = security ? 1 : 0,
					  .keys = {{1, 2, 3}},
					  .n_ports = 1};

		e->addr = (struct datagram_addr){{AF_INET, {10, 0, 0, (uint8_t)(1 + i)}}, 7000};
		e->out = calloc(WIRE_MAX, sizeof(*e->out));
		cfg.ports[0] = (struct rudp_port_info){
			.local = e->addr, .prefix_len = 24, .mtu = 1500, .up = true};
		if (!e->out || rudp_new(&cfg, clock_now_ns(), &e->r))
			return 1;
	}
	if (rudp_connect(ends[0].r, &ends[1].addr, 1, NULL, 0, NULL, clock_now_ns(), &ends[0].s))
		return 1;
	while (!rudp_session_is_up(ends[0].s)) {
		turn(&ends[0], &ends[1]);
		turn(&ends[1], &ends[0]);
	}
	measure("1 MiB requests x 8", 1 << 20, 64, 8, 4000);
	measure("1 MiB responses x 8", 64, 1 << 20, 8, 4000);
	measure("4 KiB responses x 1", 64, 4096, 1, 200000);
	measure("4 KiB responses x 32", 64, 4096, 32, 400000);
	measure("64 B each way x 32", 64, 64, 32, 1000000);
	while (pooled)
		free(pool[--pooled]);
	for (unsigned i = 0; i < 2; i++) {
		rudp_free(ends[i].r);
		free(ends[i].out);
	}
	return 0;
}
