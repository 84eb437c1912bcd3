/* SPDX-License-Identifier: BSD-3-Clause */
/* Polls a session, and computes when it needs the next poll. */
#include "dataplane/rudp/session/rudp_session_internal.h"

/* Call when nothing valid has arrived for too long: a client's session reconnects, a server's
 * session ends. */
static void session_lost(struct rudp_session *s, uint64_t now)
{
	if (s->is_client)
		rudp_session_reconnect(s, RUDP_SESSION_LOST, now);
	else
		rudp_session_end(s, RUDP_SESSION_LOST, -ECONNRESET);
}

static bool has_src_ports(const struct rudp_session *s, const struct rudp_path *p)
{
	return s->r->cfg.ports[p->port].sources > 0;
}

static uint64_t session_deadline(const struct rudp_session *s)
{
	uint64_t d = s->last_rx_ns + s->r->lim.lost_ns;

	d = MIN_OF(d, s->is_client ? rudp_hello_deadline(s) : rudp_call_deadline(s));
	for (unsigned i = 0; i < s->n_paths; i++)
		d = MIN_OF(d, rudp_path_deadline(s, &s->paths[i]));
	for (unsigned i = 0; i < s->n_paths; i++)
		if (PLENUM_UNLIKELY(has_src_ports(s, &s->paths[i])))
			d = MIN_OF(d, rudp_validate_deadline(&s->paths[i]));
	if (PLENUM_UNLIKELY(rudp_port_addrs_pending(s)))
		d = MIN_OF(d, s->addr_ns);
	return d;
}

static void session_poll_up(struct rudp_session *s, uint64_t now)
{
	if (PLENUM_UNLIKELY(s->handshake &&
			    s->handshake->due)) /* send ACCEPT before packets that depend on it */
		rudp_accept_send(s);
	for (unsigned i = 0; i < s->n_paths && s->state == SESSION_UP; i++) {
		s->paths[i].tx_blocked = false;
		rudp_path_poll(s, &s->paths[i], now);
		if (PLENUM_UNLIKELY(s->paths[i].label_pending))
			rudp_label_poll(s, &s->paths[i], now);
		if (PLENUM_UNLIKELY(has_src_ports(s, &s->paths[i])))
			rudp_validate_poll(s, &s->paths[i], now);
	}
	if (s->state == SESSION_UP && PLENUM_UNLIKELY(rudp_port_addrs_pending(s)))
		rudp_port_poll(s, now);
	if (s->state == SESSION_UP && PLENUM_UNLIKELY(s->ask_due))
		rudp_standing_ask(s, now);
	if (s->state == SESSION_UP)
		rudp_call_poll(s, now);
	if (s->state == SESSION_UP && PLENUM_UNLIKELY(rudp_call_stuck(s, now)))
		rudp_session_stuck(s);
	if (s->state != SESSION_UP)
		return;
	rudp_call_activate(s);
	rudp_tx_grants(s, now);
	/* Send small messages first, because acknowledgements travel with them, and big messages
	 * after everything else. */
	rudp_tx_run(s, false, now);
	rudp_ack_out_send(s, now);
	rudp_tx_run(s, true, now);
}

void rudp_session_poll(struct rudp_session *s, uint64_t now)
{
	if (PLENUM_UNLIKELY(s->key_gone))
		rudp_keys_end(s, now);
	if (PLENUM_UNLIKELY(s->key_gone)) {
		rudp_session_touch(s);
		return;
	}
	if (s->state == SESSION_UP && now >= s->last_rx_ns + s->r->lim.lost_ns)
		session_lost(s, now);
	if (s->state == SESSION_UP)
		session_poll_up(s, now);
	if (s->state == SESSION_DEAD)
		return;
	if (s->is_client)
		rudp_hello_poll(s, now);
	rudp_timer_set(s, s->state == SESSION_UP ? session_deadline(s) : rudp_hello_deadline(s));
	if (s->r->again)
		rudp_session_touch(s);
}
