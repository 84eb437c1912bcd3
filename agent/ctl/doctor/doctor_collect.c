/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the snapshot that all checks read: reads the host, the configuration and the agent once.
 * Tests make their own snapshots instead. If a part cannot be read, the snapshot has the reason.
 * Changes nothing. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/apply/route_check.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include "netcfg/spec/spec.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/wait.h>

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"
/* A stopped or killed agent is recognised within a second, but a working agent may take long under
 * a heavy load. */
#define AGENT_LIMIT_S 10
#define SPACE_LIMIT_NS (2 * NSEC_PER_SEC)

/* Copies the first diagnostic to buf as the reason or, if there is none, the text of the error. */
static void set_reason(char *buf, size_t size, const struct diag *d, int error)
{
	autofree char *text = diag_format(d);

	if (text && *text) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(buf, size, "%s", text);
	} else {
		snprintf(buf, size, "%s", strerror(-error));
	}
}

static void collect_host(struct doctor_host *p)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int r = kernel_linux_new(&p->kernel);

	if (r >= 0)
		r = inv_collect(p->kernel, &d, &p->inv);
	if (r < 0)
		set_reason(p->no_inventory, sizeof(p->no_inventory), &d, r);
	p->sys = sysfs_open();
}

/* ---- the agent ---- */

/* Gets an object from the agent. Returns NULL if there was no usable answer; *ret_error then has
 * the negative errno of ctl_http, or 0. */
static json_t *get(const struct ctl_args *a, enum resource_id resource, unsigned timeout_s,
		   int *ret_error)
{
	const struct ctl_request rq = {.resource = resource, .timeout_s = timeout_s};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	int r = ctl_http(a, &rq, &reply);

	*ret_error = MIN_OF(r, 0);
	return r >= 0 && reply.status == 200 ? ctl_parse_if_any(&reply) : NULL;
}

static void collect_agent(const struct ctl_args *a, struct doctor_host *p)
{
	const uint64_t since_ns = clock_now_ns();
	struct ctl_silence s;
	int error;

	p->status = get(a, RESOURCE_STATUS, AGENT_LIMIT_S, &error);
	p->agent_took_ns = clock_now_ns() - since_ns;
	if (p->status) {
		p->processes = get(a, RESOURCE_PROCESSES, 0, &error);
		p->net = get(a, RESOURCE_NET, 0, &error);
		return;
	}
	if (error) {
		ctl_explain_silence(a->socket, error, &s);
	} else {
		s = (struct ctl_silence){.state = CTL_AGENT_OTHER,
					 .remedy = "systemctl restart plenumd"};
		snprintf(s.text, sizeof(s.text), "unexpected answer on %.160s", a->socket);
	}
	p->agent_state = s.state;
	snprintf(p->no_agent, sizeof(p->no_agent), "%s", s.text);
	snprintf(p->agent_remedy, sizeof(p->agent_remedy), "%s", s.remedy);
}

/* ---- desired configuration ---- */

static int get_running(const struct ctl_args *a, struct diag *d, struct spec **ret)
{
	const struct ctl_request rq = {.resource = RESOURCE_CONFIG_RUNNING};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	int r = ctl_http(a, &rq, &reply);

	if (r < 0)
		return r;
	return reply.status == 200
		       ? spec_parse("the running configuration", reply.body, reply.len, d, ret)
		       : -ENODATA;
}

/* Loads the configuration in the given file. Without a file, loads the running configuration, or
 * the files that an agent would read. */
static void collect_spec(const struct ctl_args *a, const char *named, struct doctor_host *p)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	const char *file = named ? named : CONFIG_FILE;
	int r = -ENODATA;

	if (p->status && !named)
		r = get_running(a, &d, &p->spec);
	if (r < 0 && d.n_errors == 0)
		r = ctl_load_file(file, &d, &p->spec);
	if (r < 0)
		set_reason(p->no_spec, sizeof(p->no_spec), &d, r);
}

/* Uses the agent's plan if possible, because it takes into account the addresses of workers and the
 * transports that failed. */
static json_t *find_steps(const struct ctl_args *a, const char *file, const struct doctor_host *p)
{
	int error;
	json_t *o = p->status && !file ? get(a, RESOURCE_PLAN, 0, &error) : NULL, *steps;

	if (!o)
		o = plan_to_object(p->plan);
	steps = json_incref(json_object_get(o, "steps"));
	json_decref(o);
	return steps;
}

