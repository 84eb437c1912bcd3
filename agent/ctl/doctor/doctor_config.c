/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the configuration and its plan, of the agent, of the cluster key, and of the folders
 * that these use. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"
#include "netcfg/base/os/folder.h"

#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#define ROOM_BYTES_MIN (64U << 20)
#define ROOM_INODES_MIN 1024
/* A working agent answers a request for the status in milliseconds. */
#define AGENT_SLOW_NS (2 * NSEC_PER_SEC)

static void run_host(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (p->inv) {
		doctor_report(r, DOCTOR_PASS, "%zu links, %zu addresses, %zu cores",
			      p->inv->n_links, p->inv->n_addrs, p->inv->n_cores);
		return;
	}
	doctor_report(r, DOCTOR_FAIL, "%s", p->no_inventory);
	doctor_advise(r, "plenum inventory");
}

static void run_file(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (p->spec) {
		doctor_report(r, DOCTOR_PASS, "%s is valid",
			      p->spec->n_files ? p->spec->files[0] : "the configuration");
		return;
	}
	doctor_report(r, DOCTOR_FAIL, "%s", p->no_spec);
	doctor_advise(
		r,
		"plenum validate; where plenumd runs, 'plenum config show --running' prints the "
		"running configuration; on a new host 'plenum config generate' prints a first one");
}

static void run_plan(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (p->plan) {
		doctor_report(r, DOCTOR_PASS, "%zu legs, %zu workers, %zu steps left to do",
			      p->plan->n_legs, p->plan->n_workers, json_array_size(p->steps));
		return;
	}
	doctor_report(r, DOCTOR_FAIL, "%s", p->no_plan);
	doctor_advise(r, "plenum plan");
}

static void run_needs(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_needs; i++) {
		const struct plan_need *need = &p->plan->needs[i];

		if (strcmp(need->code, "hugepages") == 0)
			continue; /* memory-hugepages reports missing hugepages in more detail */
		doctor_report(r, DOCTOR_WARN, "%s", need->why);
		if (need->command[0])
			doctor_advise(r, "%s", need->command);
		if (need->kernel_args[0])
			doctor_advise(r, "add %s to the kernel's command line, then reboot",
				      need->kernel_args);
		if (need->firmware[0])
			doctor_advise(r, "%s", need->firmware);
		if (!r->remedy[0])
			doctor_advise(r, "plenum status");
	}
	doctor_report(r, DOCTOR_PASS, "no setting of firmware, kernel or driver is missing");
}

/* ---- the agent ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void run_answers(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (p->status && p->agent_took_ns > AGENT_SLOW_NS) {
		doctor_report(
			r, DOCTOR_WARN,
			"the agent runs, but took %.1f s to answer: it or the host is overloaded",
			(double)p->agent_took_ns / NSEC_PER_SEC);
		doctor_advise(r,
			      "top(1) shows which processes use the cores that the agent may use; "
			      "workers and mounts need no agent");
		return;
	}
	if (p->status) {
		doctor_report(r, DOCTOR_PASS, "the agent answers, version %s",
			      text_of(p->status, "version"));
		return;
	}
	/* A host whose configuration has workers needs an agent that runs them. */
	if (p->agent_state == CTL_AGENT_FORBIDDEN)
		doctor_report(r, DOCTOR_UNKNOWN, "%s", p->no_agent);
	else
		doctor_report(r, p->spec && p->spec->n_workers > 0 ? DOCTOR_FAIL : DOCTOR_WARN,
			      "%s", p->no_agent);
	doctor_advise(r, "%s", p->agent_remedy);
}

static void run_version(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	const char *version = text_of(p->status, "version");

	if (strcmp(version, PLENUM_VERSION) == 0) {
		doctor_report(r, DOCTOR_PASS, "agent and command line have version %s", version);
		return;
	}
	doctor_report(r, DOCTOR_WARN, "the agent has version %s, this command line " PLENUM_VERSION,
		      version);
	doctor_advise(r, "systemctl restart plenumd (workers and mounts keep running)");
}

static void run_state(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	const char *state = text_of(p->status, "state");
	/* While the agent is starting, a part that has not started yet is not a fault. */
	const enum doctor_state is = strcmp(state, "starting") == 0 ? DOCTOR_WARN : DOCTOR_FAIL;
	const json_t *reason;
	size_t i;

	if (strcmp(state, "running") == 0) {
		doctor_report(r, DOCTOR_PASS, "the agent's state is running");
		return;
	}
	doctor_report(r, is, "the agent's state is %s", state);
	json_array_foreach (json_object_get(p->status, "reasons"), i, reason) {
		if (json_is_string(reason))
			doctor_report(r, is, "%s", json_string_value(reason));
	}
	doctor_advise(r, is == DOCTOR_WARN ? "wait for the start to end: plenum events --follow"
					   : "plenum status; plenum events");
}

