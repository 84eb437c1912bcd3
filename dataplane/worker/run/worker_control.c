/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the agent's messages, the agent's exit, and signals. */
#include "dataplane/worker/run/worker_run.h"
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/fdpass.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static void control_link(struct worker *w, const struct launch_msg *m)
{
	if (m->index >= w->cfg->n_ports)
		return;
	w->carrier_lost[m->index] = m->code == 0;
	worker_link_judge(w, m->index);
	worker_probe_begin(w, m->index, m->code != 0);
}

static void control_label(struct worker *w, struct launch_msg *m)
{
	if (m->index >= w->cfg->n_ports)
		return;
	m->text[sizeof(m->text) - 1] = '\0';
	log_notice("%s: label %s", w->cfg->ports[m->index].leg, m->text[0] ? m->text : "unknown");
	if (w->cfg->failover)
		worker_backup_label(w, m->index, worker_label_hash(m->text));
	else
		rudp_port_set_label(w->rudp, m->index, worker_label_hash(m->text), w->now_ns);
}

/* Replaces the cluster's keys. All sessions with a removed key end. The sessions of a frontend
 * connect again, while the requests of its mounts wait. */
static void control_keys(struct worker *w, struct launch_msg *m)
{
	int n = m->code < 0 ? -EINVAL
			    : rudp_set_keys(w->rudp, (const uint8_t(*)[RUDP_KEY_BYTES])m->keys,
					    (unsigned)m->code, w->now_ns);

	explicit_bzero(m, sizeof(*m));
	if (n < 0)
		log_err("cannot use the new cluster keys: %s", strerror(-n));
	else
		log_notice(
			"received new cluster keys; %d sessions end because their key was dropped",
			n);
}

static void control_revoked(struct worker *w, struct launch_msg *m)
{
	m->text[PLENUM_NAME_MAX - 1] = '\0';
	worker_identity_revoke(w, m->text, m->key);
}

static void control_fault(struct worker *w, struct launch_msg *m)
{
	int r = worker_fault_set(w, &m->fault);

	if (r < 0)
		log_err("cannot inject fault: %s", strerror(-r));
}

static void control_log_level(struct worker *w, int level)
{
	if (level < LOG_LEVEL_ERR || level > LOG_LEVEL_DEBUG)
		return;
	log_set_level((enum log_level)level);
	worker_sessions_set_log_level(w, (uint32_t)level);
	log_notice("the log level is now %s", log_level_to_string((enum log_level)level));
}

static void control_ping(struct worker *w, struct launch_ping *p)
{
	int r = -EINVAL;

	if (launch_ping_is_valid(p) && p->port < w->cfg->n_ports)
		r = w->role->ping ? w->role->ping(w, p) : -EOPNOTSUPP;
	if (r == 0)
		return;
	p->status = r;
	p->done = 0;
	worker_send_ping(w, p);
}

static void orphan_begin(struct worker *w)
{
	if (w->orphan_ns)
		return;
	log_warning("the agent has exited; serving for %u s, or until the next agent adopts this "
		    "worker",
		    w->cfg->orphan_s);
	w->orphan_ns = w->now_ns;
	worker_capture_end(w); /* the agent that read the capture has exited */
}

void worker_alive_read(struct worker *w)
{
	struct pollfd p = {.fd = LAUNCH_FD_ALIVE};

	/* The event may have come from the pipe of an earlier agent. */
	if (poll(&p, 1, 0) != 1)
		return;
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, LAUNCH_FD_ALIVE, NULL);
	orphan_begin(w);
}

/* Handles the adoption by the next agent, whose pipe replaces the pipe of the earlier agent. */
static void control_adopt(struct worker *w, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = WORKER_SOURCE_ALIVE};

	if (fd < 0)
		return;
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, LAUNCH_FD_ALIVE, NULL);
	if (dup3(fd, LAUNCH_FD_ALIVE, O_CLOEXEC) < 0 ||
	    epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, LAUNCH_FD_ALIVE, &ev) < 0) {
		log_err("cannot watch the next agent: %s", strerror(errno));
		return;
	}
	if (w->orphan_ns)
		log_notice("adopted by the next agent");
	w->orphan_ns = 0;
	worker_ports_report(w);
	worker_capture_end(w); /* the capture was for the earlier agent, so end it */
	worker_send(w, LAUNCH_MSG_READY, 0, 0, "");
	worker_release_report(w);
	if (w->role->adopted)
		w->role->adopted(w);
}

void worker_control_read(struct worker *w)
{
	struct launch_msg m;

	while (w->control_fd >= 0) {
		autoclose int passed = -1;
		ssize_t n = fdpass_recv(w->control_fd, &m, sizeof(m), &passed, NULL);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			w->control_fd = -1;
			close(LAUNCH_FD_CONTROL);
			orphan_begin(w);
			return;
		}
		if (n != (ssize_t)sizeof(m))
			continue;
		if (m.type == LAUNCH_MSG_STOP)
			w->stopping = true;
		else if (m.type == LAUNCH_MSG_LINK)
			control_link(w, &m);
		else if (m.type == LAUNCH_MSG_LABEL)
			control_label(w, &m);
		else if (m.type == LAUNCH_MSG_KEYS)
			control_keys(w, &m);
		else if (m.type == LAUNCH_MSG_REVOKED)
			control_revoked(w, &m);
		else if (m.type == LAUNCH_MSG_FAULT)
			control_fault(w, &m);
		else if (m.type == LAUNCH_MSG_PORT)
			worker_port_take(w, m.index, &m.port);
		else if (m.type == LAUNCH_MSG_ADOPT)
			control_adopt(w, passed);
		else if (m.type == LAUNCH_MSG_PING)
			control_ping(w, &m.ping);
		else if (m.type == LAUNCH_MSG_LOG_LEVEL)
			control_log_level(w, m.code);
		else if (m.type == LAUNCH_MSG_LIMITS && w->role->limit)
			w->role->limit(w, m.index, &m.limits);
		else if (m.type == LAUNCH_MSG_LOCK_BREAK && w->role->lock_break)
			w->role->lock_break(w, m.key);
		else if ((m.type == LAUNCH_MSG_LOCK_KEPT || m.type == LAUNCH_MSG_LOCK_FORGOTTEN) &&
			 w->role->lock_answer)
			w->role->lock_answer(w, &m);
		else if (m.type == LAUNCH_MSG_CAPTURE && m.code == 1)
			worker_capture_begin(w, &m.capture, passed);
		else if (m.type == LAUNCH_MSG_CAPTURE)
			worker_capture_end(w);
		else if (m.type == LAUNCH_MSG_RDMA && memchr(m.text, '\0', sizeof(m.text)))
			worker_rdma_take(w, passed, &m);
	}
}

void worker_signal_read(struct worker *w)
{
	struct signalfd_siginfo si;

	while (read(w->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		w->stopping = true;
}
