/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Default operations of rudp for simple test programs: buffers come from malloc, packets are copied
 * completely, responses are freed. The simulator (rudp_sim.h) has its own operations, which account
 * for every buffer.
 */
#ifndef PLENUM_TESTS_RUDP_OPS_H
#define PLENUM_TESTS_RUDP_OPS_H

#include "dataplane/rudp/rudp.h"

/* Copies the whole packet to one buffer. Returns the packet's length. */
size_t rudp_ops_copy(uint8_t *ret, const struct datagram *pkt);
void rudp_ops_flush(void *user);
void *rudp_ops_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
		       size_t len);
void rudp_ops_buf_put(void *user, struct rudp_session *s, void *buf);
void rudp_ops_call_gone(void *user, struct rudp_session *s, struct rudp_call *call);
void rudp_ops_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
		       size_t len);
void rudp_ops_sent(void *user, struct rudp_session *s, void *token);
int rudp_ops_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
		    void **ret_user);

#endif
