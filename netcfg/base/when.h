/* SPDX-License-Identifier: BSD-3-Clause */
/* Points in time as people write them, for the command line and the REST API. Pure, but for the
 * time zone of the host. */
#ifndef PLENUM_NETCFG_WHEN_H
#define PLENUM_NETCFG_WHEN_H

#include "netcfg/base/base.h"

/* What to write, for error messages. */
#define WHEN_FORMS "2h (ago; s, m, h, d), 2026-11-27T22:00, or 2026-11-27T22:00:05Z (UTC)"

/*
 * "90s", "15m", "2h" and "7d" are that long before now_ms. Else a date, with "T" or a blank and a
 * time to minutes, seconds or fractions of them, and "Z" or an offset such as "+01:00". Without
 * these it is UTC or, if `local`, local time. Milliseconds since 1970. 0; -EINVAL.
 */
int when_parse(const char *text, uint64_t now_ms, bool local, uint64_t *ret_ms);
/* "2026-11-27T22:00:05.123Z" in buf, up to the year 9999; returns buf. */
#define WHEN_TEXT_MAX 32
const char *when_format(uint64_t ms, char buf[WHEN_TEXT_MAX]);

#endif