/* Makes a plan that has only the legs of the agent's running plan, from the agent's status. With
 * it, the planner finds a leg whose link was renamed. Returns NULL if no agent runs or memory
 * is short. */
static struct plan *running_legs(const struct doctor_host *p)
{
	struct plan *running = p->status ? calloc(1, sizeof(*running)) : NULL;
	const json_t *leg;
	size_t i;

	json_array_foreach (json_object_get(p->status, "legs"), i, leg) {
		const char *state = ctl_text(leg, "state");
		const struct inv_link *l = inv_link_by_name(p->inv, ctl_text(leg, "ifname"));
		struct plan_leg_info *info;

		if (!running || running->n_legs == ARRAY_SIZE(running->legs) || !l ||
		    (strcmp(state, plan_leg_state_to_string(PLAN_LEG_USABLE)) != 0 &&
		     strcmp(state, plan_leg_state_to_string(PLAN_LEG_DEGRADED)) != 0))
			continue;
		info = &running->legs[running->n_legs++];
		snprintf(info->name, sizeof(info->name), "%s", ctl_text(leg, "name"));
		snprintf(info->device, sizeof(info->device), "%s", ctl_text(leg, "device"));
		snprintf(info->match, sizeof(info->match), "%s", ctl_text(leg, "match"));
		info->ifindex = l->ifindex;
		info->state = PLAN_LEG_USABLE;
	}
	return running;
}

static void collect_plan(const struct ctl_args *a, const char *file, struct doctor_host *p)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree struct plan *running = NULL;
	int r;

	if (!p->spec || !p->inv) {
		snprintf(p->no_plan, sizeof(p->no_plan), "%s",
			 p->spec ? p->no_inventory : p->no_spec);
		return;
	}
	/* The huge pages of running workers count as free, because the new plan gives them to the
	 * same workers. */
	for (size_t i = 0; p->status && i < p->inv->n_hugepages; i++)
		p->inv->hugepages[i].free = p->inv->hugepages[i].total;
	running = running_legs(p);
	r = ctl_plan_here(p->spec, p->inv, running, &d, &p->plan);
	if (r < 0) {
		set_reason(p->no_plan, sizeof(p->no_plan), &d, r);
		return;
	}
	p->steps = find_steps(a, file, p);
	if (json_array_size(p->steps) == 0)
		plan_check_routes(p->kernel, p->inv, p->plan);
}

/* ---- results of system calls ---- */

