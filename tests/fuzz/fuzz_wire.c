/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets from the network: the input's packets are inserted between those of a client and a server
 * in session. Input: records of an operation byte, two bytes of length and a packet. If the
 * operation says so, the packet gets the right session number, because random numbers would never
 * get beyond the handshake. If the first operation says so, both ends have a key; packets then come
 * as from a stranger, or sealed as by the peer, so that code behind the tag is reached too. Another
 * option leaves the client connecting, to test answers to its HELLO.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/rudp/rudp_ops.h"

#define OP_CLIENT 0x01 /* the packet is for the client, else for the server */
#define OP_NUMBER 0x02 /* put the right session number in */
#define OP_PORT 0x04   /* it comes in by the second port */
#define OP_TALK 0x08   /* then both ends run */
#define OP_CALL 0x10   /* the client makes a call before */
#define OP_TIME 0x20   /* and some time passes */
#define OP_BIG 0x40    /* that call is one that waits for a grant */
#define OP_LINK 0x80   /* the link of the port changes state */
/* In the high byte of a length. First record: both ends have a key; later: the packet is sealed as
 * the peer's. */
#define LEN_SEAL 0x80
#define LEN_KEYS 0x20	    /* no packet: one end's keys change, as its bytes say */
#define LEN_CONNECTING 0x40 /* first record: the server is silent until OP_TALK */
#define QUEUE_MAX 256
#define PACKET_MAX 1500
#define CALL_BYTES 3000
#define BIG_BYTES 20000

struct queued {
	unsigned port;
	size_t len;
	uint8_t data[PACKET_MAX];
};
struct end {
	struct rudp *r;
	struct rudp_session *s;
	struct queued queue[QUEUE_MAX]; /* packets for it */
	unsigned n_queued;
	uint8_t number[8]; /* in packets to it */
};

static struct end ends[2]; /* server, client */
static uint8_t memory[BIG_BYTES];
static uint64_t now, cookie;
static bool link_up[2];

static struct datagram_addr addr_of(unsigned end, unsigned port)
{
	return (struct datagram_addr){{AF_INET, {10, (uint8_t)port, 0, (uint8_t)(1 + end)}}, 7000};
}

static int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	struct end *to = user == &ends[0] ? &ends[1] : &ends[0];
	struct queued *q = &to->queue[to->n_queued];

	if (to->n_queued == QUEUE_MAX)
		return -EAGAIN;
	q->port = port;
	q->len = (size_t)pkt->hdr_len + pkt->payload_len;
	if (q->len > PACKET_MAX)
		abort();
	rudp_ops_copy(q->data, pkt);
	if ((q->data[1] & 0x0f) >= WIRE_CLOSE)
		memcpy(to->number, q->data + 4, sizeof(to->number));
	to->n_queued++;
	return 0;
}

static void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	free(buf);
	rudp_respond(call, memory, len % CALL_BYTES, NULL);
}

static int op_accept(void *user, struct rudp_session *s, const void *hello, size_t len, void **ret)
{
	return len == 3 ? -EACCES : 0;
}

static const struct rudp_ops ops = {.tx = op_tx,
				    .tx_flush = rudp_ops_flush,
				    .buf_get = rudp_ops_buf_get,
				    .buf_put = rudp_ops_buf_put,
				    .request = op_request,
				    .call_gone = rudp_ops_call_gone,
				    .response = rudp_ops_response,
				    .sent = rudp_ops_sent,
				    .accept = op_accept};

static void talk(unsigned turns)
{
	for (unsigned i = 0; i < 2 * turns; i++) {
		struct end *e = &ends[i % 2];

		now += 10 * NSEC_PER_USEC;
		for (unsigned k = 0; k < e->n_queued; k++) {
			struct queued *q = &e->queue[k];
			struct datagram_addr src = addr_of(!(i % 2), q->port);

			if (link_up[q->port])
				rudp_rx(e->r, q->port, &src, q->data, q->len, now);
		}
		e->n_queued = 0;
		rudp_poll(e->r, now);
	}
}

static bool keyed, connecting, taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static void start(void)
{
	now = NSEC_PER_SEC;
	cookie = 0;
	link_up[0] = link_up[1] = true;
	for (unsigned i = 0; i < 2; i++) {
		struct rudp_config cfg = {.identity = 1 + i,
					  .epoch = 1,
					  .seed = i,
					  .ops = &ops,
					  .user = &ends[i],
					  .n_ports = 2,
					  .security = keyed ? RUDP_AUTH + i : 0,
					  .n_keys = keyed ? 1 : 0,
					  .keys = {{7}},
					  .limits = {.sessions = 4, .calls_per_session = 4}};

		for (unsigned p = 0; p < 2; p++)
			cfg.ports[p] = (struct rudp_port_info){
				.local = addr_of(i, p), .prefix_len = 24, .mtu = 1500, .up = true};
		ends[i].n_queued = 0;
		if (rudp_new(&cfg, now, &ends[i].r))
			abort();
	}
	for (unsigned p = 0; p < 1; p++) {
		struct datagram_addr to = addr_of(0, p);

		if (rudp_connect(ends[1].r, &to, 1, "fuzz", 4, NULL, now, &ends[1].s))
			abort();
	}
	if (!connecting) {
		talk(6);
		return;
	}
	rudp_poll(ends[1].r, now);
	ends[0].n_queued = 0;
	wire_put64(ends[1].number, ends[1].s->number);
}

