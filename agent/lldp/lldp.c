/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens packet sockets for LLDP and runs the process of the role `lldp`, which reads them.
 * neighbours.c evaluates the table; lldp_role.c is the code of that process.
 */
#include "agent/lldp/lldp.h"
#include "agent/base/child/child_role.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/packet_socket.h"
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SAVE_NS (5 * NSEC_PER_SEC)
#define RCVBUF_BYTES (32 * 1024)
/* A silent cable is checked again after this time, in which a switch sends two frames
 * (msgTxInterval of 802.1AB is 30 s). */
#define SILENCE_NS (65 * NSEC_PER_SEC)

struct lldp {
	struct lldp_setup setup;
	struct child_role *role;
	struct neighbours table;
	struct loop_source *timer;
	uint64_t saved_ns;
	struct neighbours remembered; /* an earlier agent's table, until it has been merged */
};

/* ---- sockets ---- */

/* Group addresses of the nearest bridge, customer bridge and non-TPMR bridge: 802.1AB, table
 * 7-1. */
static const struct mac_addr groups[] = {{{0x01, 0x80, 0xc2, 0, 0, 0x0e}},
					 {{0x01, 0x80, 0xc2, 0, 0, 0x03}},
					 {{0x01, 0x80, 0xc2, 0, 0, 0}}};

/* Attaches a filter that accepts only frames to these groups, up to the maximum length, and locks
 * it. */
static int attach_filter(int fd)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0180c200, 0, 5),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x000e, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0003, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, LLDP_FRAME_MAX + 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	int r = packet_socket_filter(fd, code, ARRAY_SIZE(code));

	return r < 0 ? r : packet_socket_filter_keep(fd);
}

/* Opens a socket for one link. The bind is the last step, so that no frame is received before the
 * filter is attached. */
static int socket_open(uint32_t ifindex)
{
	autoclose int fd = packet_socket_new(SOCK_RAW);
	const int bytes = RCVBUF_BYTES;
	int r;

	if (fd < 0)
		return fd;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	r = attach_filter(fd);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(groups); i++)
		r = packet_socket_group(fd, ifindex, &groups[i]);
	if (r >= 0)
		r = packet_socket_bind(fd, ifindex, ETH_P_LLDP);
	return r < 0 ? r : fd_take(fd);
}

/* Passes the link's socket to the role's process, and closes it here. The socket stays a member of
 * the groups until that process closes it too. */
static void hand_over(struct lldp *l, struct neighbours_link *link)
{
	struct privsep_msg m = {.type = PRIVSEP_LISTEN, .link = {.ifindex = link->ifindex}};
	autoclose int fd = socket_open(link->ifindex);

	link->error = fd < 0 ? fd : child_role_send(l->role, &m, fd);
	/* The process is being restarted; on_start passes the socket again. */
	if (link->error == -ENOTCONN)
		link->error = 0;
	if (link->error < 0)
		events_add(l->setup.events, LOG_LEVEL_WARNING, link->ifname,
			   "cannot receive LLDP: %s", strerror(-link->error));
}

/* ---- the saved table ---- */

static void table_save(struct lldp *l)
{
	int r = neighbours_save(&l->table, l->setup.path);

	l->saved_ns = clock_now_ns();
	if (r < 0)
		log_debug("%s: %s", l->setup.path, state_file_error(r));
}

static void table_load(struct lldp *l)
{
	int r = neighbours_load(&l->remembered, l->setup.path);

	if (r < 0 && r != STATE_MISSING && r != STATE_OTHER_BOOT)
		log_warning("cannot read %s (%s); labels by LLDP are unknown until the switches "
			    "announce themselves",
			    l->setup.path, state_file_error(r));
}

/* ---- timers ---- */

static void arm(struct lldp *l, uint64_t next, uint64_t now)
{
	for (size_t i = 0; i < l->table.n; i++) {
		const struct neighbours_link *link = &l->table.links[i];

		if (link->n == 0 && link->since_ns + SILENCE_NS > now)
			next = MIN_OF(next, link->since_ns + SILENCE_NS);
	}
	if (next == UINT64_MAX)
		loop_timer_disarm(l->timer);
	else
		loop_timer_arm(l->timer, next - now + NSEC_PER_MSEC);
}

/* Drops expired entries and reports changes of the table. */
static void look(struct lldp *l, bool changed)
{
	uint64_t now = clock_now_ns(), next;

	changed |= neighbours_expire(&l->table, now, &next);
	arm(l, next, now);
	if (changed)
		l->setup.on_change(l->setup.user);
}

static int on_timer(void *user)
{
	look(user, true);
	return 0;
}

/* ---- the process ---- */

static const char *on_message(void *user, struct child_role *role, const struct privsep_msg *m,
			      int fd)
{
	struct lldp *l = user;
	struct neighbours_link *link = neighbours_find(&l->table, m->neighbour.ifindex);
	bool news;

	if (m->type == PRIVSEP_CLAIM) {
		if (l->setup.on_claim)
			l->setup.on_claim(l->setup.user, m->claim.ifindex, &m->claim.said);
		return NULL;
	}
	if (m->type != PRIVSEP_NEIGHBOUR)
		return "this role may not send messages of this type";
	if (!link) /* the process sent this before it learned that the link is no longer wanted */
		return NULL;
	news = neighbours_hear(link, &m->neighbour.said, clock_now_ns());
	/* A repeated announcement only extends the time, so it is saved less often. */
	if (news || clock_now_ns() - l->saved_ns > SAVE_NS)
		table_save(l);
	look(l, news);
	return NULL;
}

