/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adopts the workers of an earlier agent. It finds them by the stored descriptors or by the record,
 * gets missing descriptors from the worker itself, and compares the configurations. From then on
 * the supervisor treats them like workers that it started. This file validates everything that
 * comes from outside the supervisor.
 */
#include "agent/base/child/spawn.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/text.h"
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

/* ---- descriptors from the store ---- */

static int take_stored(struct sup_worker *w, const char *what, int fd)
{
	uint64_t identity;
	int *slot = NULL;

	if (strcmp(what, "state") == 0) {
		if (!sup_state_identity(fd, &identity))
			return -ENOENT; /* another version stored it under an unknown name */
		w->boot_id = identity;
		slot = &w->state_fd;
	} else if (strcmp(what, "pid") == 0) {
		slot = &w->pidfd;
	} else if (strcmp(what, "control") == 0) {
		slot = &w->control_fd;
	} else if (strcmp(what, "config") == 0) {
		slot = &w->found.config_fd;
	} else if (strcmp(what, "stats") == 0) {
		slot = &w->found.stats_fd;
	}
	if (!slot || *slot >= 0)
		return -ENOENT;
	*slot = fd;
	return 0;
}

int sup_adopt_stored(struct sup *s, int fd, const char *name)
{
	struct sup_worker *w;
	char what[16];
	uint32_t id;
	int n = 0;

	if (exports_adopt_stored(&s->exports, fd, name) == 0)
		return 0;
	if (sscanf(name, "%15[a-z]-%" SCNu32 "%n", what, &id, &n) != 2 || name[n])
		return -ENOENT;
	w = sup_worker_add(s, id);
	return w ? take_stored(w, what, fd) : -ENOMEM;
}

/* ---- descriptors from the worker ---- */

static void fetch(const struct sup_worker *w, int their_fd, int *slot)
{
	if (*slot < 0)
		*slot = pidfd_getfd(w->pidfd, their_fd, 0);
	if (*slot < 0)
		log_debug("cannot copy descriptor %d of worker %u: %s", their_fd, w->id,
			  strerror(errno));
}

static void fetch_state(struct sup_worker *w)
{
	if (w->state_fd >= 0)
		return;
	fetch(w, LAUNCH_FD_STATE, &w->state_fd);
	if (w->state_fd >= 0 && sup_state_identity(w->state_fd, &w->boot_id))
		sup_store(w, "state", w->state_fd);
	else
		cleanup_close(&w->state_fd), w->state_fd = -1;
}

static void fetch_mount(struct sup_worker *w, const struct rundir_fuse *f)
{
	struct mounts *m = w->sup->setup.mounts;
	int fd = -1;

	if (!mounts_has(m, f->id)) {
		fetch(w, f->fd, &fd);
		if (fd >= 0 && mounts_adopt(m, fd, f->id) < 0)
			close(fd);
	}
	fd = -1;
	if (f->state_fd >= 0)
		fetch(w, f->state_fd, &fd);
	if (fd >= 0 && mounts_adopt_state(m, fd, f->id) < 0)
		close(fd);
}

/* Notes which mounts and exports the worker serves, according to the record. Whatever the worker's
 * version is, no other worker may serve these before this worker has exited. */
static void note_served(struct sup_worker *w, const struct rundir_process *p)
{
	autofree struct launch_config *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	for (uint32_t i = 0; i < p->n_fuse; i++)
		mounts_path(w->sup->setup.mounts, p->fuse[i].id, c->mounts[c->n_mounts++].path,
			    sizeof(c->mounts[0].path));
	for (uint32_t i = 0; i < p->n_states; i++)
		memcpy(c->exports[c->n_exports++].name, p->states[i].export,
		       sizeof(c->exports[0].name));
	sup_keep_started(w, c);
}

/* Copies the resources that the worker's successor needs: the worker's mounts with their states,
 * the states of its exports, and the mounts that it serves as a mount worker. The workers that own
 * those shared mounts may have exited. */
