/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes and decodes all types of packets. It has no state, so one fuzzer reaches all decoders of
 * input from the network.
 */
#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/base.h"

size_t wire_put_hello(uint8_t *p, const struct wire_common *c, const struct wire_hello *h)
{
	wire_put_common(p, c);
	wire_put64(p + 16, h->client_number);
	wire_put64(p + 24, h->cookie);
	p[32] = (uint8_t)(h->cipher | (h->identity ? WIRE_CIPHER_IDENTITY : 0));
	p[33] = 0;
	wire_put16(p + 34, h->body_len);
	return WIRE_HELLO_BYTES;
}

size_t wire_put_hello_body(uint8_t *p, const struct wire_hello_body *b)
{
	wire_put64(p, b->identity);
	wire_put64(p + 8, b->former_number);
	wire_put32(p + 16, b->epoch);
	wire_put16(p + 20, b->mtu);
	wire_put16(p + 22, b->slots);
	memcpy(p + 24, b->token, WIRE_TOKEN_BYTES);
	wire_put16(p + 40, b->app_len);
	p[42] = b->security;
	p[43] = 0;
	return WIRE_HELLO_BODY_BYTES;
}

size_t wire_put_challenge(uint8_t *p, const struct wire_common *c, uint64_t cookie,
			  const uint8_t *key)
{
	wire_put_common(p, c);
	wire_put64(p + 16, cookie);
	if (!key)
		return WIRE_CHALLENGE_BYTES;
	memcpy(p + WIRE_CHALLENGE_BYTES, key, WIRE_KEY_BYTES);
	return WIRE_CHALLENGE_KEY_BYTES;
}

size_t wire_put_certificate(uint8_t *p, const uint8_t *certificate, size_t len)
{
	wire_put16(p, (uint16_t)len);
	memcpy(p + WIRE_CERTIFICATE_HEAD_BYTES, certificate, len);
	return WIRE_CERTIFICATE_HEAD_BYTES + len;
}

size_t wire_put_answer(uint8_t *p, const struct wire_common *c, const struct wire_answer *a)
{
	wire_put_common(p, c);
	p[16] = (uint8_t)(a->cipher | (a->identity ? WIRE_CIPHER_IDENTITY : 0));
	p[17] = 0;
	wire_put16(p + 18, a->body_len);
	return WIRE_ANSWER_BYTES;
}

size_t wire_put_accept_body(uint8_t *p, const struct wire_accept *a)
{
	wire_put64(p, a->server_number);
	wire_put64(p + 8, a->identity);
	memcpy(p + 16, a->token, WIRE_TOKEN_BYTES);
	wire_put32(p + 32, a->epoch);
	wire_put32(p + 36, a->credit);
	wire_put16(p + 40, a->mtu);
	wire_put16(p + 42, a->slots);
	p[44] = a->n_addrs;
	p[45] = a->security;
	wire_put16(p + 46, 0);
	return WIRE_ACCEPT_BODY_BYTES;
}

size_t wire_put_addr(uint8_t *p, const struct wire_addr *a)
{
	p[0] = a->family;
	p[1] = a->prefix_len;
	wire_put16(p + 2, a->port);
	wire_put32(p + 4, a->label);
	memcpy(p + 8, a->ip, sizeof(a->ip));
	return WIRE_ADDR_BYTES;
}

size_t wire_put_refuse_body(uint8_t *p, int code, const char *text)
{
	size_t len = strnlen(text, WIRE_REFUSE_TEXT_MAX);

	wire_put32(p, (uint32_t)-code);
	memcpy(p + WIRE_REFUSE_BODY_BYTES, text, len);
	return WIRE_REFUSE_BODY_BYTES + len;
}

size_t wire_put_join(uint8_t *p, const struct wire_common *c, const struct wire_join *j)
{
	wire_put_common(p, c);
	wire_put64(p + 16, j->cookie);
	wire_put32(p + 24, j->stamp);
	wire_put32(p + 28, 0);
	return WIRE_JOIN_BYTES;
}

size_t wire_put_report(uint8_t *p, const struct wire_common *c, const struct wire_report *w)
{
	wire_put_common(p, c);
	wire_put32(p + WIRE_COMMON_BYTES, w->top);
	wire_put32(p + WIRE_COMMON_BYTES + 4, w->arrived);
	wire_put32(p + WIRE_COMMON_BYTES + 8, w->probes_lost);
	wire_put32(p + WIRE_COMMON_BYTES + 12, w->srtt_us);
	return WIRE_REPORT_BYTES;
}

