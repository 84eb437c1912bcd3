/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements rudp_ops.h. */
#include "tests/lib/rudp/rudp_ops.h"
#include <stdlib.h>
#include <string.h>

size_t rudp_ops_copy(uint8_t *ret, const struct datagram *pkt)
{
	memcpy(ret, pkt->hdr, pkt->hdr_len);
	if (pkt->payload_len)
		memcpy(ret + pkt->hdr_len, pkt->payload, pkt->payload_len);
	return (size_t)pkt->hdr_len + pkt->payload_len;
}

void rudp_ops_flush(void *user)
{
}

void *rudp_ops_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
		       size_t len)
{
	return malloc(len ? len : 1);
}

void rudp_ops_buf_put(void *user, struct rudp_session *s, void *buf)
{
	free(buf);
}

void rudp_ops_call_gone(void *user, struct rudp_session *s, struct rudp_call *call)
{
}

void rudp_ops_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
		       size_t len)
{
	free(buf);
}

void rudp_ops_sent(void *user, struct rudp_session *s, void *token)
{
}

int rudp_ops_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
		    void **ret_user)
{
	return 0;
}