static void fetch_resources(struct sup_worker *w, const struct rundir_process *p)
{
	for (uint32_t i = 0; i < p->n_fuse; i++) {
		fetch_mount(w, &p->fuse[i]);
		mounts_serve(w->sup->setup.mounts, p->fuse[i].id, w->id);
	}
	for (uint32_t i = 0; i < p->n_shared; i++)
		fetch_mount(w, &p->shared[i]);
	for (uint32_t i = 0; i < p->n_states; i++) {
		int fd = -1;

		if (exports_has_state(&w->sup->exports, p->states[i].export))
			continue;
		fetch(w, p->states[i].fd, &fd);
		if (fd >= 0 && exports_adopt(&w->sup->exports, p->states[i].export, fd) < 0)
			close(fd);
	}
}

/* ---- adoption ---- */

static bool has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

/* Checks a mount's texts. A path may contain any characters; the names are printed, so they must be
 * printable. */
static bool mount_is_valid(const struct launch_mount *m)
{
	return text_is_utf8(m->path, sizeof(m->path)) &&
	       text_is_clean(m->export_name, sizeof(m->export_name)) &&
	       text_is_clean(m->peer, sizeof(m->peer)) &&
	       sup_flag_is_valid(&m->has_mount_workers) &&
	       sup_flag_is_valid(&m->mount_workers_always) && sup_flag_is_valid(&m->read_only) &&
	       sup_flag_is_valid(&m->suid) && sup_flag_is_valid(&m->dev) &&
	       sup_flag_is_valid(&m->write_back) && m->locks < LAUNCH_LOCKS_MAX &&
	       m->n_addrs <= LAUNCH_PEER_ADDRS_MAX;
}

static bool export_is_valid(const struct launch_export *e)
{
	return text_is_clean(e->name, sizeof(e->name)) && text_is_utf8(e->path, sizeof(e->path)) &&
	       sup_flag_is_valid(&e->read_only) && sup_flag_is_valid(&e->crosses);
}

static bool counts_are_valid(const struct launch_config *c)
{
	return c->n_ports <= LAUNCH_PORTS_MAX && c->n_mounts <= LAUNCH_MOUNTS_MAX &&
	       c->n_shared <= LAUNCH_SHARED_MOUNTS_MAX &&
	       c->n_shared_missing <= LAUNCH_SHARED_MOUNTS_MAX - c->n_shared &&
	       c->n_exports <= LAUNCH_EXPORTS_MAX &&
	       c->n_missing <= LAUNCH_EXPORTS_MAX - c->n_exports &&
	       c->n_secrets <= LAUNCH_SECRETS_MAX && c->n_revoked <= LAUNCH_REVOKED_MAX &&
	       c->n_clients <= LAUNCH_CLIENTS_MAX && c->n_ids <= LAUNCH_IDS_MAX &&
	       c->n_client_addrs <= LAUNCH_CLIENT_ADDRS_MAX;
}

/* Validates a configuration, because a worker may have put another file at this descriptor
 * number. */
static bool config_is_valid(const struct launch_config *c)
{
	if (!counts_are_valid(c) || !text_is_clean(c->host, sizeof(c->host)) ||
	    (unsigned)c->role >= LAUNCH_ROLE_MAX ||
	    (unsigned)c->transport >= LAUNCH_TRANSPORT_MAX ||
	    (unsigned)c->security >= LAUNCH_SECURITY_MAX ||
	    (unsigned)c->identity > LAUNCH_IDENTITY_REQUIRE || !sup_flag_is_valid(&c->failover))
		return false;
	for (uint32_t i = 0; i < c->n_revoked; i++)
		if (!text_is_clean(c->revoked[i].host, sizeof(c->revoked[i].host)))
			return false;
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (!sup_port_is_valid(&c->ports[i]))
			return false;
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (!mount_is_valid(&c->mounts[i]))
			return false;
	for (uint32_t i = 0; i < c->n_shared + c->n_shared_missing; i++)
		if (!mount_is_valid(&c->shared[i]))
			return false;
	for (uint32_t i = 0; i < c->n_exports + c->n_missing; i++)
		if (!export_is_valid(&c->exports[i]))
			return false;
	return true;
}

