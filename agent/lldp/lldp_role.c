/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The role `lldp`: reads LLDP, ARP and neighbour discovery frames from packet sockets that it gets
 * from the monitor, and reports their contents to the monitor. Any device on a cable can send it
 * frames. So the process has an empty root directory, an unprivileged user, and no system call that
 * could send through a packet socket. It keeps no state; the monitor has the table.
 */
#include "agent/base/child/child_monitor.h"
#include "agent/base/child/child_role.h"
#include "agent/base/child/sandbox.h"
#include "agent/base/loop.h"
#include "agent/lldp/claim.h"
#include "agent/lldp/lldp_parse.h"
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The system call filter below allows closing descriptors below this number only. */
#define DESCRIPTORS_MAX 64
/* Maximum number of frames read from a socket per PAUSE_NS. A switch sends LLDP at most once a
 * second, usually every 30 s. The socket's filter passes only those ARP and neighbour discovery
 * packets that concern watched addresses. */
#define BURST 16
#define BURST_CLAIMS 128
#define PAUSE_NS NSEC_PER_SEC

struct port {
	struct lldp_role *role;
	uint32_t ifindex, frames; /* enum privsep_frames */
	int fd;
	unsigned n_read;	    /* frames read in the current PAUSE_NS */
	struct loop_source *source; /* NULL: reading is paused */
	struct port *next;
};

struct lldp_role {
	struct loop *loop;
	struct child_monitor monitor;
	struct loop_source *pause_timer;
	struct port *ports;
};

/* ---- frames ---- */

/* Pauses a socket that received too many frames, so that a device that floods one cable costs
 * little time and does not delay the other links. */
static void pause_reading(struct port *p)
{
	p->source = loop_source_free(p->source);
	if (!loop_timer_armed(p->role->pause_timer))
		loop_timer_arm(p->role->pause_timer, PAUSE_NS);
}

static int take_lldp(const struct port *p, const uint8_t *frame, size_t len)
{
	struct privsep_msg m = {.type = PRIVSEP_NEIGHBOUR, .neighbour = {.ifindex = p->ifindex}};

	if (len > LLDP_FRAME_MAX || lldp_parse(frame, len, &m.neighbour.said) < 0)
		return 0;
	return child_monitor_tell(PRIVSEP_LLDP, &m, -1);
}

static int take_claim(const struct port *p, const uint8_t *frame, size_t len)
{
	struct privsep_msg m = {.type = PRIVSEP_CLAIM, .claim = {.ifindex = p->ifindex}};

	if (claim_parse(frame, MIN_OF(len, (size_t)CLAIM_FRAME_MAX), &m.claim.said) < 0)
		return 0;
	return child_monitor_tell(PRIVSEP_LLDP, &m, -1);
}

static int on_frame(void *user, int fd, uint32_t revents)
{
	struct port *p = user;
	const bool lldp = p->frames == PRIVSEP_FRAMES_LLDP;
	uint8_t frame[LLDP_FRAME_MAX];
	struct iovec iov = {frame, sizeof(frame)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n = recvmsg(fd, &mh, MSG_DONTWAIT | MSG_TRUNC);

	if (++p->n_read >= (lldp ? BURST : BURST_CLAIMS))
		pause_reading(p);
	/*
	 * An error means that the link went down. The socket reports it once, and the monitor
	 * notices the link's state itself.
	 */
	if (n < 0)
		return 0;
	return lldp ? take_lldp(p, frame, (size_t)n) : take_claim(p, frame, (size_t)n);
}

static int watch(struct port *p)
{
	p->n_read = 0;
	return loop_add_fd(p->role->loop, p->fd, EPOLLIN, false, on_frame, p, &p->source);
}

static int on_pause_end(void *user)
{
	struct lldp_role *role = user;
	int r = 0;

	for (struct port *p = role->ports; p && r >= 0; p = p->next) {
		p->n_read = 0;
		if (!p->source)
			r = watch(p);
	}
	return r;
}

/* ---- the monitor ---- */

static void ignore(struct lldp_role *role, const struct privsep_link *link)
{
	for (struct port **at = &role->ports, *p; (p = *at);) {
		if (p->ifindex != link->ifindex || p->frames != link->frames) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		loop_source_free(p->source);
		close(p->fd);
		free(p);
	}
}

/* Starts reading from the packet socket fd, and becomes its owner. */
static int listen_to(struct lldp_role *role, const struct privsep_link *link, int fd)
{
	struct port *p;

	ignore(role, link);
	p = calloc(1, sizeof(*p));
	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	*p = (struct port){.role = role,
			   .ifindex = link->ifindex,
			   .frames = link->frames,
			   .fd = fd,
			   .next = role->ports};
	role->ports = p;
	return watch(p);
}

static int handle(void *user, const struct privsep_msg *m, int *fd)
{
	struct lldp_role *role = user;

	switch ((enum privsep_type)m->type) {
	case PRIVSEP_LISTEN:
		return listen_to(role, &m->link, fd_take(*fd));
	case PRIVSEP_IGNORE:
		ignore(role, &m->link);
		return 0;
	default: /* other messages are for the roles that serve clients */
		return 0;
	}
}

/* ---- the process ---- */

/*
 * Completes the sandbox. Allows messages only on the monitor's socket, and writes only to the log.
 * A packet socket cannot get one of these numbers, because no permitted call duplicates descriptors
 * and descriptors up to 3 cannot be closed.
 */
static int seal(void)
{
	static const struct seccomp_rule rules[] = {
		{SYS_sendmsg, 0, UINT32_MAX, PRIVSEP_FD_CONTROL},
		{SYS_write, 0, UINT32_MAX, 2},
		{SYS_close, 0, ~3U, 4},
		{SYS_close, 0, ~7U, 8},
		{SYS_close, 0, ~15U, 16},
		{SYS_close, 0, ~31U, 32},
	};

	_Static_assert(PRIVSEP_FD_CONTROL == 3 && DESCRIPTORS_MAX == 64,
		       "the rules below use these numbers");
	return sandbox_seal(NULL, 0, rules, ARRAY_SIZE(rules));
}

static int open_all(struct lldp_role *role)
{
	int r = loop_new(&role->loop);

	role->monitor = (struct child_monitor){
		.loop = role->loop, .role = PRIVSEP_LLDP, .handle = handle, .user = role};
	if (r >= 0)
		r = loop_add_timer(role->loop, NSEC_PER_MSEC, on_pause_end, role,
				   &role->pause_timer);
	if (r >= 0)
		r = child_monitor_watch(&role->monitor);
	return r;
}

int lldp_main(enum log_level level)
{
	const struct rlimit files = {DESCRIPTORS_MAX, DESCRIPTORS_MAX}, no_core = {0, 0};
	struct lldp_role role = {.loop = NULL};
	int r;

	prctl(PR_SET_NAME, "plenumd-lldp"); /* without this, ps(1) would show "exe" */
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &no_core);
	r = sandbox_enter();
	if (r >= 0)
		r = open_all(&role);
	if (r >= 0)
		r = seal();
	if (r >= 0)
		r = loop_run(role.loop);
	if (r < 0)
		log_err("plenumd-lldp: %s", strerror(-r));
	/* At a regular exit a sanitizer makes system calls that the filter does not allow. */
	_exit(r < 0 ? 1 : 0);
}