size_t wire_put_label(uint8_t *p, const struct wire_common *c, uint32_t label)
{
	wire_put_common(p, c);
	wire_put32(p + WIRE_COMMON_BYTES, label);
	return WIRE_LABEL_BYTES;
}

size_t wire_put_address(uint8_t *p, const struct wire_common *c, uint8_t index, const uint8_t *addr)
{
	wire_put_common(p, c);
	wire_put32(p + WIRE_COMMON_BYTES, (uint32_t)index << 24);
	memcpy(p + WIRE_COMMON_BYTES + 4, addr, WIRE_ADDR_BYTES);
	return WIRE_ADDRESS_BYTES;
}

size_t wire_put_source(uint8_t *p, const struct wire_common *c, const struct wire_source *w)
{
	wire_put_common(p, c);
	wire_put32(p + WIRE_COMMON_BYTES, (uint32_t)w->index << 24 | w->port);
	wire_put32(p + WIRE_COMMON_BYTES + 4, 0);
	return WIRE_SOURCE_BYTES;
}

size_t wire_put_share(uint8_t *p, const struct wire_common *c, uint32_t bytes)
{
	wire_put_common(p, c);
	wire_put32(p + WIRE_COMMON_BYTES, bytes);
	return WIRE_SHARE_BYTES;
}

size_t wire_put_versions(uint8_t *ret, const uint8_t *p)
{
	ret[0] = WIRE_MAGIC;
	ret[1] = WIRE_VERSIONS_OF_ANY << 4 | WIRE_VERSIONS;
	ret[2] = p[2];
	ret[3] = 0;
	memcpy(ret + 4, p + 16, 8); /* the number of the client's session */
	memcpy(ret + WIRE_OFF_PN, p + WIRE_OFF_PN, 4);
	ret[16] = WIRE_VERSION;
	return WIRE_VERSIONS_BYTES;
}

size_t wire_put_grants(uint8_t *p, const struct wire_common *c, const struct wire_grant *g,
		       unsigned n)
{
	size_t at = wire_put_common(p, c);

	for (unsigned i = 0; i < n; i++, at += WIRE_GRANT_BYTES) {
		wire_put16(p + at, g[i].slot);
		wire_put16(p + at + 2, g[i].again);
		wire_put32(p + at + 4, g[i].gen);
	}
	return at;
}

size_t wire_put_ack_block(uint8_t *p, const struct wire_ack *a)
{
	p[0] = a->path;
	p[1] = a->gap;
	wire_put16(p + 2, a->delay_us);
	wire_put32(p + 4, a->top);
	wire_put32(p + 8, a->credit);
	for (unsigned i = 0; i < a->n_words; i++)
		wire_put64(p + WIRE_ACK_BLOCK_BYTES + 8 * i, a->words[i]);
	return WIRE_ACK_BLOCK_BYTES + 8U * a->n_words;
}

int wire_get_hello(const uint8_t *p, size_t len, struct wire_hello *ret)
{
	if (len < WIRE_HELLO_BYTES)
		return -EBADMSG;
	ret->client_number = wire_get64(p + 16);
	ret->cookie = wire_get64(p + 24);
	ret->cipher = p[32] & (uint8_t)~WIRE_CIPHER_IDENTITY;
	ret->identity = p[32] & WIRE_CIPHER_IDENTITY;
	ret->body_len = wire_get16(p + 34);
	ret->body = p + WIRE_HELLO_BYTES;
	return ret->client_number && len == WIRE_HELLO_BYTES + (size_t)ret->body_len ? 0 : -EBADMSG;
}

int wire_get_hello_body(const uint8_t *p, size_t len, struct wire_hello_body *ret)
{
	if (len < WIRE_HELLO_BODY_BYTES)
		return -EBADMSG;
	ret->identity = wire_get64(p);
	ret->former_number = wire_get64(p + 8);
	ret->epoch = wire_get32(p + 16);
	ret->mtu = wire_get16(p + 20);
	ret->slots = wire_get16(p + 22);
	memcpy(ret->token, p + 24, WIRE_TOKEN_BYTES);
	ret->app_len = wire_get16(p + 40);
	ret->security = p[42];
	ret->app = p + WIRE_HELLO_BODY_BYTES;
	if (ret->app_len > WIRE_HELLO_APP_MAX || ret->slots == 0 || ret->mtu < 1280 ||
	    len != WIRE_HELLO_BODY_BYTES + (size_t)ret->app_len)
		return -EBADMSG;
	return 0;
}

