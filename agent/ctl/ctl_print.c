/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats values: text that is safe to print on a terminal, JSON, sizes and times. ctl_table.c
 * prints tables. */
#include "agent/ctl/ctl.h"
#include "netcfg/base/text.h"

#include <pwd.h>
#include <stdarg.h>
#include <string.h>

void ctl_complain(const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	fputs("plenum: ", stderr);
	ctl_put(text ? text : "out of memory", stderr);
	fputc('\n', stderr);
}

/* Prints the text, with unsafe characters replaced. allowed: control characters that are printed
 * unchanged. */
static void put_shown(const char *text, FILE *out, const char *allowed)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t c;
		size_t n = text_utf8_read(at, left, &c);

		if (n > 0 && (text_is_shown(c) || (c < ' ' && strchr(allowed, (int)c))))
			fwrite(at, 1, n, out);
		else
			fputc('?', out);
		n = MAX_OF(n, (size_t)1);
		at += n;
		left -= n;
	}
}

void ctl_put(const char *text, FILE *out)
{
	put_shown(text, out, "");
}

void ctl_put_lines(const char *text, FILE *out)
{
	put_shown(text, out, "\n\t");
}

void ctl_put_wide(const char *text, size_t width)
{
	size_t n = 0;

	for (const char *c = text; *c; c++)
		n += ((unsigned char)*c & 0xc0) != 0x80;
	ctl_put(text, stdout);
	printf("%*s", (int)(width - MIN_OF(n, width)), "");
}

/* Prints JSON for a program. Characters in strings that are unsafe on a terminal become escape
 * sequences, which do not change the value. */
static void put_escaped(const char *json)
{
	const unsigned char *at = (const unsigned char *)json;
	size_t left = strlen(json);

	while (left > 0) {
		uint32_t c = '?';
		size_t n = MAX_OF(text_utf8_read(at, left, &c), (size_t)1);

		if (c == '\n' || text_is_shown(c))
			fwrite(at, 1, n, stdout);
		else if (c < 0x10000)
			printf("\\u%04x", (unsigned)c);
		else
			printf("\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
			       (unsigned)(0xdc00 + (c & 0x3ff)));
		at += n;
		left -= n;
	}
	putchar('\n');
}

static int put_json(const json_t *o, size_t form)
{
	autofree char *text = json_dumps(o, form | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);

	if (!text) {
		ctl_complain("cannot write the result");
		return CTL_IO;
	}
	put_escaped(text);
	return CTL_OK;
}

int ctl_put_json(const json_t *o)
{
	return put_json(o, JSON_INDENT(2));
}

int ctl_put_json_line(const json_t *o)
{
	return put_json(o, JSON_COMPACT);
}

int ctl_put_text(const char *text)
{
	if (!text) {
		ctl_complain("out of memory");
		return CTL_OS;
	}
	ctl_put_lines(text, stdout);
	if (*text && text[strlen(text) - 1] != '\n')
		putchar('\n');
	return CTL_OK;
}

void ctl_put_warnings(const json_t *answer)
{
	const json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(answer, "warnings"), i, warning) {
		if (json_is_string(warning))
			ctl_complain("%s", json_string_value(warning));
	}
}

const char *ctl_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

bool ctl_put_legs(const json_t *legs)
{
	const json_t *leg;
	bool all = true;
	size_t i, n = 0;

	json_array_foreach (legs, i, leg) {
		const char *device = ctl_text(leg, *ctl_text(leg, "ifname")   ? "ifname"
						   : *ctl_text(leg, "device") ? "device"
									      : "match");
		const char *state = ctl_text(leg, "state");

		all = all && strcmp(state, "absent") != 0 && strcmp(state, "refused") != 0;
		if (!*ctl_text(leg, "reason"))
			continue;
		printf("%s  ", n++ ? "" : "\n");
		ctl_put(ctl_text(leg, "name"), stdout);
		fputs(" (", stdout);
		ctl_put(device, stdout);
		fputs(") is ", stdout);
		ctl_put(state, stdout);
		fputs(": ", stdout);
		ctl_put(ctl_text(leg, "reason"), stdout);
		putchar('\n');
	}
	return all;
}

bool ctl_rtt_is_current(const json_t *path)
{
	const json_t *age = json_object_get(path, "rtt_age_s");

	return !age || (json_is_integer(age) && json_integer_value(age) <= 10);
}

json_int_t ctl_int(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	const double d = json_real_value(v);

	if (!json_is_real(v))
		return json_integer_value(v);
	if (d >= 0x1p63)
		return INT64_MAX;
	return d < -0x1p63 ? INT64_MIN : (json_int_t)d;
}

int ctl_take_id(const json_t *answer, const char *key, char ret[CTL_ID_SIZE])
{
	const char *id = ctl_text(answer, key);

	if (!*id || strlen(id) >= CTL_ID_SIZE || strspn(id, "0123456789abcdef") != strlen(id)) {
		ctl_complain("the agent's answer has no valid '%s'", key);
		return CTL_SOFTWARE;
	}
	strcpy(ret, id);
	return CTL_OK;
}

const char *ctl_format_bytes(json_int_t bytes, char *buf, size_t size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double v = (double)bytes;
	size_t unit = 0;

	while (v >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		unit++;
	}
	snprintf(buf, size, unit == 0 || v >= 100 ? "%.0f %s" : "%.1f %s", v, units[unit]);
	return buf;
}

const char *ctl_format_seconds(json_int_t seconds, char *buf, size_t size)
{
	long long s = seconds;

	if (s < 60)
		snprintf(buf, size, "%llds", s);
	else if (s < 3600)
		snprintf(buf, size, "%lldm %llds", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%lldh %lldm", s / 3600, s % 3600 / 60);
	else
		snprintf(buf, size, "%lldd %lldh", s / 86400, s % 86400 / 3600);
	return buf;
}

static void ms_format(double us, char *buf, size_t size)
{
	double ms = us > 0 && us < 1e12 ? us / 1000 : 0;

	snprintf(buf, size, "%.*f", ms < 0.1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
}

const char *ctl_format_latency(const json_t *o, const char *class, char buf[CTL_LATENCY_MAX])
{
	char median[CTL_LATENCY_MAX / 2], p99[CTL_LATENCY_MAX / 2];
	const json_t *l;
	size_t i;

	snprintf(buf, CTL_LATENCY_MAX, "-");
	json_array_foreach (json_object_get(o, "latency"), i, l) {
		if (strcmp(ctl_text(l, "class"), class) != 0)
			continue;
		ms_format(json_number_value(json_object_get(l, "median_us")), median,
			  sizeof(median));
		ms_format(json_number_value(json_object_get(l, "p99_us")), p99, sizeof(p99));
		snprintf(buf, CTL_LATENCY_MAX, "%s/%s", median, p99);
	}
	return buf;
}

static bool users_are_foreign;

void ctl_format_users_of_another_host(void)
{
	users_are_foreign = true;
}

const char *ctl_format_user(const char *by, char *buf, size_t size)
{
	unsigned uid;
	const bool known = sscanf(by, "uid %u,", &uid) == 1 && (uid == 0 || !users_are_foreign);
	const struct passwd *user = known ? getpwuid(uid) : NULL;

	if (user)
		snprintf(buf, size, "%s (%s)", user->pw_name, by);
	else
		snprintf(buf, size, "%s", by);
	return buf;
}