/* While an applier is running, the journal belongs to its apply. */
static void run_journal(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	const bool applies =
		doctor_process_runs(p, "plenumd-applier") || json_object_get(p->status, "confirm");
	char line[128];
	const int e = doctor_read(p, line, sizeof(line), PLENUM_RUNDIR "/journal");

	if (e == -ENOENT) {
		doctor_report(r, DOCTOR_PASS, "no interrupted apply");
		return;
	}
	if (e == -EACCES && !doctor_exists(p, PLENUM_RUNDIR "/journal")) {
		doctor_report(r, DOCTOR_UNKNOWN, "this user may not look into " PLENUM_RUNDIR);
		return;
	}
	if (p->status && applies) {
		doctor_report(r, DOCTOR_PASS, "an apply is in progress");
		return;
	}
	if (p->status) {
		doctor_report(r, DOCTOR_FAIL,
			      "the agent has not finished an interrupted apply: " PLENUM_RUNDIR
			      "/journal still exists, but no applier runs");
		doctor_advise(r, "plenum status and plenum events name the step that cannot be "
				 "undone; then run plenum apply, or plenum rollback");
		return;
	}
	if (applies) { /* an applier may run without an agent, because it outlives the agent */
		doctor_report(r, DOCTOR_WARN,
			      "an apply is in progress or waits for confirmation, but no agent "
			      "answers; without a confirmation, the apply is rolled back");
		doctor_advise(r, "systemctl start plenumd; then plenum confirm, or plenum "
				 "rollback");
		return;
	}
	doctor_report(r, DOCTOR_FAIL,
		      "an apply was interrupted, and no agent runs that could roll back the "
		      "apply: " PLENUM_RUNDIR "/journal");
	doctor_advise(r, "systemctl start plenumd: it completes or rolls back the apply");
}

/* ---- folders and files ---- */

static void run_room(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	const bool is_state = strcmp(c->about, "/var/lib/plenum") == 0;
	const struct doctor_space *s = is_state ? &p->state : &p->run;

	if (s->error) {
		doctor_report(r, DOCTOR_UNKNOWN, "%s: %s", c->about, strerror(-s->error));
	} else if (s->read_only) {
		doctor_report(r, DOCTOR_FAIL, "the file system of %s is read-only", c->about);
		doctor_advise(r, "find out why (dmesg); mount -o remount,rw");
	} else if (s->free_bytes < ROOM_BYTES_MIN) {
		doctor_report(r, DOCTOR_FAIL, "%llu MiB are free below %s",
			      (unsigned long long)(s->free_bytes >> 20), c->about);
		doctor_advise(r, "make room on the file system of %s", c->about);
	} else if (s->total_inodes > 0 && s->free_inodes < ROOM_INODES_MIN) {
		doctor_report(r, DOCTOR_FAIL, "%llu inodes are free below %s",
			      (unsigned long long)s->free_inodes, c->about);
		doctor_advise(r, "remove files from the file system of %s", c->about);
	} else {
		doctor_report(r, DOCTOR_PASS, "%llu MiB are free below %s",
			      (unsigned long long)(s->free_bytes >> 20), c->about);
	}
}

/* Checks that the file belongs to root and that its mode has none of the bits in `bad`. */
static void check_mode(const struct doctor_host *p, const char *path, mode_t bad,
		       enum doctor_state absent, struct doctor_result *r)
{
	char full[PATH_MAX];
	struct stat s;

	snprintf(full, sizeof(full), "%s%s", p->root, path);
	if (stat(full, &s) < 0) {
		if (errno == EACCES)
			doctor_report(r, DOCTOR_UNKNOWN, "this user may not read %s", path);
		else if (errno == ENOENT && absent == DOCTOR_PASS)
			doctor_report(r, absent, "%s does not exist yet", path);
		else
			doctor_report(r, absent == DOCTOR_PASS ? DOCTOR_UNKNOWN : absent, "%s: %s",
				      path, strerror(errno));
		return;
	}
	if (s.st_uid != 0) {
		doctor_report(r, DOCTOR_FAIL, "%s belongs to user %u", path, s.st_uid);
		doctor_advise(r, "chown root: %s", path);
	} else if (s.st_mode & bad) {
		doctor_report(r, DOCTOR_FAIL, "%s has mode %04o", path, s.st_mode & 07777);
		doctor_advise(r, "chmod %s %s", S_ISDIR(s.st_mode) ? "0700" : "0600", path);
	} else {
		doctor_report(r, DOCTOR_PASS, "%s has mode %04o", path, s.st_mode & 07777);
	}
}

