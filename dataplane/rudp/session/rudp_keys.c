/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of the cluster's keys, and revoked hosts, while sessions run. A running session does not
 * need the cluster's key, because its packets are protected by its own keys. It ends nevertheless
 * when the key of its handshake is removed, so that hosts that know only the removed key lose
 * access.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"
#include "netcfg/base/host_name.h"

/* Returns the index of `key` in `keys`, or n_keys if `keys` does not have it. */
static unsigned key_find(const uint8_t (*keys)[RUDP_KEY_BYTES], unsigned n_keys,
			 const uint8_t key[RUDP_KEY_BYTES])
{
	unsigned i = 0;

	while (i < n_keys && !rudp_noise_equal(keys[i], key, RUDP_KEY_BYTES))
		i++;
	return i;
}

/* Returns false if this change removes the key of the session or of its handshake: sets key_gone,
 * so that rudp_keys_end() ends the session or restarts the handshake at the next poll. Otherwise
 * stores the new index of the key. */
static bool session_keeps_key(struct rudp_session *s, const uint8_t (*keys)[RUDP_KEY_BYTES],
			      unsigned n_keys)
{
	unsigned i = key_find(keys, n_keys, s->r->cfg.keys[s->key]);

	if (s->key_gone) /* an earlier change has removed the session's key, so the session is
			    ending already */
		return true;
	if (i < n_keys) {
		s->key = (uint8_t)i;
		return true;
	}
	s->key = 0;
	if (s->state == SESSION_CONNECTING && !s->handshake->chosen)
		return true; /* the session's handshake has not used a key yet */
	s->key_gone = true;
	rudp_session_touch(s);
	return false;
}

int rudp_set_keys(struct rudp *r, const uint8_t (*keys)[RUDP_KEY_BYTES], unsigned n_keys,
		  uint64_t now_ns)
{
	int n = 0;

	if (n_keys == 0 || n_keys > RUDP_KEYS_MAX || r->cfg.security == RUDP_SECURITY_NONE)
		return -EINVAL;
	r->now = now_ns;
	for (unsigned i = 0; i < r->n_sessions; i++)
		if (r->sessions[i] && !session_keeps_key(r->sessions[i], keys, n_keys))
			n++;
	rudp_noise_wipe(r->cfg.keys, sizeof(r->cfg.keys));
	memcpy(r->cfg.keys, keys, (size_t)n_keys * RUDP_KEY_BYTES);
	r->cfg.n_keys = n_keys;
	for (unsigned i = 0; i < r->n_sessions; i++)
		if (r->sessions[i] && r->sessions[i]->is_client)
			rudp_hello_unpause(r->sessions[i], now_ns);
	return n;
}

int rudp_expel(struct rudp *r, const char *host, uint64_t epoch, uint64_t now_ns)
{
	int n = 0;

	r->now = now_ns;
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		if (!s || s->state != SESSION_UP || s->key_gone || s->peer_host_epoch > epoch ||
		    !host_name_matches(s->peer_host, host))
			continue;
		s->key_gone = true;
		rudp_session_touch(s);
		n++;
	}
	return n;
}

void rudp_keys_end(struct rudp_session *s, uint64_t now)
{
	/* All sessions may end at the same time. If the queue has no space for the session's CLOSE
	 * packets, wait for the next poll. */
	if (!s->is_client && s->r->raw_n + s->n_paths > RUDP_RAW_MAX) {
		s->r->again = true;
		return;
	}
	s->key_gone = false;
	if (s->is_client && s->state == SESSION_CONNECTING) {
		rudp_hello_start(s, now);
	} else if (s->is_client) {
		rudp_session_reconnect(s, RUDP_SESSION_ENDED, now);
	} else {
		rudp_session_send_close(s);
		rudp_session_end(s, RUDP_SESSION_ENDED, -ECONNRESET);
	}
}
