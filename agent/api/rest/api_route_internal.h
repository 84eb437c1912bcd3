/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files that route a request: api_route.c goes through the table, api_body.c takes
 * the body, api_media.c compares media types, api_parse.c takes numbers and makes errors. All are
 * pure.
 */
#ifndef PLENUM_AGENT_API_ROUTE_INTERNAL_H
#define PLENUM_AGENT_API_ROUTE_INTERNAL_H

#include "agent/api/rest/api_route.h"
#include "agent/api/rest/resource.h"

/* ---- api_parse.c ---- */

/* Makes *e; control characters in it, which a client may have sent, become '?'. -EINVAL. */
int api_fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* Takes a decimal number up to max, and nothing else. 0 or -EINVAL. */
int api_number(const char *text, uint64_t max, uint64_t *ret);
/* Takes 1 to 16 lower-case hexadecimal digits, and nothing else. 0 or -EINVAL. */
int api_hex(const char *text, uint64_t *ret);
/* Stores v in the member of m at offset, of size 4 or 8 bytes. */
void api_put_number(struct privsep_msg *m, size_t offset, size_t size, uint64_t v);

/* ---- api_body.c, api_media.c: 0, or -EINVAL with *e ---- */

int api_take_body(const struct resource *row, const struct api_request *rq, struct privsep_msg *m,
		  struct api_error *e);
int api_check_accept(const struct resource *row, const struct api_request *rq, struct api_error *e);
/* Whether the client does not want to wait for the end of a change: Prefer: respond-async. */
bool api_prefers_async(const struct api_request *rq);
/* Whether the client wants a configuration as JSON: Accept names that, and not YAML. */
bool api_wants_json(const struct resource *row, const struct api_request *rq);
/* Whether the client wants a stream: Accept names the type, and not only by a range. */
bool api_wants_stream(const struct resource *row, const struct api_request *rq);
int api_check_content_type(const struct resource *row, const struct api_request *rq,
			   struct api_error *e);

#endif
