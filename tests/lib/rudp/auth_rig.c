/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements auth_rig.h. */
#include "tests/lib/rudp/auth_rig.h"

const uint8_t auth_keys[3][RUDP_KEY_BYTES] = {{1}, {2}, {3}};

struct rig *auth;
uint8_t auth_reply[REPLY_MAX];
uint32_t auth_reply_len;

struct datagram_addr auth_addr(unsigned end, unsigned port)
{
	return (struct datagram_addr){{AF_INET, {10, (uint8_t)port, 0, (uint8_t)(1 + end)}}, 7000};
}

const struct datagram_addr auth_victim = {{AF_INET, {10, 1, 0, 99}}, 7000};

static int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	unsigned from = user == &auth->ends[CLIENT] ? CLIENT : SERVER;
	struct hop *h = &auth->hops[auth->n_hops];

	if (rudp_addr_equal(dst, &auth_victim)) {
		auth->spoofed_out += (uint64_t)pkt->hdr_len + pkt->payload_len;
		return 0;
	}
	if (auth->n_hops == QUEUE_MAX)
		return -EAGAIN;
	*h = (struct hop){.to = !from, .port = port, .src = auth_addr(from, port)};
	h->len = (size_t)pkt->hdr_len + pkt->payload_len;
	assert_true(h->len <= PACKET_MAX - 28);
	rudp_ops_copy(h->data, pkt);
	auth->n_hops++;
	return 0;
}

static void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	assert_int_equal(len, sizeof(auth->request));
	assert_memory_equal(buf, auth->request, len);
	free(buf);
	((struct end *)user)->requests++;
	rudp_respond(call, auth_reply, auth_reply_len, NULL);
}

static void op_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			size_t len)
{
	if (status == 0) {
		assert_int_equal(len, auth_reply_len);
		assert_memory_equal(buf, auth_reply, len);
		((struct end *)user)->answers++;
	}
	free(buf);
}

static int op_identify(void *user, const struct datagram_addr *from, const void *hello, size_t len,
		       const struct rudp_proof *proof, struct rudp_peer *ret)
{
	return auth->check ? auth->check(SERVER, proof, ret) : 0;
}

static int op_accept(void *user, struct rudp_session *s, const void *hello, size_t len, void **ret)
{
	((struct end *)user)->accepts++;
	if (len == 2)
		rudp_session_refuse_with(s, "not-you");
	return len == 2 ? -EACCES : 0;
}

static int op_accepted(void *user, struct rudp_session *s)
{
	struct rudp_peer peer = {.proven = false};
	int r = auth->check ? auth->check(CLIENT, rudp_session_proof(s), &peer) : 0;

	rudp_session_set_peer(s, &peer);
	rudp_session_refuse_with(s, peer.word);
	return r;
}

static void op_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	struct end *end = user;
	struct datagram_addr from;

	end->events[e]++;
	if (e != RUDP_SESSION_REFUSED)
		return;
	end->code = code;
	snprintf(end->word, sizeof(end->word), "%s", rudp_session_refusal(s, &from));
}

static const struct rudp_ops ops = {.tx = op_tx,
				    .tx_flush = rudp_ops_flush,
				    .buf_get = rudp_ops_buf_get,
				    .buf_put = rudp_ops_buf_put,
				    .request = op_request,
				    .call_gone = rudp_ops_call_gone,
				    .response = op_response,
				    .sent = rudp_ops_sent,
				    .identify = op_identify,
				    .accept = op_accept,
				    .accepted = op_accepted,
				    .event = op_event};

