/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and prints points in time. */
#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>

#define MS 1000ULL
#define DAY_S (24ULL * 3600)

const char *when_format(uint64_t ms, char buf[WHEN_TEXT_MAX])
{
	time_t sec = (time_t)(ms / MS);
	char text[WHEN_TEXT_MAX] = "";
	struct tm tm;

	gmtime_r(&sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, WHEN_TEXT_MAX, "%.24s.%03uZ", text, (unsigned)(ms % MS));
	return buf;
}

/* Parses exactly n digits, a number from min to max, and advances *at. */
static bool take(const char **at, int n, int min, int max, int *ret)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		v = v * 10 + (**at - '0');
	}
	*ret = v;
	return v >= min && v <= max;
}

static bool skip(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static bool parse_ago(const char *text, uint64_t now_ms, uint64_t *ret_ms)
{
	static const struct {
		char unit;
		uint64_t s;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', DAY_S}};
	uint64_t n = 0;
	size_t i = 0;

	for (; text[i] >= '0' && text[i] <= '9' && i < 9; i++)
		n = n * 10 + (uint64_t)(text[i] - '0');
	if (i == 0 || text[i] == '\0' || text[i + 1] != '\0')
		return false;
	for (size_t u = 0; u < ARRAY_SIZE(units); u++)
		if (units[u].unit == text[i]) {
			*ret_ms = now_ms - MIN_OF(now_ms, n * units[u].s * MS);
			return true;
		}
	return false;
}

/* Parses "Z", an offset such as "+01:00", or nothing. */
static bool parse_zone(const char **at, bool *local, long *offset_s)
{
	const char sign = **at;
	int hours = 0, minutes = 0;

	if (sign == '\0')
		return true;
	*local = false;
	if (skip(at, 'Z'))
		return true;
	(*at)++;
	if ((sign != '+' && sign != '-') || !take(at, 2, 0, 14, &hours) || !skip(at, ':') ||
	    !take(at, 2, 0, 59, &minutes))
		return false;
	*offset_s = (sign == '-' ? -1 : 1) * (hours * 3600L + minutes * 60L);
	return true;
}

/* Parses "22:00", "22:00:05" or "22:00:05.123". */
static bool parse_clock(const char **at, struct tm *tm, unsigned *ms)
{
	unsigned unit = 100;

	if (!take(at, 2, 0, 23, &tm->tm_hour) || !skip(at, ':') || !take(at, 2, 0, 59, &tm->tm_min))
		return false;
	if (!skip(at, ':'))
		return true;
	if (!take(at, 2, 0, 60, &tm->tm_sec))
		return false;
	if (!skip(at, '.'))
		return true;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
		*ms += unit * (unsigned)(**at - '0');
	return true;
}

/* Returns whether the day exists. The C library would silently turn a day such as February 30 into
 * a day of the next month. */
static bool day_exists(const struct tm *tm)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	const int y = tm->tm_year + 1900;
	const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

	return tm->tm_mday <= days[tm->tm_mon] + (leap && tm->tm_mon == 1);
}

/* Replaces timegm(3), which reads the time zone's file. A sandboxed process may not open this
 * file. */
static int64_t seconds_utc(const struct tm *tm)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	/* counts years from March, so that a leap day is the last day of a year */
	const int64_t y = tm->tm_year + 1900 - (tm->tm_mon < 2);
	const int64_t days = (tm->tm_year - 70) * 365LL + (y / 4 - y / 100 + y / 400) -
			     (1969 / 4 - 1969 / 100 + 1969 / 400) + before[tm->tm_mon] +
			     tm->tm_mday - 1;

	return ((days * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec;
}

int when_parse(const char *text, uint64_t now_ms, bool local, uint64_t *ret_ms)
{
	struct tm tm = {.tm_isdst = -1};
	const char *at = text;
	long offset_s = 0;
	unsigned ms = 0;
	int64_t t;

	if (parse_ago(text, now_ms, ret_ms))
		return 0;
	if (!take(&at, 4, 1970, 9999, &tm.tm_year) || !skip(&at, '-') ||
	    !take(&at, 2, 1, 12, &tm.tm_mon) || !skip(&at, '-') ||
	    !take(&at, 2, 1, 31, &tm.tm_mday))
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (!day_exists(&tm))
		return -EINVAL;
	if ((skip(&at, 'T') || skip(&at, ' ')) &&
	    (!parse_clock(&at, &tm, &ms) || !parse_zone(&at, &local, &offset_s)))
		return -EINVAL;
	if (*at)
		return -EINVAL;
	t = (local ? mktime(&tm) : seconds_utc(&tm)) - offset_s;
	if (t < 0)
		return -EINVAL;
	*ret_ms = (uint64_t)t * MS + ms;
	return 0;
}