int wire_get_challenge(const uint8_t *p, size_t len, uint64_t *ret_cookie, const uint8_t **ret_key)
{
	if (len != WIRE_CHALLENGE_BYTES && len != WIRE_CHALLENGE_KEY_BYTES)
		return -EBADMSG;
	*ret_cookie = wire_get64(p + 16);
	*ret_key = len == WIRE_CHALLENGE_KEY_BYTES ? p + WIRE_CHALLENGE_BYTES : NULL;
	return 0;
}

int wire_get_certificate(const uint8_t *p, size_t len, const uint8_t **ret, size_t *ret_len)
{
	size_t n;

	if (len < WIRE_CERTIFICATE_HEAD_BYTES)
		return -EBADMSG;
	n = wire_get16(p);
	if (n == 0 || n > WIRE_CERTIFICATE_MAX || n > len - WIRE_CERTIFICATE_HEAD_BYTES)
		return -EBADMSG;
	*ret = p + WIRE_CERTIFICATE_HEAD_BYTES;
	*ret_len = n;
	return 0;
}

int wire_get_answer(const uint8_t *p, size_t len, struct wire_answer *ret)
{
	if (len < WIRE_ANSWER_BYTES)
		return -EBADMSG;
	ret->cipher = p[16] & (uint8_t)~WIRE_CIPHER_IDENTITY;
	ret->identity = p[16] & WIRE_CIPHER_IDENTITY;
	ret->body_len = wire_get16(p + 18);
	ret->body = p + WIRE_ANSWER_BYTES;
	return len == WIRE_ANSWER_BYTES + (size_t)ret->body_len ? 0 : -EBADMSG;
}

static int get_addr(const uint8_t *p, struct wire_addr *ret)
{
	static const uint8_t zero[12];

	ret->family = p[0];
	ret->prefix_len = p[1];
	ret->port = wire_get16(p + 2);
	ret->label = wire_get32(p + 4);
	memcpy(ret->ip, p + 8, sizeof(ret->ip));
	if (ret->port == 0)
		return -EBADMSG;
	if (ret->family == 4)
		return ret->prefix_len <= 32 && !memcmp(ret->ip + 4, zero, 12) ? 0 : -EBADMSG;
	return ret->family == 6 && ret->prefix_len <= 128 ? 0 : -EBADMSG;
}

int wire_get_accept_body(const uint8_t *p, size_t len, struct wire_accept *ret)
{
	if (len < WIRE_ACCEPT_BODY_BYTES)
		return -EBADMSG;
	ret->server_number = wire_get64(p);
	ret->identity = wire_get64(p + 8);
	memcpy(ret->token, p + 16, WIRE_TOKEN_BYTES);
	ret->epoch = wire_get32(p + 32);
	ret->credit = wire_get32(p + 36);
	ret->mtu = wire_get16(p + 40);
	ret->slots = wire_get16(p + 42);
	ret->n_addrs = p[44];
	ret->security = p[45];
	if (ret->n_addrs > WIRE_ADDRS_MAX || ret->slots == 0 || ret->mtu < 1280 ||
	    ret->server_number == 0 ||
	    len != WIRE_ACCEPT_BODY_BYTES + (size_t)ret->n_addrs * WIRE_ADDR_BYTES)
		return -EBADMSG;
	for (unsigned i = 0; i < ret->n_addrs; i++)
		if (get_addr(p + WIRE_ACCEPT_BODY_BYTES + (size_t)i * WIRE_ADDR_BYTES,
			     &ret->addrs[i]))
			return -EBADMSG;
	return 0;
}

int wire_get_refuse_body(const uint8_t *p, size_t len, int *ret_code,
			 char ret_text[WIRE_REFUSE_TEXT_MAX + 1])
{
	uint32_t code;
	size_t n;

	if (len < WIRE_REFUSE_BODY_BYTES || len > WIRE_REFUSE_BODY_BYTES + WIRE_REFUSE_TEXT_MAX)
		return -EBADMSG;
	code = wire_get32(p);
	if (code == 0 || code > 4095)
		return -EBADMSG;
	/* Operators read this text, so refuse control characters, to which a terminal would
	 * react. */
	n = len - WIRE_REFUSE_BODY_BYTES;
	for (size_t i = 0; i < n; i++)
		if (p[WIRE_REFUSE_BODY_BYTES + i] <= ' ' || p[WIRE_REFUSE_BODY_BYTES + i] > '~')
			return -EBADMSG;
	memcpy(ret_text, p + WIRE_REFUSE_BODY_BYTES, n);
	ret_text[n] = '\0';
	*ret_code = -(int)code;
	return 0;
}

