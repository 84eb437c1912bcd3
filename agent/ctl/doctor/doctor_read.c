/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for checks, which report a finding or read the snapshot of the host. */
#include "agent/ctl/doctor/doctor.h"
#include "netcfg/host/bond_setting.h"

#include "netcfg/base/file.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#define FILE_BYTES_MAX (4U << 20)
/* procfs does not accept larger writes to its settings, so no setting is longer */
#define LINE_BYTES_MAX 4096

const char *doctor_state_to_string(enum doctor_state s)
{
	static const char *const names[] = {[DOCTOR_PASS] = "pass",
					    [DOCTOR_NOTE] = "note",
					    [DOCTOR_UNKNOWN] = "unknown",
					    [DOCTOR_WARN] = "warn",
					    [DOCTOR_FAIL] = "fail"};

	return s < DOCTOR_STATE_MAX ? names[s] : "?";
}

/* Appends a text. A text that does not fit is not added at all. */
static void add_text(char *buf, size_t size, const char *text)
{
	const size_t len = strlen(buf);

	if (strstr(buf, text))
		return;
	if (len == 0)
		snprintf(buf, size, "%s", text);
	else if (len + 2 + strlen(text) < size)
		snprintf(buf + len, size - len, "; %s", text);
}

/* Formats a text. Cuts a text that does not fit at a blank. */
static void format_text(char *buf, size_t size, const char *fmt, va_list args)
{
	char *end;

	if (vsnprintf(buf, size, fmt, args) < (int)size)
		return;
	buf[size - sizeof(" ...")] = '\0';
	end = strrchr(buf, ' ');
	snprintf(end ? end : buf, sizeof(" ..."), " ...");
}

void doctor_report(struct doctor_result *r, enum doctor_state s, const char *fmt, ...)
{
	char text[sizeof(r->evidence)];
	va_list args;

	r->taken = s >= r->state;
	if (!r->taken)
		return;
	if (s > r->state) {
		r->evidence[0] = r->remedy[0] = '\0';
		r->n_findings = r->n_blamed = 0;
		r->state = s;
	}
	r->n_findings++;
	va_start(args, fmt);
	format_text(text, sizeof(text), fmt, args);
	va_end(args);
	add_text(r->evidence, sizeof(r->evidence), text);
}

void doctor_advise(struct doctor_result *r, const char *fmt, ...)
{
	char text[sizeof(r->remedy)];
	va_list args;

	if (!r->taken)
		return;
	va_start(args, fmt);
	format_text(text, sizeof(text), fmt, args);
	va_end(args);
	add_text(r->remedy, sizeof(r->remedy), text);
}

void doctor_blame(struct doctor_result *r, const char *id)
{
	if (!r->taken)
		return;
	r->because = id;
	r->n_blamed++;
}

const char *doctor_because(const struct doctor_result *r)
{
	return r->n_findings > 0 && r->n_blamed == r->n_findings ? r->because : NULL;
}

/* ---- files ---- */

static int make_path(const struct doctor_host *p, char path[static PATH_MAX], const char *fmt,
		     va_list args)
{
	const int len = snprintf(path, PATH_MAX, "%s", p->root);
	const int more = vsnprintf(path + len, PATH_MAX - (size_t)len, fmt, args);

	return more < 0 || more >= PATH_MAX - len ? -ENAMETOOLONG : 0;
}

static int read_path(const char *path, char *buf, size_t size)
{
	autofree char *text = NULL;
	size_t len;
	int r = file_read(path, LINE_BYTES_MAX, &text, &len);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	return snprintf(buf, size, "%s", text) >= (int)size ? -ENOSPC : 0;
}

int doctor_read(const struct doctor_host *p, char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int r;

	va_start(args, fmt);
	r = make_path(p, path, fmt, args);
	va_end(args);
	return r < 0 ? r : read_path(path, buf, size);
}

char *doctor_read_all(const struct doctor_host *p, const char *path)
{
	autofree char *full = NULL;
	char *text = NULL;
	size_t len;
	int r;

	if (asprintf(&full, "%s%s", p->root, path) < 0) {
		full = NULL;
		errno = ENOMEM;
		return NULL;
	}
	r = file_read(full, FILE_BYTES_MAX, &text, &len);
	if (r < 0)
		errno = -r;
	return r < 0 ? NULL : text;
}