static void run_state_folder(const struct doctor_host *p, const struct doctor_check *c,
			     struct doctor_result *r)
{
	check_mode(p, c->about, 022, DOCTOR_PASS, r);
}

static void run_key(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	const char *file = p->spec->cluster.secret_file;

	if (!file) {
		doctor_report(r, DOCTOR_PASS, "no cluster key is configured");
		return;
	}
	check_mode(p, file, 077, DOCTOR_FAIL, r);
	if (r->state == DOCTOR_FAIL && !r->remedy[0])
		doctor_advise(
			r, "plenum secret generate %s; or copy the key from a host of the cluster",
			file);
}

static void run_security(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	/* A host without a cluster has no cluster key, whatever the default of `security` is. */
	if (*p->spec->cluster.name && p->spec->cluster.security != SPEC_SECURITY_NONE) {
		doctor_report(r, DOCTOR_PASS, "packets between hosts are protected: %s",
			      spec_security_to_string(p->spec->cluster.security));
		return;
	}
	doctor_report(
		r, DOCTOR_WARN,
		"packets between hosts are not authenticated: only for a trusted data network");
	doctor_advise(r, "plenum secret generate; write cluster: {name: NAME, secret-file: FILE}");
}

/* Checks the folder of an export or mount point. `space`: the result of statfs(2); NULL: it was not
 * called. */
static void check_folder(const struct doctor_host *p, const char *path, const char *what,
			 const struct doctor_space *space, struct doctor_result *r)
{
	char full[PATH_MAX];
	struct stat s;

	if (space && space->error == -ETIMEDOUT) {
		doctor_report(r, DOCTOR_FAIL, "the file system of %s %s does not answer", what,
			      path);
		doctor_advise(r, "check its disk or its server: dmesg(1)");
		return;
	}
	snprintf(full, sizeof(full), "%s%s", p->root, path);
	if (stat(full, &s) == 0 && S_ISDIR(s.st_mode))
		return;
	if (errno == EACCES && !p->privileged) {
		doctor_report(r, DOCTOR_UNKNOWN, "this user may not read %s %s", what, path);
		return;
	}
	doctor_report(r, DOCTOR_FAIL, "%s %s is not a folder", what, path);
	doctor_advise(r, "mkdir -p %s", path);
}

/* Checks the path of an export: the agent follows only symbolic links that belong to root. */
static void check_links(const struct doctor_host *p, const char *path, struct doctor_result *r)
{
	char full[PATH_MAX], link[FOLDER_LINK_MAX], real[PATH_MAX];
	autoclose int fd = -1;

	snprintf(full, sizeof(full), "%s%s", p->root, path);
	fd = folder_open(full, link);
	if (fd != -ELOOP)
		return;
	doctor_report(r, DOCTOR_FAIL,
		      "export %s: %s is a symbolic link that others than root could have made",
		      path, link + strlen(p->root));
	if (realpath(full, real))
		doctor_advise(r, "write the real path of the folder that you want to export: %s",
			      real);
}

static void run_exports(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < p->spec->n_workers; i++)
		for (size_t j = 0; j < p->spec->workers[i].n_exports; j++, n++) {
			const struct doctor_space *space =
				n < DOCTOR_FOLDERS_MAX ? &p->exports[n] : NULL;

			check_folder(p, p->spec->workers[i].exports[j].path, "export", space, r);
			if (!space || space->error != -ETIMEDOUT)
				check_links(p, p->spec->workers[i].exports[j].path, r);
		}
	doctor_report(r, DOCTOR_PASS, "all exported folders exist, and no path has a user's link");
}

