/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the source, the folder and the options of a mount. */
#include "agent/ctl/mount/ctl_mount_options.h"
#include "netcfg/spec/spec.h"
#include <stdio.h>
#include <string.h>

#define SOFT_S_MAX 86400 /* equals the limit of 'soft' in plenum.yaml */
#define OPTION_MAX 256

static const struct {
	const char *name;
	size_t offset;
	bool value;
} flags[] = {
	{"ro", offsetof(struct ctl_mount_options, read_only), true},
	{"rw", offsetof(struct ctl_mount_options, read_only), false},
	{"nosuid", offsetof(struct ctl_mount_options, nosuid), true},
	{"suid", offsetof(struct ctl_mount_options, nosuid), false},
	{"nodev", offsetof(struct ctl_mount_options, nodev), true},
	{"dev", offsetof(struct ctl_mount_options, nodev), false},
	{"noexec", offsetof(struct ctl_mount_options, noexec), true},
	{"exec", offsetof(struct ctl_mount_options, noexec), false},
	{"noatime", offsetof(struct ctl_mount_options, noatime), true},
	{"relatime", offsetof(struct ctl_mount_options, noatime), false},
	{"remount", offsetof(struct ctl_mount_options, remount), true},
};

/* Returns whether the option has no effect here: it is for mount(8), systemd or boot scripts, or
 * asks for what Plenum does anyway. */
static bool is_for_others(const char *option)
{
	static const char *const names[] = {
		"defaults", "_netdev", "nofail", "auto", "noauto", "user", "nouser", "users",
		"nousers", "owner", "noowner", "group", "nogroup",
		/* The client's kernel does not maintain access times, and async is the default. */
		"async", "diratime", "nodiratime", "atime", "norelatime", "strictatime",
		"nostrictatime", "lazytime", "nolazytime"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(option, names[i]) == 0)
			return true;
	return strncmp(option, "user=", 5) == 0 || strncmp(option, "x-", 2) == 0 ||
	       strncmp(option, "X-", 2) == 0 || strncmp(option, "comment=", 8) == 0;
}

static int parse_soft(const char *text, struct ctl_mount_options *ret, struct reason *why)
{
	static const struct {
		const char *name;
		unsigned long seconds;
	} units[] = {{"s", 1}, {"", 1}, {"m", 60}, {"h", 3600}};
	char *end = NULL;
	unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	for (size_t i = 0; end && n >= 1 && n <= SOFT_S_MAX && i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].name) != 0 || n * units[i].seconds > SOFT_S_MAX)
			continue;
		ret->soft_s = (unsigned)(n * units[i].seconds);
		return 0;
	}
	reason_set_text(why, "soft needs a time from 1s to 24h, such as soft=30s");
	return -EINVAL;
}

static int parse_locks(const char *text, struct ctl_mount_options *ret, struct reason *why)
{
	static const char *const names[] = {"local", "none", "cluster"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		ret->locks = names[i];
		return 0;
	}
	reason_set_text(why, "locks needs one of local, none and cluster");
	return -EINVAL;
}

static int parse_throughput(const char *text, struct ctl_mount_options *ret, struct reason *why)
{
	ret->max_kbs = 0;
	if (strcmp(text, "none") == 0 ||
	    spec_rate_parse(text, SPEC_RATE_MIN, SPEC_RATE_MAX, &ret->max_kbs) == 0)
		return 0;
	reason_set_text(why, "max-throughput needs a rate from 100kB/s to 1000GB/s, such as "
			     "max-throughput=200MB/s, or none");
	return -EINVAL;
}

static int parse_operations(const char *text, struct ctl_mount_options *ret, struct reason *why)
{
	char *end = NULL;
	const unsigned long n = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	ret->max_operations = 0;
	if (strcmp(text, "none") == 0)
		return 0;
	if (n >= 1 && n <= SPEC_OPERATIONS_MAX && *end == '\0') {
		ret->max_operations = (uint32_t)n;
		return 0;
	}
	reason_set_text(why,
			"max-operations needs a number from 1 to %u, such as max-operations=5000, "
			"or none",
			SPEC_OPERATIONS_MAX);
	return -EINVAL;
}

static int parse_one(const char *option, struct ctl_mount_options *ret, struct reason *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (strcmp(option, flags[i].name) != 0)
			continue;
		*(bool *)((char *)ret + flags[i].offset) = flags[i].value;
		return 0;
	}
	if (!*option || is_for_others(option))
		return 0;
	if (strcmp(option, "hard") == 0) {
		ret->soft_s = 0;
		return 0;
	}
	if (strncmp(option, "soft=", 5) == 0)
		return parse_soft(option + 5, ret, why);
	if (strncmp(option, "locks=", 6) == 0)
		return parse_locks(option + 6, ret, why);
	if (strncmp(option, "max-throughput=", 15) == 0)
		return parse_throughput(option + 15, ret, why);
	if (strncmp(option, "max-operations=", 15) == 0)
		return parse_operations(option + 15, ret, why);
	reason_set_text(why,
			"unknown option '%.60s'; valid are ro, rw, nosuid, suid, nodev, dev, "
			"noexec, exec, noatime, relatime, hard, soft=TIME, "
			"locks=local|none|cluster, max-throughput=RATE, max-operations=NUMBER and "
			"remount",
			option);
	return -EINVAL;
}

int ctl_mount_options_parse(const char *text, struct ctl_mount_options *ret, struct reason *why)
{
	struct ctl_mount_options o = {.locks = "local"};
	char option[OPTION_MAX];
	int r = 0;

	while (r >= 0 && text && *text) {
		const size_t len = strcspn(text, ",");

		snprintf(option, sizeof(option), "%.*s", (int)MIN_OF(len, sizeof(option)), text);
		r = parse_one(option, &o, why);
		text += len + (text[len] == ',');
	}
	if (r >= 0 && o.soft_s && strcmp(o.locks, "cluster") == 0) {
		reason_set_text(why, "cluster locks need a hard mount; remove soft");
		r = -EINVAL;
	}
	if (r >= 0)
		*ret = o;
	return r;
}

int ctl_mount_source_parse(const char *text, char *host, char *export_name, size_t size,
			   struct reason *why)
{
	const char *colon = strchr(text, ':');
	const char *name = colon ? colon + 1 + (colon[1] == '/') : "";
	const size_t len = colon ? (size_t)(colon - text) : 0;

	if (len == 0 || !*name || strpbrk(name, "/:") || len >= size || strlen(name) >= size) {
		reason_set_text(why, "'%.80s' is not a source; write HOST:/EXPORT", text);
		return -EINVAL;
	}
	memcpy(host, text, len);
	host[len] = '\0';
	strcpy(export_name, name);
	return 0;
}

int ctl_mount_dir_parse(const char *text, const char *cwd, char *buf, size_t size,
			struct reason *why)
{
	const bool absolute = *text == '/', at_root = strcmp(cwd, "/") == 0;
	const int n = snprintf(buf, size, "%s%s%s", absolute ? "" : cwd,
			       absolute || at_root ? "" : "/", text);
	size_t len = n > 0 ? (size_t)n : 0;

	if (!*text || len == 0 || len >= size) {
		reason_set_text(why, "'%.80s' is not the path of a folder with at most %zu bytes",
				text, size - 1);
		return -EINVAL;
	}
	while (len > 1 && buf[len - 1] == '/')
		buf[--len] = '\0';
	return 0;
}
