/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session of a client or server: its memory, number and keys. rudp_session_poll.c polls it,
 * rudp_session_end.c ends it.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"
#include <stdio.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096) /* size of a memory page; each array starts on a page */

static uint64_t number_make(struct rudp *r, unsigned index)
{
	uint64_t n;

	do
		n = (rudp_random(r) & ~RUDP_INDEX_MASK) | index;
	while (n <= RUDP_INDEX_MASK);
	return n;
}

void rudp_session_renumber(struct rudp_session *s)
{
	s->number = number_make(s->r, (unsigned)(s->number & RUDP_INDEX_MASK));
}

/* Allocates a session and all its arrays in one memory mapping. Parts that are not used cost no
 * memory, so there can be thousands of idle sessions. */
static struct rudp_session *session_map(struct rudp *r, bool is_client)
{
	size_t calls_at = (sizeof(struct rudp_session) + PAGE - 1) & ~(PAGE - 1);
	size_t rings_at = (calls_at + rudp_call_bytes(r, is_client) + PAGE - 1) & ~(PAGE - 1);
	size_t bytes = rings_at + (size_t)RUDP_PATHS_MAX * RUDP_RING_MAX * sizeof(struct pkt_rec);
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct rudp_session *s = (struct rudp_session *)at;

	if (at == MAP_FAILED)
		return NULL;
	/* Use no huge pages: with them, the whole mapping would use memory. */
	(void)madvise(at, bytes, MADV_NOHUGEPAGE);
	s->bytes = bytes;
	s->rings = (struct pkt_rec *)(at + rings_at);
	s->is_client = is_client;
	s->r = r;
	rudp_index_init_session(s);
	rudp_call_init(s, at + calls_at);
	return s;
}

int rudp_session_new(struct rudp *r, bool is_client, struct rudp_session **ret)
{
	struct rudp_session *s;
	unsigned index = r->free_from;

	while (index < r->n_sessions && r->sessions[index])
		index++;
	r->free_from = index;
	if (index == r->n_sessions)
		return -ENOSPC;
	s = session_map(r, is_client);
	if (!s)
		return -ENOMEM;
	s->state = SESSION_CONNECTING;
	s->number = number_make(r, index);
	s->last_rx_ns = r->now;
	list_init(&s->dirty_node);
	list_init(&s->answering);
	rudp_grant_peer_init(s);
	s->handshake = calloc(1, sizeof(*s->handshake));
	if (!s->handshake) {
		rudp_session_free(s);
		return -ENOMEM;
	}
	r->sessions[index] = s;
	r->n_live++;
	rudp_session_touch(s);
	*ret = s;
	return 0;
}

void rudp_session_unplace(struct rudp_session *s)
{
	struct rudp *r = s->r;
	unsigned index = (unsigned)(s->number & RUDP_INDEX_MASK);

	r->sessions[index] = NULL;
	r->free_from = MIN_OF(r->free_from, index);
	r->n_live--;
	rudp_index_drop(s);
	list_del(&s->dirty_node);
	s->dirty = false;
	rudp_timer_drop(s);
}

/* Frees the session's keys, which are valid for one incarnation of the peer only. */
void rudp_session_keys_forget(struct rudp_session *s)
{
	if (s->secure)
		rudp_secure_done(s->secure);
	free(ptr_take(s->secure));
}

void rudp_handshake_free(struct rudp_session *s)
{
	if (s->handshake)
		rudp_noise_wipe(s->handshake, sizeof(*s->handshake));
	free(ptr_take(s->handshake));
}

int rudp_session_secure(struct rudp_session *s, enum rudp_security security,
			enum rudp_cipher cipher, const struct rudp_noise_keys *keys)
{
	int res;

	rudp_session_keys_forget(s);
	s->secure = calloc(1, sizeof(*s->secure));
	if (!s->secure)
		return -ENOMEM;
	res = rudp_secure_init(s->secure, security, cipher, keys, s->r->lim.phase_packets);
	if (res)
		rudp_session_keys_forget(s);
	return res;
}

void rudp_session_free(struct rudp_session *s)
{
	if (!s)
		return;
	rudp_session_keys_forget(s);
	rudp_handshake_free(s);
	munmap(s, s->bytes);
}

void rudp_session_set_mtu(struct rudp_session *s, uint16_t peer_mtu)
{
	s->peer_mtu = peer_mtu;
	rudp_path_set_chunk_bytes(s);
}

unsigned rudp_session_index(const struct rudp_session *s)
{
	return (unsigned)(s->number & RUDP_INDEX_MASK);
}

void rudp_session_refuse_with(struct rudp_session *s, const char *word)
{
	size_t n = strnlen(word, WIRE_REFUSE_TEXT_MAX);

	memcpy(s->refusal, word, n);
	s->refusal[n] = '\0';
}

const struct rudp_proof *rudp_session_proof(const struct rudp_session *s)
{
	return s->proof;
}

void rudp_session_set_peer(struct rudp_session *s, const struct rudp_peer *peer)
{
	memcpy(s->peer_host, peer->host, sizeof(s->peer_host));
	s->peer_proven = peer->proven;
	s->peer_host_epoch = peer->proven ? peer->epoch : 0;
	s->peer_hash = rudp_index_peer(s->r, peer);
}

const char *rudp_session_host(const struct rudp_session *s)
{
	return s->peer_proven ? s->peer_host : "";
}

void rudp_session_from(const struct rudp_session *s, struct datagram_addr *ret)
{
	*ret = s->hello_from;
}

const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from)
{
	*ret_from = s->refused_by;
	return s->refusal;
}

bool rudp_session_refused_here(const struct rudp_session *s)
{
	return s->refused_here;
}