int wire_get_join(const uint8_t *p, size_t len, struct wire_join *ret)
{
	if (len != WIRE_JOIN_BYTES)
		return -EBADMSG;
	ret->cookie = wire_get64(p + 16);
	ret->stamp = wire_get32(p + 24);
	return 0;
}

int wire_get_report(const uint8_t *p, size_t len, struct wire_report *ret)
{
	if (len < WIRE_REPORT_BYTES)
		return -EBADMSG;
	ret->top = wire_get32(p + WIRE_COMMON_BYTES);
	ret->arrived = wire_get32(p + WIRE_COMMON_BYTES + 4);
	ret->probes_lost = wire_get32(p + WIRE_COMMON_BYTES + 8);
	ret->srtt_us = wire_get32(p + WIRE_COMMON_BYTES + 12);
	return 0;
}

int wire_get_label(const uint8_t *p, size_t len, uint32_t *ret_label)
{
	if (len != WIRE_LABEL_BYTES)
		return -EBADMSG;
	*ret_label = wire_get32(p + WIRE_COMMON_BYTES);
	return 0;
}

int wire_get_address(const uint8_t *p, size_t len, uint8_t *ret_index, struct wire_addr *ret)
{
	if (len != WIRE_ADDRESS_BYTES || p[WIRE_COMMON_BYTES] >= WIRE_ADDRS_MAX)
		return -EBADMSG;
	*ret_index = p[WIRE_COMMON_BYTES];
	return get_addr(p + WIRE_COMMON_BYTES + 4, ret);
}

int wire_get_source(const uint8_t *p, size_t len, struct wire_source *ret)
{
	if (len != WIRE_SOURCE_BYTES)
		return -EBADMSG;
	ret->index = p[WIRE_COMMON_BYTES];
	ret->port = wire_get16(p + WIRE_COMMON_BYTES + 2);
	return 0;
}

int wire_get_share(const uint8_t *p, size_t len, uint32_t *ret_bytes)
{
	if (len != WIRE_SHARE_BYTES || wire_get32(p + WIRE_COMMON_BYTES) == 0)
		return -EBADMSG;
	*ret_bytes = wire_get32(p + WIRE_COMMON_BYTES);
	return 0;
}

bool wire_is_foreign_hello(const uint8_t *p, size_t len)
{
	return len >= 24 && p[0] == WIRE_MAGIC && p[1] >> 4 != WIRE_VERSION &&
	       p[1] >> 4 != WIRE_VERSIONS_OF_ANY && (p[1] & 0x0f) == WIRE_HELLO &&
	       wire_get64(p + 16) != 0;
}

int wire_get_versions(const uint8_t *p, size_t len, struct wire_common *ret, uint8_t *ret_highest)
{
	if (len < WIRE_VERSIONS_BYTES || len > WIRE_COMMON_BYTES + 16 || p[0] != WIRE_MAGIC ||
	    p[1] != (WIRE_VERSIONS_OF_ANY << 4 | WIRE_VERSIONS) || p[2] >= WIRE_PATHS_MAX)
		return -EBADMSG;
	*ret = (struct wire_common){.type = WIRE_VERSIONS,
				    .path = p[2],
				    .session = wire_get64(p + 4),
				    .pn = wire_get32(p + WIRE_OFF_PN)};
	*ret_highest = 0;
	for (size_t i = WIRE_COMMON_BYTES; i < len; i++) {
		if (p[i] == WIRE_VERSION) /* The peer supports this version as well, so it had no
					     reason to send VERSIONS: ignore the packet. */
			return -EBADMSG;
		*ret_highest = MAX_OF(*ret_highest, p[i]);
	}
	return 0;
}

/* Decodes an acknowledgement block with n words at p. Refuses bits above `top`, which is the
 * highest packet number that has arrived. */