static int try_udp_option(int option, int value)
{
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	return setsockopt(fd, IPPROTO_UDP, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static void set_space(const struct statvfs *s, struct doctor_space *ret)
{
	*ret = (struct doctor_space){.free_bytes = s->f_bavail * s->f_frsize,
				     .total_bytes = s->f_blocks * s->f_frsize,
				     .free_inodes = s->f_favail,
				     .total_inodes = s->f_files,
				     .read_only = s->f_flag & ST_RDONLY};
}

/* Calls statfs(2) for a folder or for its nearest parent that exists. */
static void collect_space(const char *path, struct doctor_space *ret)
{
	struct statvfs s;
	char folder[PATH_MAX], *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	while (statvfs(folder, &s) < 0) {
		slash = strrchr(folder, '/');
		if (errno != ENOENT || !slash || slash == folder) {
			ret->error = -errno;
			return;
		}
		*slash = '\0';
	}
	set_space(&s, ret);
}

/* A child process that calls statfs(2), because that would block for a folder on a disk that
 * hangs. */
struct statfs_child {
	pid_t pid;
	int answer; /* negative errno: the child could not be started */
};

static void __attribute__((noreturn)) statfs_run(const char *path, int answer)
{
	struct doctor_space space = {.error = 0};
	struct statvfs s;

	/* The child closes this program's output: otherwise a reader of the output, such as a pipe,
	 * would wait for the child too. */
	if (dup2(answer, STDIN_FILENO) < 0)
		_exit(1);
	close_range(STDIN_FILENO + 1, ~0U, 0);
	if (statvfs(path, &s) < 0)
		space.error = -errno;
	else
		set_space(&s, &space);
	_exit(write(STDIN_FILENO, &space, sizeof(space)) < 0);
}

static struct statfs_child statfs_start(const char *path)
{
	struct statfs_child a = {.pid = -1};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		a.answer = -errno;
		return a;
	}
	a.pid = fork();
	if (a.pid == 0)
		statfs_run(path, ends[1]);
	close(ends[1]);
	a.answer = ends[0]; /* if no child could be started, reading from this pipe ends at once */
	return a;
}

/* Reads a child's answer. Does not wait for a child that is blocked: the kernel ends it when the
 * disk answers. */
static void statfs_end(struct statfs_child *a, uint64_t end_ns, struct doctor_space *ret)
{
	struct pollfd end = {.fd = a->answer, .events = POLLIN};
	uint64_t now = clock_now_ns();

	if (a->answer < 0) {
		ret->error = a->answer;
		return;
	}
	if (poll(&end, 1, now < end_ns ? (int)((end_ns - now) / NSEC_PER_MSEC) : 0) <= 0)
		ret->error = -ETIMEDOUT;
	else if (read(a->answer, ret, sizeof(*ret)) != sizeof(*ret))
		ret->error = -EIO;
	close(a->answer);
	if (a->pid > 0) {
		kill(a->pid, SIGKILL);
		waitpid(a->pid, NULL, ret->error == -ETIMEDOUT ? WNOHANG : 0);
	}
}

static void collect_folders(struct doctor_host *p)
{
	struct statfs_child exports[ARRAY_SIZE(p->exports)], mounts[ARRAY_SIZE(p->mounts)];
	size_t n_exports = 0, n_mounts = 0;
	uint64_t end_ns;

	for (size_t i = 0; p->spec && i < p->spec->n_workers; i++) {
		const struct spec_worker *w = &p->spec->workers[i];

		for (size_t j = 0; j < w->n_exports && n_exports < ARRAY_SIZE(exports); j++)
			exports[n_exports++] = statfs_start(w->exports[j].path);
		for (size_t j = 0; j < w->n_mounts && n_mounts < ARRAY_SIZE(mounts); j++)
			mounts[n_mounts++] = statfs_start(w->mounts[j].path);
	}
	end_ns = clock_now_ns() + SPACE_LIMIT_NS;
	for (size_t i = 0; i < n_exports; i++)
		statfs_end(&exports[i], end_ns, &p->exports[i]);
	for (size_t i = 0; i < n_mounts; i++)
		statfs_end(&mounts[i], end_ns, &p->mounts[i]);
}

static void collect_clock(struct doctor_host *p)
{
	struct timex t = {.modes = 0};

	p->clock_state = adjtimex(&t);
	p->clock_error = p->clock_state < 0 ? -errno : 0;
	p->clock_status = (unsigned)t.status;
}

#define QDISCS_MAX 1024

static void collect_queues(struct doctor_host *p)
{
	autofree struct rtnl_qdisc *all = calloc(QDISCS_MAX, sizeof(*all));
	size_t n = 0;
	int r = all ? rtnl_qdisc_collect(all, QDISCS_MAX, &n) : -ENOMEM;

	for (size_t i = 0; i < n && p->n_queues < ARRAY_SIZE(p->queues); i++)
		if (doctor_is_leg_link(p, all[i].ifindex))
			p->queues[p->n_queues++] = all[i];
	if (r < 0)
		snprintf(p->no_queues, sizeof(p->no_queues), "%s", strerror(-r));
}

void doctor_collect_plan(const struct ctl_args *a, const char *file, struct doctor_host *ret)
{
	*ret = (struct doctor_host){.root = "", .sys = -1, .privileged = geteuid() == 0};
	snprintf(ret->peer, sizeof(ret->peer), "%s", a->peer ? a->peer : "");
	collect_host(ret);
	collect_agent(a, ret);
	collect_spec(a, file, ret);
	collect_plan(a, file, ret);
}

void doctor_collect(const struct ctl_args *a, const char *file, struct doctor_host *ret)
{
	doctor_collect_plan(a, file, ret);
	collect_clock(ret);
	collect_queues(ret);
	doctor_send_probes(ret);
	doctor_send_arps(ret);
	collect_space(PLENUM_STATEDIR, &ret->state);
	collect_space(PLENUM_RUNDIR, &ret->run);
	collect_folders(ret);
	ret->udp_gso = try_udp_option(UDP_SEGMENT, 1400);
	ret->udp_gro = try_udp_option(UDP_GRO, 1);
}

void doctor_host_done(struct doctor_host *p)
{
	json_decref(p->steps);
	json_decref(p->status);
	json_decref(p->processes);
	json_decref(p->net);
	plan_free(p->plan);
	spec_free(p->spec);
	inv_free(p->inv);
	kernel_free(p->kernel);
	if (p->sys >= 0)
		close(p->sys);
	*p = (struct doctor_host){.sys = -1};
}
