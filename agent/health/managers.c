/* SPDX-License-Identifier: BSD-3-Clause */
/* A table with an entry per network manager: its process name, and a function that finds out
 * whether it manages the link. */
#include "agent/health/managers.h"
#include "netcfg/base/base.h"
#include "netcfg/base/file.h"
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define FILE_BYTES_MAX 65536

struct look {
	const char *root;
	enum managers_matter matter;
	const char *ifname;
	uint32_t ifindex;
};

struct manager {
	const char *comm; /* name of the process, cut to the kernel's 15 characters */
	/* Returns whether the manager may make changes of the kind l->matter. If so, buf gets a
	 * sentence with the setting that stops them. */
	bool (*explain)(const struct look *l, char *buf, size_t size);
};

/* ---- configuration files ---- */

static char *read_text(const struct look *l, const char *path)
{
	char full[PATH_MAX], *text;
	size_t len;

	if (snprintf(full, sizeof(full), "%s%s", l->root, path) >= (int)sizeof(full) ||
	    file_read(full, FILE_BYTES_MAX, &text, &len) < 0)
		return NULL;
	return text;
}

/* Finds the last line "KEY=VALUE" of a text, in any section. Returns false if there is no such
 * line. */
static bool find_value(const char *text, const char *key, char *ret, size_t size)
{
	const size_t len = strlen(key);
	bool found = false;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\n");
		if (strncmp(line, key, len) != 0)
			continue;
		line += len;
		line += strspn(line, " \t");
		if (*line != '=')
			continue;
		line++;
		line += strspn(line, " \t");
		snprintf(ret, size, "%.*s", (int)strcspn(line, " \t\r\n"), line);
		found = true;
	}
	return found;
}

static bool file_has(const struct look *l, const char *path, const char *key, char *ret,
		     size_t size)
{
	autofree char *text = read_text(l, path);

	return text && find_value(text, key, ret, size);
}

static int is_conf(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && strcmp(dot, ".conf") == 0;
}