static int get_ack_block(const uint8_t *p, unsigned n_words, struct wire_ack *ret)
{
	ret->path = p[0];
	ret->gap = p[1];
	ret->delay_us = wire_get16(p + 2);
	ret->top = wire_get32(p + 4);
	ret->credit = wire_get32(p + 8);
	ret->n_words = (uint8_t)n_words;
	for (unsigned i = 0; i < n_words; i++)
		ret->words[i] = wire_get64(p + WIRE_ACK_BLOCK_BYTES + (size_t)8 * i);
	if (ret->path >= WIRE_PATHS_MAX)
		return -EBADMSG;
	if ((ret->top & 63) != 63 && ret->words[0] >> ((ret->top & 63) + 1))
		return -EBADMSG;
	return 0;
}

int wire_get_ack(const uint8_t *p, size_t len, struct wire_ack *ret)
{
	size_t words;

	if (len < WIRE_COMMON_BYTES + WIRE_ACK_BLOCK_BYTES + 8)
		return -EBADMSG;
	words = (len - WIRE_COMMON_BYTES - WIRE_ACK_BLOCK_BYTES) / 8;
	if (words > WIRE_ACK_WORDS_MAX ||
	    len != WIRE_COMMON_BYTES + WIRE_ACK_BLOCK_BYTES + words * 8)
		return -EBADMSG;
	return get_ack_block(p + WIRE_COMMON_BYTES, (unsigned)words, ret);
}

int wire_get_grants(const uint8_t *p, size_t len, struct wire_grant ret[WIRE_GRANTS_MAX])
{
	size_t n = (len - WIRE_COMMON_BYTES) / WIRE_GRANT_BYTES;

	if (len < WIRE_COMMON_BYTES || n == 0 || n > WIRE_GRANTS_MAX ||
	    len != WIRE_COMMON_BYTES + n * WIRE_GRANT_BYTES)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *at = p + WIRE_COMMON_BYTES + i * WIRE_GRANT_BYTES;
		uint16_t again = wire_get16(at + 2);

		ret[i] = (struct wire_grant){
			.slot = wire_get16(at), .again = again, .gen = wire_get32(at + 4)};
		if (ret[i].slot >= WIRE_SLOTS_MAX || again > 1)
			return -EBADMSG;
	}
	return (int)n;
}

int wire_get_data(const uint8_t *p, size_t len, const struct wire_common *c, struct wire_data *ret,
		  struct wire_ack *ret_ack)
{
	size_t hdr = c->flags & WIRE_F_ACK_BLOCK ? WIRE_DATA_ACK_BYTES : WIRE_DATA_BYTES;
	uint32_t offset, end;

	if (len < hdr || len - hdr > UINT16_MAX)
		return -EBADMSG;
	ret->gen = wire_get32(p + 16);
	ret->slot = wire_get16(p + 20);
	ret->chunk_index = wire_get16(p + WIRE_OFF_CHUNK_INDEX);
	ret->n_carried = wire_get16(p + WIRE_OFF_CARRIED);
	ret->msg_len = wire_get32(p + 24);
	ret->chunk_bytes = wire_get16(p + 28);
	ret->credit = wire_get32(p + 32);
	ret->payload = p + hdr;
	ret->payload_len = (uint16_t)(len - hdr);
	if (c->flags & WIRE_F_ACK_BLOCK &&
	    get_ack_block(p + WIRE_DATA_BYTES, WIRE_ACK_WORDS_DATA, ret_ack))
		return -EBADMSG;
	if (ret->msg_len > WIRE_MSG_MAX || ret->slot >= WIRE_SLOTS_MAX)
		return -EBADMSG;
	if (ret->chunk_bytes == 0 ||
	    (ret->msg_len > ret->chunk_bytes && ret->chunk_bytes < WIRE_CHUNK_MIN))
		return -EBADMSG;
	ret->n_chunks = (uint16_t)wire_chunks(ret->msg_len, ret->chunk_bytes);
	if (ret->chunk_index >= ret->n_chunks)
		return -EBADMSG;
	if (c->flags & WIRE_F_NEED)
		return ret->payload_len == 0 && ret->chunk_index == 0 &&
				       !(c->flags & WIRE_F_RESPONSE) &&
				       ret->msg_len > WIRE_SMALL_BYTES
			       ? 0
			       : -EBADMSG;
	offset = (uint32_t)ret->chunk_index * ret->chunk_bytes;
	end = ret->chunk_index + (unsigned)ret->n_carried;
	if (ret->n_carried == 0 || end > ret->n_chunks)
		return -EBADMSG;
	return ret->payload_len == (end == ret->n_chunks ? ret->msg_len : end * ret->chunk_bytes) -
					   offset
		       ? 0
		       : -EBADMSG;
}
