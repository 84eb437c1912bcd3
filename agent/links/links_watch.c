/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the sockets that probe legs, and runs the process of the role `links`. */
#include "agent/links/links_watch.h"
#include "agent/base/child/child_role.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define RCVBUF_BYTES (256 * 1024)
#define START_RETRY_NS (10 * NSEC_PER_SEC)

struct links_watch {
	struct links_watch_setup setup;
	struct child_role *role;
	struct links_watch_self self;
	struct links_keys keys;
	struct links_watch_leg legs[PLENUM_LEGS_MAX];
	size_t n_legs;
	int members; /* memfd with the latest list of other hosts; -1: there is none yet */
	uint64_t members_len;
	bool answered; /* whether a probe was answered on any leg since the start, even if another
			  process got the answer */
	struct loop_source *starter; /* timer that starts the process after a failed start */
};

/* ---- sockets ---- */

/* Forbids fragmentation, because full packets test the MTU. Asks for ICMP errors: such an error
 * proves that a host's kernel answers, even if no agent runs there. */
static int set_options(int fd, const struct links_watch_leg *leg)
{
	const bool is4 = leg->ip.addr.family == AF_INET;
	const int level = is4 ? IPPROTO_IP : IPPROTO_IPV6, on = 1, bytes = RCVBUF_BYTES;
	const int probe = is4 ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, leg->ifname,
		       (socklen_t)strlen(leg->ifname) + 1) < 0 ||
	    setsockopt(fd, level, is4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &probe,
		       sizeof(probe)) < 0 ||
	    setsockopt(fd, level, is4 ? IP_RECVERR : IPV6_RECVERR, &on, sizeof(on)) < 0)
		return -errno;
	if (!is4 && setsockopt(fd, level, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	return 0;
}

static int socket_open(const struct links_watch_leg *leg)
{
	autoclose int fd = -1;
	struct sockaddr_storage at;
	const int len = ip_addr_to_sockaddr(&leg->ip.addr, LINKS_PORT, &at);
	int r;

	if (len < 0)
		return len;
	fd = socket(leg->ip.addr.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = set_options(fd, leg);
	if (r < 0)
		return r;
	/* bind() fails if a worker's DPDK port has the address, because the kernel then does not
	 * have it. */
	return bind(fd, (struct sockaddr *)&at, (socklen_t)len) < 0 ? -errno : fd_take(fd);
}

/* Passes the leg's socket to the process, and closes it here. */
static void hand_over(struct links_watch *w, struct links_watch_leg *leg)
{
	struct privsep_msg m = {.type = PRIVSEP_LISTEN, .link = {.ifindex = leg->ifindex}};
	autoclose int fd = socket_open(leg);

	leg->error = fd < 0 ? fd : child_role_send(w->role, &m, fd);
	if (fd < 0) { /* the process may still use a socket for a former address of the leg */
		m.type = PRIVSEP_IGNORE;
		(void)child_role_send(w->role, &m, -1);
	}
	if (leg->error == -ENOTCONN) /* on_start passes the socket again */
		leg->error = 0;
	if (leg->error < 0)
		log_debug("%s: cannot probe through the leg: %s", leg->ifname,
			  strerror(-leg->error));
}

/* ---- messages to the process ---- */

static json_t *hex(uint64_t value)
{
	return json_sprintf("%016" PRIx64, value);
}

static json_t *legs_to_json(const struct links_watch *w)
{
	json_t *list = json_array();
	char ip[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < w->n_legs; i++) {
		const struct links_watch_leg *leg = &w->legs[i];

		if (leg->error == 0)
			json_array_append_new(
				list,
				json_pack("{s:s, s:s, s:I, s:I, s:s}", "name", leg->name, "network",
					  leg->network, "ifindex", (json_int_t)leg->ifindex, "mtu",
					  (json_int_t)leg->mtu, "ip",
					  ip_prefix_format(&leg->ip, ip, sizeof(ip))));
	}
	return list;
}

static void send_settings(struct links_watch *w)
{
	json_t *keys = json_array(), *o;
	struct privsep_msg m = {.type = PRIVSEP_LINKS_SET};
	autoclose int fd = -1;
	char *text;

	for (unsigned i = 0; i < w->keys.n; i++)
		json_array_append_new(keys, json_pack("[o, o]", hex(w->keys.keys[i][0]),
						      hex(w->keys.keys[i][1])));
	o = json_pack("{s:s, s:b, s:o, s:o}", "host", w->self.host, "secret", w->keys.secret,
		      "keys", keys, "legs", legs_to_json(w));
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	if (!text)
		return;
	m.cluster_text.len = strlen(text);
	fd = memfd_new_sealed("plenum-links", text, strlen(text));
	if (fd >= 0)
		(void)child_role_send(w->role, &m, fd);
	explicit_bzero(text, strlen(text));
	free(text);
}

static void send_members(struct links_watch *w)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_MEMBERS,
				.cluster_text = {.len = w->members_len}};

	if (w->members >= 0)
		(void)child_role_send(w->role, &m, w->members);
}