static void look_in_folder(const struct look *l, const char *folder, const char *key, char *ret,
			   size_t size)
{
	char full[PATH_MAX], path[PATH_MAX];
	struct dirent **entries;
	int n;

	snprintf(full, sizeof(full), "%s%s", l->root, folder);
	n = scandir(full, &entries, is_conf, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%.200s/%s", folder, entries[i]->d_name);
		file_has(l, path, key, ret, size);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* ---- systemd-networkd ---- */

static bool is_no(const char *value)
{
	static const char *const words[] = {"no", "false", "off", "0", "n", "f"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* Returns whether networkd leaves foreign objects alone, because the setting `key` is "no". The
 * last value in networkd.conf and its drop-ins is in force; the default is "yes". */
static bool networkd_leaves(const struct look *l, const char *key)
{
	static const char *const places[] = {"/usr/lib/systemd/networkd.conf",
					     "/run/systemd/networkd.conf",
					     "/etc/systemd/networkd.conf"};
	char value[16] = "yes", folder[64];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		file_has(l, places[i], key, value, sizeof(value));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(folder, sizeof(folder), "%s.d", places[i]);
		look_in_folder(l, folder, key, value, sizeof(value));
	}
	return is_no(value);
}

static bool networkd_link(const struct look *l, char *buf, size_t size)
{
	char path[64], state[32], file[160] = "";

	snprintf(path, sizeof(path), "/run/systemd/netif/links/%u", l->ifindex);
	if (!file_has(l, path, "ADMIN_STATE", state, sizeof(state)) ||
	    strcmp(state, "unmanaged") == 0)
		return false;
	file_has(l, path, "NETWORK_FILE", file, sizeof(file));
	snprintf(buf, size,
		 "systemd-networkd manages %s%s%s; write Unmanaged=yes below [Link] %s, then run "
		 "networkctl reload",
		 l->ifname, file[0] ? " with " : "", file,
		 file[0] ? "there" : "in a .network file that matches it");
	return true;
}

/* When networkd starts, it removes foreign rules and routes together, so the text names both
 * settings. */
static bool networkd_explain(const struct look *l, char *buf, size_t size)
{
	const bool rules = !networkd_leaves(l, "ManageForeignRoutingPolicyRules");
	const bool routes = !networkd_leaves(l, "ManageForeignRoutes");

	if (l->matter == MANAGERS_LINKS)
		return networkd_link(l, buf, size);
	if (l->matter == MANAGERS_RULES ? !rules : !routes)
		return false;
	snprintf(buf, size,
		 "systemd-networkd removes %s%s%s of other programs; write %s%s%s below [Network] "
		 "into /etc/systemd/networkd.conf.d/plenum.conf, then restart systemd-networkd",
		 rules ? "rules" : "", rules && routes ? " and " : "", routes ? "routes" : "",
		 rules ? "ManageForeignRoutingPolicyRules=no" : "", rules && routes ? ", " : "",
		 routes ? "ManageForeignRoutes=no" : "");
	return true;
}

/* ---- other managers ---- */

static bool network_manager_explain(const struct look *l, char *buf, size_t size)
{
	char path[64], managed[8] = "";

	/* NetworkManager removes foreign addresses, and with them their routes, but it keeps
	 * foreign rules. */
	if (l->matter == MANAGERS_RULES)
		return false;
	snprintf(path, sizeof(path), "/run/NetworkManager/devices/%u", l->ifindex);
	if (!file_has(l, path, "managed", managed, sizeof(managed)) || is_no(managed))
		return false;
	/* '+=' adds to the values in other files of conf.d; '=' would replace these values. */
	snprintf(buf, size,
		 "NetworkManager manages %s; write unmanaged-devices+=interface-name:%s below "
		 "[keyfile] into /etc/NetworkManager/conf.d/plenum-%s.conf, then run nmcli general "
		 "reload",
		 l->ifname, l->ifname, l->ifname);
	return true;
}

static bool dhcpcd_explain(const struct look *l, char *buf, size_t size)
{
	snprintf(buf, size,
		 "dhcpcd is running; write denyinterfaces %s into /etc/dhcpcd.conf, then restart "
		 "dhcpcd",
		 l->ifname);
	return true;
}

static bool connman_explain(const struct look *l, char *buf, size_t size)
{
	snprintf(buf, size,
		 "connmand is running; add %s to NetworkInterfaceBlacklist below [General] in "
		 "/etc/connman/main.conf, then restart connmand",
		 l->ifname);
	return true;
}

static const struct manager managers[] = {
	{"systemd-network", networkd_explain},
	{"NetworkManager", network_manager_explain},
	{"dhcpcd", dhcpcd_explain},
	{"connmand", connman_explain},
};

/* ---- running processes ---- */

static bool is_process(const char *name)
{
	return isdigit((unsigned char)name[0]);
}

static int read_netns(const struct look *l, const char *process, char *ret, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/%s/ns/net", l->root, process);
	n = readlink(path, ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

/* Returns whether the process is in the agent's network namespace; others do not matter. If the
 * namespace of another user's process cannot be read, it counts as the agent's. */
static bool is_in_our_netns(const struct look *l, const char *process)
{
	char ours[64], theirs[64];
	int r = read_netns(l, process, theirs, sizeof(theirs));

	if (r < 0)
		return r == -EACCES || r == -EPERM;
	return read_netns(l, "self", ours, sizeof(ours)) == 0 && strcmp(ours, theirs) == 0;
}

static void note_process(const struct look *l, const char *process, bool *runs)
{
	char path[64];
	autofree char *comm = NULL;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", process);
	comm = read_text(l, path);
	for (size_t i = 0; comm && i < ARRAY_SIZE(managers); i++) {
		const size_t len = strlen(managers[i].comm);

		if (strncmp(comm, managers[i].comm, len) == 0 &&
		    (comm[len] == '\n' || comm[len] == '\0') && is_in_our_netns(l, process))
			runs[i] = true;
	}
}

bool managers_explain(const char *root, enum managers_matter matter, const char *ifname,
		      uint32_t ifindex, char *buf, size_t size)
{
	const struct look l = {root, matter, ifname, ifindex};
	bool runs[ARRAY_SIZE(managers)] = {false};
	char path[PATH_MAX];
	struct dirent *e;
	DIR *proc;

	snprintf(path, sizeof(path), "%s/proc", root);
	proc = opendir(path);
	while (proc && (e = readdir(proc)))
		if (is_process(e->d_name))
			note_process(&l, e->d_name, runs);
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (runs[i] && managers[i].explain(&l, buf, size))
			return true;
	snprintf(buf, size,
		 "no known network manager here would do this; 'ip -t monitor' shows each change "
		 "and its time");
	return false;
}