static int to_number(const char *text, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 0);
	if (end == text || errno || (*end && !isspace((unsigned char)*end)))
		return -EINVAL;
	*ret = v;
	return 0;
}

int doctor_read_number(const struct doctor_host *p, int64_t *ret, const char *fmt, ...)
{
	char path[PATH_MAX], text[64];
	va_list args;
	int r;

	va_start(args, fmt);
	r = make_path(p, path, fmt, args);
	va_end(args);
	if (r >= 0)
		r = read_path(path, text, sizeof(text));
	return r < 0 ? r : to_number(text, ret);
}

bool doctor_exists(const struct doctor_host *p, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int r;

	va_start(args, fmt);
	r = make_path(p, path, fmt, args);
	va_end(args);
	return r >= 0 && access(path, F_OK) == 0;
}

static int make_sys_path(const struct doctor_host *p, char path[static PATH_MAX], const char *fmt,
			 va_list args)
{
	if (p->sys < 0)
		return -ENOENT;
	return vsnprintf(path, PATH_MAX, fmt, args) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int doctor_sys_number(const struct doctor_host *p, int64_t *ret, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int r;

	va_start(args, fmt);
	r = make_sys_path(p, path, fmt, args);
	va_end(args);
	return r < 0 ? r : sysfs_read_number(p->sys, path, ret);
}

int doctor_read_list(const struct doctor_host *p, bool *set, size_t n, const char *path)
{
	char text[1024];
	int r = doctor_read(p, text, sizeof(text), "%s", path);

	memset(set, 0, n * sizeof(*set));
	return r < 0 ? r : *text ? sysfs_parse_list(text, set, n) : 0;
}

bool doctor_process_runs(const struct doctor_host *p, const char *comm)
{
	char path[PATH_MAX], name[32];
	const struct dirent *e;
	bool runs = false;
	DIR *proc;

	snprintf(path, sizeof(path), "%s/proc", p->root);
	proc = opendir(path);
	while (proc && !runs && (e = readdir(proc)))
		runs = isdigit((unsigned char)e->d_name[0]) &&
		       doctor_read(p, name, sizeof(name), "/proc/%.20s/comm", e->d_name) >= 0 &&
		       strcmp(name, comm) == 0;
	if (proc)
		closedir(proc);
	return runs;
}

/* ---- the kernel ---- */

bool doctor_kernel_is(const struct doctor_host *p, unsigned major, unsigned minor)
{
	unsigned has_major = 0, has_minor = 0;

	if (!p->inv || sscanf(p->inv->kernel_release, "%u.%u", &has_major, &has_minor) != 2)
		return false;
	return has_major > major || (has_major == major && has_minor >= minor);
}

/* Lines of the list look like "kernel/drivers/net/bonding/bonding.ko: ..." or
 * ".../vfio-pci.ko.xz:". The file may have '-' where `name` has '_'. */
static bool list_has(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = text; (at = strchr(at, '/'));) {
		size_t i = 0;

		at++;
		while (i < len && (at[i] == name[i] || (at[i] == '-' && name[i] == '_')))
			i++;
		if (i == len && strncmp(at + len, ".ko", 3) == 0)
			return true;
	}
	return false;
}

bool doctor_has_builtin(const struct doctor_host *p, const char *name)
{
	char path[160];
	autofree char *text = NULL;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin",
		 p->inv ? p->inv->kernel_release : "");
	text = doctor_read_all(p, path);
	return text && list_has(text, name);
}

bool doctor_has_module(const struct doctor_host *p, const char *name)
{
	static const char *const lists[] = {"modules.builtin", "modules.dep"};

	if (doctor_exists(p, "/sys/module/%s", name))
		return true;
	for (size_t i = 0; p->inv && i < ARRAY_SIZE(lists); i++) {
		char path[160];
		autofree char *text = NULL;

		snprintf(path, sizeof(path), "/lib/modules/%s/%s", p->inv->kernel_release,
			 lists[i]);
		text = doctor_read_all(p, path);
		if (text && list_has(text, name))
			return true;
	}
	return false;
}