static void on_start(void *user, struct child_role *role)
{
	struct lldp *l = user;

	/* The first call happens within child_role_new, which has not set l->role yet. */
	l->role = role;
	for (size_t i = 0; i < l->table.n; i++)
		hand_over(l, &l->table.links[i]);
	if (l->setup.on_start)
		l->setup.on_start(l->setup.user);
}

static void start(struct lldp *l)
{
	const struct child_role_setup setup = {.role = PRIVSEP_LLDP,
					       .loop = l->setup.loop,
					       .events = l->setup.events,
					       .log_level = l->setup.log_level,
					       .on_message = on_message,
					       .on_start = on_start,
					       .user = l};
	int r = child_role_new(&setup, &l->role);

	if (r >= 0)
		return;
	l->role = NULL;
	for (size_t i = 0; i < l->table.n; i++)
		l->table.links[i].error = r;
	events_add(l->setup.events, LOG_LEVEL_ERR, "agent", "cannot start the lldp process: %s",
		   strerror(-r));
}

/* ---- links to listen on ---- */

static bool is_in(const struct lldp_link *links, size_t n, const struct neighbours_link *link)
{
	for (size_t i = 0; i < n; i++)
		if (links[i].ifindex == link->ifindex)
			return true;
	return false;
}

static bool drop_others(struct lldp *l, const struct lldp_link *links, size_t n)
{
	bool any = false;

	for (size_t i = l->table.n; i-- > 0;) {
		struct privsep_msg m = {.type = PRIVSEP_IGNORE,
					.link = {.ifindex = l->table.links[i].ifindex}};

		if (is_in(links, n, &l->table.links[i]))
			continue;
		child_role_send(l->role, &m, -1); /* the socket for LLDP frames */
		neighbours_remove(&l->table, m.link.ifindex);
		any = true;
	}
	return any;
}

static bool add_link(struct lldp *l, const struct lldp_link *new)
{
	uint64_t now = clock_now_ns();
	struct neighbours_link *link = neighbours_find(&l->table, new->ifindex);

	if (link) {
		memcpy(link->ifname, new->ifname, sizeof(link->ifname));
		if (link->error < 0)
			hand_over(l, link);
		return false;
	}
	link = neighbours_add(&l->table, new->ifindex, new->ifname, now);
	if (!link)
		return false;
	neighbours_remember(link, &l->remembered, now);
	if (l->role)
		hand_over(l, link);
	return true;
}

void lldp_listen(struct lldp *l, const struct lldp_link *links, size_t n)
{
	bool changed = drop_others(l, links, n);

	for (size_t i = 0; i < n; i++)
		changed |= add_link(l, &links[i]);
	if (!l->role && l->table.n > 0)
		start(l);
	/* Only the links of the first call get entries from the table of an earlier agent. For
	 * links that are added later, that table is too old. */
	if (n > 0)
		neighbours_done(&l->remembered);
	if (changed)
		look(l, true);
}

int lldp_watch(struct lldp *l, uint32_t ifindex, enum privsep_frames frames, int fd)
{
	struct privsep_msg m = {.type = PRIVSEP_LISTEN,
				.link = {.ifindex = ifindex, .frames = frames}};

	return l->role ? child_role_send(l->role, &m, fd) : -ENOTCONN;
}

void lldp_unwatch(struct lldp *l, uint32_t ifindex, enum privsep_frames frames)
{
	struct privsep_msg m = {.type = PRIVSEP_IGNORE,
				.link = {.ifindex = ifindex, .frames = frames}};

	if (l->role)
		child_role_send(l->role, &m, -1);
}

void lldp_carrier_lost(struct lldp *l, uint32_t ifindex)
{
	struct neighbours_link *link = l ? neighbours_find(&l->table, ifindex) : NULL;

	if (!link)
		return;
	if (neighbours_forget(link, clock_now_ns())) {
		table_save(l);
		look(l, true);
	} else {
		look(l, false);
	}
}

const struct neighbours *lldp_neighbours(const struct lldp *l)
{
	static const struct neighbours none;

	return l ? &l->table : &none;
}

pid_t lldp_pid(const struct lldp *l)
{
	return l ? child_role_pid(l->role) : 0;
}

/* ---- lifetime ---- */

int lldp_new(const struct lldp_setup *setup, struct lldp **ret)
{
	struct lldp *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->setup = *setup;
	table_load(l);
	r = loop_add_timer(setup->loop, 100 * NSEC_PER_MSEC, on_timer, l, &l->timer);
	if (r < 0) {
		lldp_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

struct lldp *lldp_free(struct lldp *l)
{
	if (!l)
		return NULL;
	child_role_free(l->role);
	loop_source_free(l->timer);
	neighbours_done(&l->table);
	neighbours_done(&l->remembered);
	free(l);
	return NULL;
}