/* Checks the free space, because a full file system makes the writes of all clients fail. */
static void check_room(const char *path, const struct doctor_space *s, struct doctor_result *r)
{
	const bool counts_inodes = s->total_inodes > 0;

	if (s->error == -ENOENT || s->error == -ENOTDIR || s->error == -ETIMEDOUT ||
	    (!s->error && !s->total_bytes))
		return;
	if (s->error) {
		doctor_report(r, DOCTOR_UNKNOWN, "export %s: %s", path, strerror(-s->error));
		return;
	}
	if (s->free_bytes == 0 || (counts_inodes && s->free_inodes == 0))
		doctor_report(r, DOCTOR_FAIL, "the file system of export %s is full: no %s is free",
			      path, s->free_bytes == 0 ? "byte" : "inode");
	else if (s->free_bytes < s->total_bytes / 100)
		doctor_report(r, DOCTOR_WARN, "less than 1 %% is free for export %s: %llu MiB",
			      path, (unsigned long long)(s->free_bytes >> 20));
	else if (counts_inodes && s->free_inodes < s->total_inodes / 100)
		doctor_report(r, DOCTOR_WARN, "less than 1 %% is free for export %s: %llu inodes",
			      path, (unsigned long long)s->free_inodes);
	else
		return;
	doctor_advise(r, "make room on the file system of %s", path);
}

static void run_room_exports(const struct doctor_host *p, const struct doctor_check *c,
			     struct doctor_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < p->spec->n_workers; i++)
		for (size_t j = 0; j < p->spec->workers[i].n_exports; j++, n++)
			if (n < DOCTOR_FOLDERS_MAX && !p->spec->workers[i].exports[j].read_only)
				check_room(p->spec->workers[i].exports[j].path, &p->exports[n], r);
	doctor_report(r, DOCTOR_PASS, "no file system of an export is full");
}

/* Writes the path as mountinfo(5) shows it, with \ooo in place of blanks, tabs, newlines and
 * backslashes. */
static void escape_path(const char *path, char *buf, size_t size)
{
	size_t n = 0;

	for (; *path && n + 5 < size; path++)
		n += (size_t)snprintf(buf + n, 5, strchr(" \t\n\\", *path) ? "\\%03o" : "%c",
				      (unsigned char)*path);
	buf[n] = '\0';
}

/* Returns whether something is mounted at the path. Reads mountinfo, because stat(2) of a mount
 * without a server would block. */
static bool is_mounted(const struct doctor_host *p, const char *path)
{
	autofree char *text = doctor_read_all(p, "/proc/self/mountinfo"), *word = NULL;
	char escaped[PATH_MAX];

	escape_path(path, escaped, sizeof(escaped));
	return text && asprintf(&word, " / %s ", escaped) > 0 && strstr(text, word) != NULL;
}

static void run_mountpoints(const struct doctor_host *p, const struct doctor_check *c,
			    struct doctor_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < p->spec->n_workers; i++)
		for (size_t j = 0; j < p->spec->workers[i].n_mounts; j++, n++)
			if (!is_mounted(p, p->spec->workers[i].mounts[j].path))
				check_folder(p, p->spec->workers[i].mounts[j].path, "mount point",
					     n < DOCTOR_FOLDERS_MAX ? &p->mounts[n] : NULL, r);
	doctor_report(r, DOCTOR_PASS, "all mount points exist");
}

/* Returns whether the first path equals the second or is a parent of it. */
static bool is_at_or_above(const char *point, const char *path)
{
	const size_t len = strcmp(point, "/") == 0 ? 0 : strlen(point);

	return strncmp(point, path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Returns whether another file system, `by`, hides the mount at the path because it was mounted
 * later. */
static bool is_covered(const struct doctor_host *p, const char *path, char *by, size_t size)
{
	autofree char *text = doctor_read_all(p, "/proc/self/mountinfo");
	char escaped[PATH_MAX], *save = NULL;
	bool is_there = false, covered = false;

	escape_path(path, escaped, sizeof(escaped));
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char point[PATH_MAX], type[64];
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 ||
		    sscanf(rest, " - %63s", type) != 1)
			continue;
		if (strcmp(point, escaped) == 0 && strcmp(type, "fuse.plenum") == 0) {
			is_there = true;
			covered = false;
		} else if (is_there && is_at_or_above(point, escaped)) {
			covered = true;
			snprintf(by, size, "%s", type);
		}
	}
	return covered;
}

static void run_reached(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	char by[64];

	for (size_t i = 0; i < p->spec->n_workers; i++)
		for (size_t j = 0; j < p->spec->workers[i].n_mounts; j++) {
			const char *path = p->spec->workers[i].mounts[j].path;

			if (!is_covered(p, path, by, sizeof(by)))
				continue;
			doctor_report(r, DOCTOR_FAIL,
				      "another program has mounted a %s file system over mount %s",
				      by, path);
			doctor_advise(r, "unmount what findmnt shows over %s", path);
		}
	doctor_report(r, DOCTOR_PASS, "no other file system covers a mount");
}

