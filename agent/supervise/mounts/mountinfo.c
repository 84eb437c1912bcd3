/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads mountinfo(5), the only way to examine a dead or unresponsive FUSE mount without blocking on
 * it. */
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/base.h"
#include <stdio.h>
#include <string.h>

/* mountinfo(5) writes blanks, tabs, newlines and backslashes as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to = *s;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /mount/point options... - fstype source superoptions" */
static bool parse_line(char *line, char **ret_point, struct mountinfo *ret)
{
	char *save = NULL, *dev, *rest = strstr(line, " - ");

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	strtok_r(line, " ", &save);
	strtok_r(NULL, " ", &save);
	dev = strtok_r(NULL, " ", &save);
	strtok_r(NULL, " ", &save);
	*ret_point = strtok_r(NULL, " ", &save);
	if (!dev || !*ret_point || sscanf(dev, "%u:%u", &ret->major, &ret->minor) != 2)
		return false;
	unescape(*ret_point);
	rest[strcspn(rest, " ")] = '\0';
	snprintf(ret->fstype, sizeof(ret->fstype), "%s", rest);
	return true;
}

/* Calls cb for each mount at exactly this path, lowest first, until cb returns true. */
static int each_at(const char *path, bool (*cb)(void *user, const struct mountinfo *mi), void *user)
{
	autofree char *line = NULL;
	size_t cap = 0;
	int found = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return -errno;
	while (!found && getline(&line, &cap, f) > 0) {
		struct mountinfo mi;
		char *point;

		if (parse_line(line, &point, &mi) && strcmp(point, path) == 0)
			found = cb(user, &mi);
	}
	fclose(f);
	return found;
}

struct top {
	struct mountinfo mi;
	bool any;
};

static bool keep_top(void *user, const struct mountinfo *mi)
{
	*(struct top *)user = (struct top){*mi, true};
	return false;
}

int mountinfo_top(const char *path, struct mountinfo *ret)
{
	struct top top = {.any = false};
	int r = each_at(path, keep_top, &top);

	if (r < 0 || !top.any)
		return r;
	*ret = top.mi;
	return 1;
}

static bool is_same(void *user, const struct mountinfo *mi)
{
	const struct mountinfo *want = user;

	return mi->major == want->major && mi->minor == want->minor &&
	       strcmp(mi->fstype, want->fstype) == 0;
}

int mountinfo_has(const char *path, const struct mountinfo *want)
{
	return each_at(path, is_same, (void *)want);
}
