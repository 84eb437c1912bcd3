/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why something is less than it could be: a code for programs and one sentence for people. Legs,
 * workers and mounts explain themselves in this form only; plenumd(8) lists the codes. A value
 * without heap; an empty code means that there is nothing to explain.
 */
#ifndef PLENUM_NETCFG_REASON_H
#define PLENUM_NETCFG_REASON_H

#include "netcfg/base/base.h"

#define REASON_CODE_MAX 24
#define REASON_TEXT_MAX 192
#define REASON_FORMAT_MAX (REASON_CODE_MAX + 2 + REASON_TEXT_MAX)

struct reason {
	char code[REASON_CODE_MAX]; /* "no-carrier": lower case and dashes; "": no reason */
	char text[REASON_TEXT_MAX]; /* one sentence without a full stop; "": the code says all */
};

static inline bool reason_is_set(const struct reason *r)
{
	return r->code[0] != '\0';
}

/* Text that does not fit is truncated. */
void reason_set(struct reason *r, const char *code, const char *fmt, ...) PLENUM_PRINTF(3, 4);
bool reason_equal(const struct reason *a, const struct reason *b);
/* "code: text", "code", or "" for none, into buf (REASON_FORMAT_MAX bytes are always enough);
 * returns buf. */
const char *reason_format(const struct reason *r, char *buf, size_t size);

#endif
