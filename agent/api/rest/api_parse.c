/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses parts of requests for several files: numbers, and error answers. */
#include "agent/api/rest/api_route_internal.h"
#include "agent/api/rest/problem.h"
#include "netcfg/base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int api_fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
{
	va_list ap;

	*e = (struct api_error){.http_status = status, .code = code};
	va_start(ap, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	text_clean(e->message); /* the text may quote the client */
	return -EINVAL;
}

char *api_error_to_json(const struct api_error *e)
{
	json_t *message = json_string(e->message);
	json_t *o = problem_to_json(e->http_status, e->code, message ? e->message : "?", NULL);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(message);
	json_decref(o);
	return text;
}

int api_number(const char *text, uint64_t max, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

int api_hex(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);
	uint64_t v = 0;

	if (len == 0 || len > 16)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, text[i]);

		if (!d)
			return -EINVAL;
		v = v << 4 | (uint64_t)(d - digits);
	}
	*ret = v;
	return 0;
}

void api_put_number(struct privsep_msg *m, size_t offset, size_t size, uint64_t v)
{
	const uint32_t narrow = (uint32_t)v;

	if (size == sizeof(narrow))
		memcpy((char *)m + offset, &narrow, sizeof(narrow));
	else
		memcpy((char *)m + offset, &v, sizeof(v));
}
