/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues of the messages that a session has to send. */
#include "dataplane/rudp/rudp_internal.h"

void rudp_tx_queue(struct rudp_session *s, struct tx_msg *m)
{
	enum tx_queue q = TX_NONE;

	if (m->active &&
	    (m->announce || (m->n_lost && m->allowed_chunks) || m->next_chunk < m->allowed_chunks))
		q = rudp_tx_is_small(m) ? TX_SMALL : m->n_lost ? TX_URGENT : TX_BIG;
	if (m->queue == q)
		return;
	if (m->queue != TX_NONE)
		list_del(&m->node);
	m->queue = (uint8_t)q;
	if (q != TX_NONE)
		list_add_tail(&s->tx[q], &m->node);
}

void rudp_tx_drop(struct tx_msg *m)
{
	m->active = false;
	if (m->queue != TX_NONE)
		list_del(&m->node);
	m->queue = TX_NONE;
}

bool rudp_tx_pending(const struct rudp_session *s)
{
	return !list_empty(&s->tx[TX_SMALL]) || !list_empty(&s->tx[TX_URGENT]) ||
	       !list_empty(&s->tx[TX_BIG]);
}