/* Reads the worker's configuration into w->config and normalises it. Returns 0, -EPROTO if the
 * worker has another version, or another negative errno. */
static int read_config(struct sup_worker *w)
{
	struct launch_config *c = &w->config;
	int fd = w->found.config_fd, seals = fcntl(fd, F_GET_SEALS);
	ssize_t n = pread(fd, c, sizeof(*c), 0);

	if (seals < 0 || !(seals & F_SEAL_WRITE) || n < (ssize_t)(3 * sizeof(uint32_t)) ||
	    c->magic != LAUNCH_MAGIC)
		return -EINVAL;
	if (c->version != LAUNCH_VERSION || c->size != sizeof(*c) || n != (ssize_t)sizeof(*c))
		return -EPROTO;
	if (c->worker_id != w->id || !config_is_valid(c))
		return -EINVAL;
	return 0;
}

/* Copies the worker's shared memory, which other workers and their successors also use. */
static void fetch_shared(struct sup_worker *w, const char *name, int at)
{
	int fd = -1;

	if (at < LAUNCH_FD_FIRST || exports_has_state(&w->sup->exports, name))
		return;
	fetch(w, at, &fd);
	if (fd >= 0 && exports_adopt(&w->sup->exports, name, fd) < 0)
		close(fd);
}

/* Returns the number of the descriptor by which the process inherited a table of file locks, of any
 * version; -1: it inherited none. */