static void send_all(struct links_watch *w)
{
	for (size_t i = 0; i < w->n_legs; i++)
		if (w->legs[i].blocked == 0)
			hand_over(w, &w->legs[i]);
	send_settings(w);
	send_members(w);
}

/* ---- the process ---- */

static const char *on_message(void *user, struct child_role *role, const struct privsep_msg *m,
			      int fd)
{
	struct links_watch *w = user;

	(void)role;
	(void)fd;
	if (m->type != PRIVSEP_LINKS_REPORT)
		return "this role may not send messages of this type";
	for (size_t i = 0; i < w->n_legs; i++)
		if (w->legs[i].ifindex == m->links_report.ifindex && w->legs[i].error == 0) {
			w->legs[i].report = m->links_report;
			w->answered |= m->links_report.answered;
			w->setup.on_report(w->setup.user, &w->legs[i]);
		}
	return NULL;
}

static void on_start(void *user, struct child_role *role)
{
	struct links_watch *w = user;

	w->role = role; /* the first call comes from within child_role_new() */
	send_all(w);
}

/* The reports of the process that has exited are not used any more. */
static void on_end(void *user, struct child_role *role)
{
	struct links_watch *w = user;

	(void)role;
	for (size_t i = 0; i < w->n_legs; i++) {
		w->legs[i].report = (struct links_report){.ifindex = 0};
		w->setup.on_report(w->setup.user, &w->legs[i]);
	}
}

static void start(struct links_watch *w)
{
	const struct child_role_setup setup = {.role = PRIVSEP_LINKS,
					       .loop = w->setup.loop,
					       .events = w->setup.events,
					       .log_level = w->setup.log_level,
					       .on_message = on_message,
					       .on_start = on_start,
					       .on_end = on_end,
					       .user = w};
	int r = child_role_new(&setup, &w->role);

	if (r >= 0)
		return;
	w->role = NULL;
	log_warning("cannot start the links process: %s; trying it again in %u s", strerror(-r),
		    (unsigned)(START_RETRY_NS / NSEC_PER_SEC));
	loop_timer_arm(w->starter, START_RETRY_NS);
}

static int on_starter(void *user)
{
	struct links_watch *w = user;
	bool open = false;

	for (size_t i = 0; i < w->n_legs; i++)
		open |= w->legs[i].blocked == 0;
	if (open && !w->role)
		start(w);
	return 0;
}

/* ---- legs ---- */

/* Returns whether the leg can keep its socket. The kernel refuses a second socket with the same
 * address while the process has the first one. */
static bool shares_socket(const struct links_watch_leg *a, const struct links_watch_leg *b)
{
	return a->error == 0 && a->ifindex == b->ifindex && ip_addr_equal(&a->ip.addr, &b->ip.addr);
}

static bool is_same(const struct links_watch_leg *a, const struct links_watch_leg *b)
{
	return a->ifindex == b->ifindex && a->mtu == b->mtu && a->blocked == b->blocked &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->network, b->network) == 0 &&
	       strcmp(a->ifname, b->ifname) == 0 && a->ip.len == b->ip.len &&
	       ip_addr_equal(&a->ip.addr, &b->ip.addr);
}

static const struct links_watch_leg *find(const struct links_watch *w, uint32_t ifindex)
{
	for (size_t i = 0; i < w->n_legs; i++)
		if (w->legs[i].ifindex == ifindex)
			return &w->legs[i];
	return NULL;
}

/* Closes the sockets of former and of blocked legs in the process. */
static void drop_others(struct links_watch *w, const struct links_watch_leg *legs, size_t n)
{
	for (size_t i = 0; i < w->n_legs; i++) {
		struct privsep_msg m = {.type = PRIVSEP_IGNORE,
					.link = {.ifindex = w->legs[i].ifindex}};
		bool stays = false;

		for (size_t k = 0; k < n; k++)
			stays |= legs[k].ifindex == w->legs[i].ifindex && legs[k].blocked == 0;
		if (!stays && w->role)
			(void)child_role_send(w->role, &m, -1);
	}
}

