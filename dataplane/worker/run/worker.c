/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and ends a worker. The start has the order that the sandbox requires: steps that need
 * privileges come first, and the first packet is read last.
 */
#include "dataplane/worker/run/worker_run.h"
#include "netcfg/base/log.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static int fail(struct worker *w, enum launch_exit status, int error, const char *why)
{
	log_err("%s", why);
	worker_send(w, LAUNCH_MSG_FAILED, error, 0, why);
	return (int)status;
}

/* Blocks SIGTERM and SIGINT, and opens the descriptor from which the loop reads them, so that a
 * worker that must stop can finish its requests first. */
static int block_signals(struct worker *w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit must fail with EFBIG,
					   which the client gets, instead of killing the worker */
	w->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return w->signal_fd < 0 || w->epoll_fd < 0 ? -errno : 0;
}

/* Checks whether the worker has inherited the descriptors for reports to the agent. If not, it
 * reports errors on standard error. */
static int inherit(struct worker *w, struct reason *why)
{
	int e;

	e = worker_config_read(LAUNCH_FD_CONFIG, &w->cfg, why);
	if (e < 0)
		return e;
	w->role = worker_role_get(w->cfg->role);
	log_set_level((enum log_level)w->cfg->log_level);
	w->stats = worker_stats_map(LAUNCH_FD_STATS);
	if (!w->stats) {
		reason_set_text(why, "the statistics page is missing");
		return -EINVAL;
	}
	worker_sessions_open(w, LAUNCH_FD_STATS);
	for (int fd = LAUNCH_FD_CONTROL; fd < LAUNCH_FD_FIRST; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	e = sandbox_begin(&w->sandbox, w->role->sandbox, w->cfg, LAUNCH_FD_KEY, why);
	close(LAUNCH_FD_KEY); /* the worker must not have the key: with it, a process could open any
				 file on the exports' disks */
	if (e < 0)
		return e;
	w->stats->magic = LAUNCH_MAGIC;
	w->stats->version = LAUNCH_VERSION;
	launch_stat_set(&w->stats->started_ns, w->now_ns);
	launch_stat_set(&w->stats->heartbeat_ns, w->now_ns);
	return 0;
}

static enum launch_exit exit_of_inherit(int e)
{
	if (e == -EPROTO)
		return LAUNCH_EXIT_VERSION;
	return e == -EINVAL ? LAUNCH_EXIT_CONFIG : LAUNCH_EXIT_SANDBOX;
}

/* Call when no port could be opened: reports the reasons of all ports in one message. */
static int fail_by_ports(struct worker *w, const struct worker_legs_why *legs)
{
	const bool sockets = w->cfg->transport == LAUNCH_UDP;
	struct reason why;

	worker_legs_format(legs, &why);
	return fail(w, sockets ? LAUNCH_EXIT_PORT : LAUNCH_EXIT_TRANSPORT, -EADDRNOTAVAIL,
		    why.text);
}

static int start_all(struct worker *w)
{
	struct reason why = {.code = ""};
	struct worker_legs_why legs;
	unsigned n;
	int e;

	e = inherit(w, &why);
	if (e < 0)
		return fail(w, exit_of_inherit(e), e, why.text);
	if (w->cfg->failover)
		worker_backup_init(w);
	e = worker_process_place(w->cfg);
	if (e < 0) {
		reason_set_text(&why, "cannot use core %u: %s", w->cfg->core, strerror(-e));
		return fail(w, LAUNCH_EXIT_CONFIG, e, why.text);
	}
	e = worker_ops_get(w, &why);
	if (e < 0)
		return fail(w, LAUNCH_EXIT_TRANSPORT, e, why.text);
	e = block_signals(w);
	if (e < 0)
		return fail(w, LAUNCH_EXIT_CONFIG, e, strerror(-e));
	if (worker_ports_open(w, &legs) == 0)
		return fail_by_ports(w, &legs);
	worker_legs_set_reasons(w, &legs);
	e = worker_rdma_open(w, &why);
	if (e == 0)
		e = sandbox_enter(&w->sandbox, w->cfg, &why);
	if (e < 0)
		return fail(w, LAUNCH_EXIT_SANDBOX, e, why.text);
	e = worker_build(w, &why);
	if (e < 0)
		return fail(w, LAUNCH_EXIT_CONFIG, e, why.text);
	e = sandbox_seal(w->role->sandbox, w->cfg->transport != LAUNCH_UDP, w->rdma != NULL, &why);
	if (e < 0)
		return fail(w, LAUNCH_EXIT_SANDBOX, e, why.text);
	n = w->cfg->failover ? worker_backup_join(w, &legs) : worker_ports_join(w, &legs);
	if (n == 0)
		return fail_by_ports(w, &legs);
	worker_legs_set_reasons(w, &legs);
	return 0;
}

static void done_all(struct worker *w)
{
	if (w->end && w->role->end_sessions)
		w->role->end_sessions(w);
	if (w->rudp)
		w->rudp = rudp_free(w->rudp);
	if (w->role)
		w->role->free(w);
	w->rdma = port_rdma_free(w->rdma);
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++)
		if (w->port_open[i])
			w->ports[i].ops->close(&w->ports[i]);
	worker_fault_free(w);
	sandbox_done(&w->sandbox);
	if (w->signal_fd >= 0)
		close(w->signal_fd);
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
}

int worker_main(void)
{
	static struct worker w; /* static, because it is too large for the stack; the process has
				   only one */
	int status;

	w = (struct worker){.control_fd = LAUNCH_FD_CONTROL,
			    .signal_fd = -1,
			    .epoll_fd = -1,
			    .now_ns = clock_now_ns(),
			    .exit_status = LAUNCH_EXIT_STOPPED};
	log_open("plenum-worker", LOG_LEVEL_INFO);
	status = start_all(&w);
	if (status == 0) {
		w.spin.limit_ns = (uint64_t)w.cfg->spin_us * NSEC_PER_USEC;
		worker_send(&w, LAUNCH_MSG_READY, 0, 0, "");
		worker_run(&w);
		status = w.exit_status;
	}
	done_all(&w);
	return status;
}