/* ---- desired configuration ---- */

bool doctor_has_role(const struct doctor_host *p, enum spec_role role)
{
	for (size_t i = 0; i < p->plan->n_workers; i++)
		if (p->plan->workers[i].role == role)
			return true;
	return false;
}

bool doctor_worker_polls(const struct plan_worker *w)
{
	return w->effective == SPEC_TRANSPORT_DPDK || w->asked == SPEC_TRANSPORT_DPDK;
}

size_t doctor_n_polling(const struct doctor_host *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->plan->n_workers; i++)
		n += doctor_worker_polls(&p->plan->workers[i]);
	return n;
}

const struct inv_link *doctor_leg_link(const struct doctor_host *p, const struct plan_leg_info *leg)
{
	return leg->ifindex && leg->state != PLAN_LEG_DISABLED
		       ? inv_link_by_index(p->inv, leg->ifindex)
		       : NULL;
}

const struct inv_bond *doctor_link_bond(const struct doctor_host *p, uint32_t ifindex)
{
	const struct inv_link *l = inv_link_by_index(p->inv, ifindex);

	return !l			  ? NULL
	       : l->kind == INV_LINK_BOND ? inv_bond_find(p->inv, ifindex)
	       : l->lower		  ? inv_bond_find(p->inv, l->lower)
					  : NULL;
}

bool doctor_bond_is_static(const struct inv_bond *b)
{
	return bond_mode_is_lag(b->setting.mode) && b->setting.mode != INV_BOND_LACP;
}

bool doctor_is_leg_link(const struct doctor_host *p, uint32_t ifindex)
{
	for (size_t i = 0; p->plan && i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);

		if (l && (l->ifindex == ifindex || l->lower == ifindex))
			return true;
	}
	return false;
}

const json_t *doctor_neighbour(const struct doctor_host *p, const char *leg, size_t n)
{
	const json_t *o;
	size_t i;

	json_array_foreach (json_object_get(p->net, "net"), i, o) {
		const char *name = json_string_value(json_object_get(o, "name"));

		if (name && strcmp(name, leg) == 0)
			return json_array_get(json_object_get(o, "neighbours"), n);
	}
	return NULL;
}

json_int_t doctor_agent_pid(const struct doctor_host *p)
{
	const json_t *list = json_object_get(p->processes, "processes"), *process;
	json_int_t pid = 0;
	size_t i;

	json_array_foreach (list, i, process) {
		const char *role = json_string_value(json_object_get(process, "role"));

		if (role && strcmp(role, "MANAGEMENT") == 0)
			pid = json_integer_value(json_object_get(process, "pid"));
	}
	return pid;
}

const char *doctor_leg_text(const struct doctor_host *p, size_t i, const char *key)
{
	const json_t *leg;
	size_t k;

	json_array_foreach (json_object_get(p->status, "legs"), k, leg) {
		const char *name = json_string_value(json_object_get(leg, "name"));
		const char *text = json_string_value(json_object_get(leg, key));

		if (name && strcmp(name, p->plan->legs[i].name) == 0)
			return text ? text : "";
	}
	return "";
}

const json_t *doctor_find_path(const struct doctor_host *p, const struct doctor_probe *e)
{
	const json_t *path, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path) {
		const char *leg = json_string_value(json_object_get(path, "leg"));
		const char *remote = json_string_value(json_object_get(path, "remote"));
		struct ip_addr to;

		if (!leg || strcmp(leg, e->leg) != 0 || !remote || ip_addr_parse(remote, &to) < 0 ||
		    !ip_addr_equal(&to, &e->to))
			continue;
		if (!found || json_is_true(json_object_get(path, "up")))
			found = path;
	}
	return found;
}

bool doctor_peer_answers(const struct doctor_host *p, const struct doctor_probe *e)
{
	const json_t *path = doctor_find_path(p, e);

	return path ? json_is_true(json_object_get(path, "up")) : e->port.n_answered > 0;
}

int doctor_core_node(const struct doctor_host *p, unsigned core)
{
	for (size_t i = 0; i < p->inv->n_cores; i++)
		if (p->inv->cores[i].id == core)
			return p->inv->cores[i].numa_node;
	return INV_NUMA_NONE;
}
