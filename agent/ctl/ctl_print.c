/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats values: text that is safe for a terminal, JSON, sizes and times. ctl_table.c prints
 * tables. */
#include "agent/ctl/ctl.h"
#include "netcfg/base/text.h"

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

void ctl_put(const char *text, FILE *out)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t c;
		size_t n = text_utf8_read(at, left, &c);

		if (n > 0 && text_is_shown(c))
			fwrite(at, 1, n, out);
		else
			fputc('?', out);
		n = MAX_OF(n, (size_t)1);
		at += n;
		left -= n;
	}
}

int ctl_put_json(const json_t *o)
{
	if (json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY) < 0) {
		ctl_complain("cannot write the result");
		return CTL_IO;
	}
	putchar('\n');
	return CTL_OK;
}

int ctl_put_text(const char *text)
{
	if (!text) {
		ctl_complain("out of memory");
		return CTL_OS;
	}
	fputs(text, stdout);
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
		const char *device = ctl_text(leg, *ctl_text(leg, "ifname") ? "ifname" : "device");
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

	return json_is_real(v) ? (json_int_t)json_real_value(v) : json_integer_value(v);
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
