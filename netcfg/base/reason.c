/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints reasons; one text form for all users. */
#include "netcfg/base/reason.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void reason_set(struct reason *r, const char *code, const char *fmt, ...)
{
	va_list ap;

	snprintf(r->code, sizeof(r->code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
}

bool reason_equal(const struct reason *a, const struct reason *b)
{
	return strcmp(a->code, b->code) == 0 && strcmp(a->text, b->text) == 0;
}

const char *reason_format(const struct reason *r, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", r->code, r->text[0] ? ": " : "", r->text);
	return buf;
}
