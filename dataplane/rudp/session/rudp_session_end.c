/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends sessions, or makes a client's session connect again. */
#include "dataplane/rudp/session/rudp_session_internal.h"

void rudp_session_end(struct rudp_session *s, enum rudp_event e, int status)
{
	struct rudp *r = s->r;

	if (s->state == SESSION_DEAD)
		return;
	s->state = SESSION_DEAD;
	rudp_session_unplace(s);
	s->next_dead = r->dead;
	r->dead = s;
	rudp_session_end_calls(s, status);
	if (e != RUDP_SESSION_CLOSED) /* report the reason first, then CLOSED */
		rudp_session_event(s, e, 0, status);
	rudp_session_event(s, RUDP_SESSION_CLOSED, 0, status);
}

void rudp_session_reconnect(struct rudp_session *s, enum rudp_event e, uint64_t now)
{
	s->state = SESSION_CONNECTING;
	s->replaced_number = s->peer_number;
	s->peer_number = 0;
	rudp_index_drop(s);
	rudp_session_keys_forget(s);
	rudp_hello_start_again(s, now);
	rudp_session_touch(s);
	rudp_session_end_calls(s, -ECONNRESET);
	if (s->state != SESSION_DEAD)
		rudp_session_event(s, e, 0, -ECONNRESET);
}

/* Ends the session of a client that acknowledges too few responses, even if the client is alive,
 * because its responses would occupy memory for ever. */
void rudp_session_stuck(struct rudp_session *s)
{
	rudp_session_send_close(s);
	rudp_session_end(s, RUDP_SESSION_STUCK, -ECONNRESET);
}