/* Sets the fields without which the rest of a packet is ignored. */
static void make_right(unsigned end, uint8_t *data, size_t len)
{
	const struct rudp_session *s = rudp_session_next(ends[end].r, NULL);
	unsigned type = data[1] & 0x0f;

	memcpy(data + 4, ends[end].number, sizeof(ends[end].number));
	if (connecting && s && s->is_client && s->handshake && len >= WIRE_COMMON_BYTES &&
	    (type == WIRE_ACCEPT || type == WIRE_REFUSE)) {
		data[WIRE_OFF_PATH] = s->handshake->path;
		wire_put32(data + WIRE_OFF_PN, s->handshake->stamp);
	}
}

/* Seals it as the other end would, whatever its content. */
static size_t seal(unsigned end, uint8_t *data, size_t len)
{
	struct rudp_session *from = rudp_session_next(ends[!end].r, NULL);
	struct rudp_session *to = rudp_session_next(ends[end].r, NULL);
	struct datagram in = {.payload = NULL}, out;
	uint8_t room[PACKET_MAX], path = data[WIRE_OFF_PATH] % WIRE_PATHS_MAX;
	unsigned counter = RUDP_SECURE_CONTROL, type = data[1] & 0x0f;
	uint64_t number, kept;
	int r;

	if (type == WIRE_RESET && to && len >= WIRE_COMMON_BYTES + WIRE_TOKEN_BYTES) {
		memcpy(data + WIRE_COMMON_BYTES, to->peer_token, WIRE_TOKEN_BYTES);
		wire_put64(data + 4, to->peer_number);
		return len;
	}
	if (!from || !to || !from->secure || !to->secure)
		return 0;
	number = rudp_pn_expand(wire_get32(data + WIRE_OFF_PN), to->secure->seen_top + 1);
	if (type == WIRE_DATA || type == WIRE_PING || type == WIRE_GRANT) {
		counter = path;
		number = rudp_pn_expand(wire_get32(data + WIRE_OFF_PN),
					to->paths[path].acks.top + 1);
	}
	kept = from->secure->tx_next[counter];
	from->secure->tx_next[counter] = 0;
	in.hdr_len = (uint16_t)MIN_OF(len, (size_t)WIRE_DATA_BYTES);
	in.payload_len = (uint16_t)(len - in.hdr_len);
	in.payload = in.payload_len ? data + in.hdr_len : NULL;
	memcpy(in.hdr, data, in.hdr_len);
	r = rudp_secure_seal(from->secure, counter, number, &in, room, &out);
	from->secure->tx_next[counter] = kept;
	if (r)
		return 0;
	if (out.payload_len)
		memmove(data + out.hdr_len, out.payload, out.payload_len);
	memcpy(data, out.hdr, out.hdr_len);
	return (size_t)out.hdr_len + out.payload_len;
}

/* Each byte is a key; both ends begin with key 7. */
static void change_keys(unsigned end, const uint8_t *data, size_t len)
{
	uint8_t keys[RUDP_KEYS_MAX + 1][RUDP_KEY_BYTES] = {{0}};
	unsigned n = (unsigned)MIN_OF(len, ARRAY_SIZE(keys));

	for (unsigned i = 0; i < n; i++)
		keys[i][0] = data[i];
	taken = rudp_set_keys(ends[end].r, keys, n, now) >= 0;
	talk(2);
}

static void packet(unsigned op, bool sealed, const uint8_t *data, size_t len)
{
	unsigned end = op & OP_CLIENT ? 1 : 0, port = op & OP_PORT ? 1 : 0;
	struct datagram_addr src = addr_of(!end, port);
	uint8_t *copy = malloc(len + RUDP_SECURE_BYTES),
		*exact; /* the sanitizer detects a read beyond `exact` */

	if (!copy)
		return;
	memcpy(copy, data, len);
	if (op & OP_NUMBER && len >= 12)
		make_right(end, copy, len);
	if (op & OP_CALL &&
	    rudp_call_send(ends[1].s, memory, op & OP_BIG ? BIG_BYTES : CALL_BYTES, ++cookie) == 0)
		rudp_poll(ends[1].r, now);
	if (op & OP_LINK) {
		link_up[port] = !link_up[port];
		rudp_port_set_up(ends[end].r, port, link_up[port], now);
	}
	if (keyed && sealed && len >= WIRE_COMMON_BYTES && len <= PACKET_MAX - 64)
		len = seal(end, copy, len);
	exact = malloc(len ? len : 1);
	if (exact) {
		memcpy(exact, copy, len);
		/* A record without a packet only performs its operation. */
		taken = rudp_rx(ends[end].r, port, &src, exact, len, now) == 0 || len == 0;
	}
	free(exact);
	free(copy);
	if (op & OP_TIME)
		now += 3 * NSEC_PER_MSEC;
	if (op & OP_TALK)
		talk(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	keyed = size > 1 && data[1] & LEN_SEAL;
	connecting = size > 1 && data[1] & LEN_CONNECTING;
	taken = false;
	start();
	while (size >= 3) {
		size_t len = MIN_OF((size_t)wire_get16(data + 1) & 0x1fff, size - 3);

		if (data[1] & LEN_KEYS)
			change_keys(data[0] & OP_CLIENT ? 1 : 0, data + 3, len);
		else
			packet(data[0], data[1] & LEN_SEAL, data + 3, len);
		data += 3 + len;
		size -= 3 + len;
	}
	talk(4);
	for (unsigned i = 0; i < 2; i++) {
		for (struct rudp_session *s; (s = rudp_session_next(ends[i].r, NULL));)
			rudp_session_close(s, now);
		ends[i].r = rudp_free(ends[i].r);
	}
	return 0;
}