static void run_served(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	const json_t *mount;
	char by[64];
	size_t i;

	json_array_foreach (json_object_get(p->status, "mounts"), i, mount) {
		if (!json_is_false(json_object_get(mount, "served")) ||
		    is_covered(p, text_of(mount, "path"), by, sizeof(by)))
			continue;
		doctor_report(r, DOCTOR_FAIL, "mount %s: server %s does not serve export %s",
			      text_of(mount, "path"), text_of(mount, "peer"),
			      text_of(mount, "export"));
		doctor_advise(r, "plenum doctor --peer %s; plenum status on that host",
			      text_of(mount, "peer"));
	}
	doctor_report(r, DOCTOR_PASS, "all mounts are served");
}

static void run_unit(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!doctor_exists(p, "/run/systemd/system")) {
		doctor_report(r, DOCTOR_UNKNOWN, "systemd does not run here");
	} else if (doctor_exists(p,
				 "/etc/systemd/system/multi-user.target.wants/plenumd.service")) {
		doctor_report(r, DOCTOR_PASS, "plenumd.service is enabled");
	} else {
		doctor_report(r, DOCTOR_WARN,
			      "plenumd.service is not enabled: it does not start at boot");
		doctor_advise(r, "systemctl enable plenumd");
	}
}

static bool has_account(const struct doctor_host *p, const char *name)
{
	autofree char *text = doctor_read_all(p, "/etc/passwd");
	const size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return true;
	}
	/* The name may be known to a directory service even if it is not in the file. */
	return !p->root[0] && getpwnam(name);
}

static void run_accounts(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	static const char *const names[] = {"plenum", "plenum-worker"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_account(p, names[i]))
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "this host has no user %s: processes of Plenum share a uid with "
			      "other programs, and these programs can stop them",
			      names[i]);
		doctor_advise(r, "systemd-sysusers; plenum apply");
	}
	doctor_report(r, DOCTOR_PASS, "the users plenum and plenum-worker exist");
}

static const struct doctor_check checks[] = {
	{"config-host", "The devices of the host can be read", 0, run_host, NULL},
	{"config-file", "The configuration is valid", 0, run_file, NULL},
	{"config-plan", "The configuration fits the host",
	 DOCTOR_NEEDS_SPEC | DOCTOR_NEEDS_INVENTORY, run_plan, NULL},
	{"config-needs", "No setting of firmware, kernel or driver is missing", DOCTOR_NEEDS_PLAN,
	 run_needs, NULL},
	{"agent-answers", "The agent runs and answers", 0, run_answers, NULL},
	{"agent-version", "Agent and command line have one version", DOCTOR_NEEDS_AGENT,
	 run_version, NULL},
	{"agent-state", "The agent reports no problem", DOCTOR_NEEDS_AGENT, run_state, NULL},
	{"agent-enabled", "The agent starts at boot", 0, run_unit, NULL},
	{"accounts", "Plenum's processes have users of their own", 0, run_accounts, NULL},
	{"agent-journal", "No apply was interrupted", 0, run_journal, NULL},
	{"room-state", "There is room for the journal and the applied configuration", 0, run_room,
	 "/var/lib/plenum"},
	{"room-run", "There is room for the agent's runtime files", 0, run_room, "/run/plenum"},
	{"room-exports", "There is room on the file systems of exports", DOCTOR_NEEDS_SPEC,
	 run_room_exports, NULL},
	{"state-folder", "Only root can write to the journal's folder", 0, run_state_folder,
	 "/var/lib/plenum"},
	{"key-file", "The cluster key exists and only root can read it", DOCTOR_NEEDS_SPEC, run_key,
	 NULL},
	{"key-security", "Packets between hosts are authenticated", DOCTOR_NEEDS_SPEC, run_security,
	 NULL},
	{"folders-exported", "The exported folders exist", DOCTOR_NEEDS_SPEC, run_exports, NULL},
	{"folders-mounted", "The mount points exist", DOCTOR_NEEDS_SPEC, run_mountpoints, NULL},
	{"mounts-reached", "Programs reach the mounts", DOCTOR_NEEDS_SPEC, run_reached, NULL},
	{"mounts-served", "All mounts are served", DOCTOR_NEEDS_AGENT, run_served, NULL},
};

const struct doctor_subject doctor_config = DOCTOR_SUBJECT("configuration and agent", checks);
