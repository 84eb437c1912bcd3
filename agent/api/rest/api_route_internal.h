/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files that route a request. api_route.c uses the table, api_body.c takes the body,
 * api_media.c compares media types, api_parse.c parses numbers and makes errors. None of them makes
 * system calls.
 */
#ifndef PLENUM_AGENT_API_ROUTE_INTERNAL_H
#define PLENUM_AGENT_API_ROUTE_INTERNAL_H

#include "agent/api/rest/api_route.h"
#include "agent/api/rest/resource.h"

/* ---- api_parse.c ---- */

/* Makes *e. Control characters in it, which may come from a client, become '?'. Returns -EINVAL. */
int api_fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
/* Parses a decimal number up to max. Returns 0, or -EINVAL if the text is something else. */
int api_number(const char *text, uint64_t max, uint64_t *ret);
/* Parses 1 to 16 lower-case hexadecimal digits. Returns 0, or -EINVAL if the text is something
 * else. */
int api_hex(const char *text, uint64_t *ret);
/* Stores v in the member of m at `offset`, whose size is 4 or 8 bytes. */
void api_put_number(struct privsep_msg *m, size_t offset, size_t size, uint64_t v);

/* ---- api_body.c, api_media.c: functions return 0, or -EINVAL with *e ---- */

int api_take_body(const struct resource *row, const struct api_request *rq, struct privsep_msg *m,
		  struct api_error *e);
int api_check_accept(const struct resource *row, const struct api_request *rq, struct api_error *e);
/* Returns whether the client does not want to wait for the end of a change (Prefer:
 * respond-async). */
bool api_prefers_async(const struct api_request *rq);
/* Returns whether the client wants a configuration as JSON: Accept has that type but not YAML. */
bool api_wants_json(const struct resource *row, const struct api_request *rq);
/* Returns whether the client wants a stream: Accept has that type, not only a range that includes
 * it. */
bool api_wants_stream(const struct resource *row, const struct api_request *rq);
int api_check_content_type(const struct resource *row, const struct api_request *rq,
			   struct api_error *e);

#endif