static int find_locks(pid_t pid)
{
	static const char head[] = "/memfd:" EXPORTS_LOCKS_MEMFD;
	char path[48], target[sizeof(head)];

	for (int fd = LAUNCH_FD_FIRST; fd < LAUNCH_FD_FIRST + SPAWN_FDS_MAX; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		if (readlink(path, target, sizeof(target)) >= (ssize_t)strlen(head) &&
		    memcmp(target, head, strlen(head)) == 0)
			return fd;
	}
	return -1;
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Adopts the worker's table of file locks, if this agent has none yet. If this agent already uses
 * another table, sets w->other_locks: locks in the two tables do not exclude each other, so no
 * other worker may serve exports before this worker has exited. */
static void fetch_locks(struct sup_worker *w)
{
	struct exports *x = &w->sup->exports;
	const int at = find_locks(w->pid);
	int fd = -1;

	if (at < 0)
		return;
	fetch(w, at, &fd);
	if (fd >= 0 && !exports_has_state(x, EXPORTS_LOCKS) &&
	    exports_adopt(x, EXPORTS_LOCKS, fd) == 0)
		return;
	w->other_locks = !is_same_file(fd, exports_locks(x));
	cleanup_close(&fd);
}

static void fetch_bell(struct sup_worker *w, const struct launch_mount *m)
{
	int fd = -1;

	if (m->bell_fd >= LAUNCH_FD_FIRST)
		fetch(w, m->bell_fd, &fd);
	if (fd >= 0 && mounts_adopt_bell(w->sup->setup.mounts, fd, m->id) < 0)
		close(fd);
}

static void fetch_bells(struct sup_worker *w)
{
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		fetch_bell(w, &w->config.mounts[i]);
	for (uint32_t i = 0; i < w->config.n_shared; i++)
		fetch_bell(w, &w->config.shared[i]);
}

static void store_all(const struct sup_worker *w)
{
	sup_store(w, "pid", w->pidfd);
	sup_store(w, "control", w->control_fd);
	sup_store(w, "config", w->found.config_fd);
	sup_store(w, "stats", w->found.stats_fd);
}

/* Gets the worker's configuration and descriptors. Returns NULL if the worker can be adopted,
 * otherwise the reason why it cannot. */
static const char *complete(struct sup_worker *w)
{
	int r;

	fetch_state(w);
	fetch(w, LAUNCH_FD_AGENT, &w->control_fd);
	fetch(w, LAUNCH_FD_CONFIG, &w->found.config_fd);
	r = w->found.config_fd < 0 ? -EINVAL : read_config(w);
	fetch_locks(w);
	if (r == -EPROTO)
		return "it has another version";
	if (w->other_locks)
		return "its file locks are in another table than those of this agent's workers";
	if (r >= 0) {
		fetch_shared(w, EXPORTS_SHARE, w->config.share_fd);
		fetch_bells(w);
	}
	fetch(w, LAUNCH_FD_STATS, &w->found.stats_fd);
	if (r >= 0 && w->found.stats_fd >= 0) {
		w->stats = sup_stats_map(w->found.stats_fd);
		w->watch = sup_watch_map(w->found.stats_fd);
	}
	return r < 0 || w->control_fd < 0 || !w->stats ? "its descriptors cannot be copied" : NULL;
}

static void take_over(struct sup_worker *w)
{
	const char *why;

	w->pid = spawn_pidfd_pid(w->pidfd);
	if (w->pid < 0 || has_ended(w->pidfd)) {
		sup_read_sent(w); /* handles the worker's requests to pin files */
		sup_forget_process(w);
		sup_note_death(w, "ended while no agent was running");
		return;
	}
	why = complete(w);
	if (why)
		snprintf(w->reason, sizeof(w->reason), "%s", why);
	else
		store_all(w);
	sup_handle_event(w, why ? SUP_EV_FOUND_OTHER : SUP_EV_FOUND);
}

static void close_found(struct sup_worker *w)
{
	cleanup_close(&w->found.config_fd);
	cleanup_close(&w->found.stats_fd);
	w->found.config_fd = w->found.stats_fd = -1;
}

/* Finds the worker of a recorded process. A stored pidfd has priority over the record's entry,
 * which may be older: the entry counts only if it names the same process. */
static void find_recorded(struct sup *s, struct rundir_process *p)
{
	struct sup_worker *w;

	if (p->launch_version == 0)
		return;
	w = sup_worker_add(s, p->worker_id);
	if (!w)
		return;
	if (w->pidfd < 0)
		w->pidfd = rundir_open_process(p);
	if (w->pidfd >= 0 && has_ended(w->pidfd))
		/* the unread messages of the ended worker pin files of these exports */
		note_served(w, p);
	if (w->pidfd < 0 || spawn_pidfd_pid(w->pidfd) != p->pid)
		return;
	w->n_restarts = p->n_restarts;
	if (!w->died_ms) {
		w->died_ms = p->died_ms;
		snprintf(w->died_of, sizeof(w->died_of), "%s", p->died_of);
	}
	fetch_resources(w, p);
	note_served(w, p);
}

static void say_unread_record(const struct sup *s)
{
	const struct rundir *rd = s->setup.rundir;

	if (rd->record_version && rd->record_version != RUNDIR_RECORD_VERSION)
		events_add(s->setup.events, LOG_LEVEL_WARNING, "agent",
			   "the record of workers and mounts has version %u, this agent's has %u: "
			   "workers and mounts whose descriptors were not stored "
			   "are restarted",
			   rd->record_version, RUNDIR_RECORD_VERSION);
	else if (rd->record_error < 0 && rd->record_error != STATE_MISSING &&
		 rd->record_error != STATE_OTHER_BOOT)
		events_add(s->setup.events, LOG_LEVEL_WARNING, "agent",
			   "cannot read all of %s/record (%s): workers and mounts that the record "
			   "lacks are restarted unless the service manager kept their descriptors",
			   rd->run, state_file_error(rd->record_error));
}

void sup_adopt(struct sup *s)
{
	struct rundir *rd = s->setup.rundir;

	say_unread_record(s);
	for (size_t i = 0; i < rd->n_processes; i++)
		find_recorded(s, &rd->processes[i]);
	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->pidfd >= 0)
			take_over(w);
		close_found(w);
	}
}