void auth_end_start(unsigned i)
{
	struct rudp_config *cfg = &auth->cfg[i];

	cfg->identity = i == SERVER ? SERVER_IDENTITY : CLIENT_IDENTITY;
	cfg->epoch = ++auth->ends[i].epoch;
	cfg->seed = 77 * i + cfg->epoch;
	cfg->ops = &ops;
	cfg->user = &auth->ends[i];
	cfg->n_ports = 2;
	cfg->limits.sessions = MAX_OF(cfg->limits.sessions, 8U);
	for (unsigned p = 0; p < 2; p++)
		cfg->ports[p] = (struct rudp_port_info){
			.local = auth_addr(i, p), .prefix_len = 24, .mtu = 1500, .up = true};
	assert_int_equal(rudp_new(cfg, auth->now, &auth->ends[i].r), 0);
}

void auth_key_add(unsigned end, unsigned key)
{
	struct rudp_config *cfg = &auth->cfg[end];

	memcpy(cfg->keys[cfg->n_keys++], auth_keys[key], RUDP_KEY_BYTES);
	if (!cfg->security)
		cfg->security = RUDP_AUTH;
}

void auth_connect(const char *hello)
{
	struct datagram_addr to = auth_addr(SERVER, 0);

	assert_int_equal(rudp_connect(auth->ends[CLIENT].r, &to, 1, hello, strlen(hello), NULL,
				      auth->now, &auth->ends[CLIENT].s),
			 0);
}

int auth_setup(void **state)
{
	auth = calloc(1, sizeof(*auth));
	assert_non_null(auth);
	auth->now = 100 * NSEC_PER_SEC;
	auth_reply_len = 64;
	for (unsigned i = 0; i < sizeof(auth->request); i++)
		auth->request[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

int auth_teardown(void **state)
{
	for (unsigned i = 0; i < 2; i++)
		rudp_free(auth->ends[i].r);
	free(auth);
	return 0;
}

void auth_begin(void)
{
	auth_end_start(SERVER);
	auth_end_start(CLIENT);
	auth_connect("hello");
}

void auth_restart(void)
{
	struct rudp_config cfg[2];

	memcpy(cfg, auth->cfg, sizeof(cfg));
	auth_teardown(NULL);
	auth_setup(NULL);
	memcpy(auth->cfg, cfg, sizeof(cfg));
}

int auth_deliver(const struct hop *h)
{
	uint8_t *copy =
		/* Copy the packet to a separate block, so that the sanitizer detects a read beyond
		 * its end. */
		malloc(h->len ? h->len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, h->data, h->len);
	r = rudp_rx(auth->ends[h->to].r, h->port, &h->src, copy, h->len, auth->now);
	free(copy);
	return r;
}

void auth_turn(void)
{
	static struct hop batch[QUEUE_MAX];
	unsigned n = auth->n_hops;

	memcpy(batch, auth->hops, n * sizeof(batch[0]));
	auth->n_hops = 0;
	auth->now += STEP_NS;
	for (unsigned i = 0; i < n; i++) {
		struct hop *h = &batch[i];
		bool gone = auth->middle && auth->middle(auth, h);

		auth->n_seen++;
		if (!gone)
			auth_deliver(h);
	}
	for (unsigned i = 0; i < 2; i++)
		if (auth->ends[i].r)
			while (rudp_poll(auth->ends[i].r, auth->now))
				;
}

void auth_pass(uint64_t ns)
{
	uint64_t until = auth->now + ns;

	while (auth->now < until) {
		auth_turn();
		if (auth->n_hops == 0) { /* no packet is in flight: advance to the next timer */
			uint64_t d = MIN_OF(rudp_deadline(auth->ends[0].r),
					    rudp_deadline(auth->ends[1].r));

			if (d > auth->now)
				auth->now = MIN_OF(d, until);
		}
	}
}

bool auth_is_up(void)
{
	return rudp_session_is_up(auth->ends[CLIENT].s);
}

void auth_call(void)
{
	assert_int_equal(
		rudp_call_send(auth->ends[CLIENT].s, auth->request, sizeof(auth->request), 0), 0);
}

unsigned auth_sessions(unsigned end)
{
	unsigned n = 0;

	for (struct rudp_session *s = NULL; (s = rudp_session_next(auth->ends[end].r, s));)
		n++;
	return n;
}