static bool same_keys(const struct links_keys *a, const struct links_keys *b)
{
	return a->n == b->n && a->secret == b->secret &&
	       memcmp(a->keys, b->keys, a->n * sizeof(a->keys[0])) == 0;
}

/* Reports from the time of another cluster, or of another key, are not valid for the new one. The
 * process also has such reports in memory, so it is ended and started again. */
static void take_self(struct links_watch *w, const struct links_watch_self *self,
		      const struct links_keys *keys)
{
	const bool same = strcmp(self->cluster, w->self.cluster) == 0 &&
			  strcmp(self->host, w->self.host) == 0;

	if (same && same_keys(keys, &w->keys))
		return;
	w->role = child_role_free(w->role);
	w->n_legs = 0;
	w->answered = false;
	w->self = *self;
	w->keys = *keys;
	/* If only the key has changed, the list of hosts is still valid. */
	if (!same) {
		cleanup_close(&w->members);
		w->members = -1;
	}
}

void links_watch_set(struct links_watch *w, const struct links_watch_self *self,
		     const struct links_watch_leg *legs, size_t n, const struct links_keys *keys)
{
	struct links_watch_leg kept[PLENUM_LEGS_MAX];
	bool changed = n != w->n_legs;
	size_t n_open = 0;

	n = MIN_OF(n, (size_t)PLENUM_LEGS_MAX);
	take_self(w, self, keys);
	drop_others(w, legs, n);
	for (size_t i = 0; i < n; i++) {
		const struct links_watch_leg *was = find(w, legs[i].ifindex);

		kept[i] = legs[i];
		kept[i].error = legs[i].blocked;
		n_open += legs[i].blocked == 0;
		kept[i].report = (struct links_report){.ifindex = 0};
		if (was && is_same(was, &legs[i]) && was->error == 0) {
			kept[i] = *was;
			continue;
		}
		if (w->role && kept[i].error == 0 && !(was && shares_socket(was, &legs[i])))
			hand_over(w, &kept[i]);
		changed |= !was || !is_same(was, &legs[i]) || kept[i].error == 0;
	}
	memcpy(w->legs, kept, n * sizeof(kept[0]));
	w->n_legs = n;
	if (n_open == 0)
		w->role = child_role_free(w->role);
	else if (!w->role)
		start(w);
	else if (changed)
		send_settings(w);
}

void links_watch_members(struct links_watch *w, int fd, uint64_t len)
{
	cleanup_close(&w->members);
	w->members = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	w->members_len = len;
	if (w->role)
		send_members(w);
}

const struct links_watch_leg *links_watch_legs(const struct links_watch *w, size_t *ret_n)
{
	*ret_n = w->n_legs;
	return w->legs;
}

bool links_watch_is_dead(const struct links_watch *w, const char *leg)
{
	for (size_t i = 0; w && i < w->n_legs; i++)
		if (strcmp(w->legs[i].name, leg) == 0)
			return w->legs[i].opinion.dead;
	return false;
}

bool links_watch_answered(const struct links_watch *w)
{
	return w->answered;
}

void links_watch_judge(struct links_watch *w, const struct links_path *paths, size_t n_paths,
		       bool (*carrier)(const void *user, const struct links_watch_leg *leg),
		       const void *user)
{
	for (size_t i = 0; i < w->n_legs; i++) {
		const struct links_evidence e = {.paths = paths,
						 .n_paths = n_paths,
						 .carrier = carrier(user, &w->legs[i]),
						 .answered = w->answered};

		links_judge(&w->legs[i], &e, &w->legs[i].opinion);
	}
}

pid_t links_watch_pid(const struct links_watch *w)
{
	return w ? child_role_pid(w->role) : 0;
}

/* ---- lifetime ---- */

int links_watch_new(const struct links_watch_setup *setup, struct links_watch **ret)
{
	struct links_watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->setup = *setup;
	w->members = -1;
	r = loop_add_timer(setup->loop, NSEC_PER_SEC, on_starter, w, &w->starter);
	if (r < 0) {
		links_watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

struct links_watch *links_watch_free(struct links_watch *w)
{
	if (!w)
		return NULL;
	child_role_free(w->role);
	loop_source_free(w->starter);
	cleanup_close(&w->members);
	explicit_bzero(&w->keys, sizeof(w->keys));
	free(w);
	return NULL;
}
