/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The role `links`: the process that probes the legs of other hosts of the cluster, through UDP
 * sockets that it gets from the monitor, and reports what it finds. Any host of the data network
 * can send it packets, so it has no privileges and no files, and can open no socket.
 */
#include "agent/base/child/child_monitor.h"
#include "agent/base/child/child_role.h"
#include "agent/base/child/sandbox.h"
#include "agent/base/loop.h"
#include "agent/links/links.h"
#include "netcfg/base/hash.h"
#include <jansson.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define DESCRIPTORS_MAX 64
#define BURST 64		      /* packets that are read from a socket in one turn */
#define REPORT_NS (10 * NSEC_PER_SEC) /* time between two reports if nothing has changed */

struct port {
	struct links_role *role;
	uint32_t ifindex;
	int fd;
	struct loop_source *source;
	char network[PLENUM_NAME_MAX];
	struct links_report told; /* the last report */
	uint64_t told_ns;
};

struct links_role {
	struct loop *loop;
	struct child_monitor monitor;
	struct loop_source *timer;
	struct links links;
	char host[PLENUM_NAME_MAX];
	struct port ports[PLENUM_LEGS_MAX]; /* ifindex 0: not in use */
	json_t *members;
	uint64_t random_key[2], random_count;
};

static struct port *port_of(struct links_role *role, uint32_t ifindex)
{
	for (size_t i = 0; i < ARRAY_SIZE(role->ports); i++)
		if (role->ports[i].ifindex == ifindex)
			return &role->ports[i];
	return NULL;
}

/* ---- reports ---- */

/* Returns whether the reports differ in other members than the counters, which change all the
 * time. */
static bool is_news(const struct links_report *a, const struct links_report *b)
{
	return a->verdict != b->verdict || a->answered != b->answered || a->alone != b->alone ||
	       a->n_faults != b->n_faults || a->n_omitted != b->n_omitted ||
	       memcmp(a->faults, b->faults, sizeof(a->faults)) != 0;
}

static void report(struct links_role *role, uint64_t now)
{
	struct privsep_msg m = {.type = PRIVSEP_LINKS_REPORT};

	for (size_t i = 0; i < role->links.n_legs; i++) {
		const struct links_leg *leg = &role->links.legs[i];
		struct port *p = port_of(role, leg->ifindex);

		if (!p || !leg->open)
			continue;
		links_report_make(leg, &m.links_report);
		if (!is_news(&m.links_report, &p->told) && p->told_ns &&
		    now < p->told_ns + REPORT_NS)
			continue;
		p->told = m.links_report;
		p->told_ns = now;
		if (child_monitor_tell(PRIVSEP_LINKS, &m, -1) < 0)
			log_err("cannot report to the monitor");
	}
}

static int run(struct links_role *role)
{
	const uint64_t now = clock_now_ns(), in_ns = links_run(&role->links, now);

	report(role, now);
	return loop_timer_arm(role->timer, MIN_OF(in_ns, NSEC_PER_SEC));
}

/* ---- packets ---- */

static uint32_t random_number(void *user)
{
	struct links_role *role = user;
	const uint64_t count = ++role->random_count;

	return (uint32_t)hash_keyed(role->random_key, &count, sizeof(count));
}

static void send_packet(void *user, uint32_t ifindex, const struct ip_addr *to, const uint8_t *buf,
			size_t len)
{
	const struct port *p = port_of(user, ifindex);
	struct sockaddr_storage at;
	const int at_len = ip_addr_to_sockaddr(to, LINKS_PORT, &at);

	/* An error, such as a link that is down, counts as a lost packet. */
	if (p && at_len > 0)
		(void)!sendto(p->fd, buf, len, MSG_DONTWAIT, (struct sockaddr *)&at,
			      (socklen_t)at_len);
}

/* Returns whether the target of the packet has refused it: no program has the port, or a firewall
 * of that host rejects the packet. Errors from routers or from this host's kernel do not count:
 * their sender is not the target. */
static bool is_refusal(const struct cmsghdr *c, const struct ip_addr *target)
{
	const size_t len = c->cmsg_len - CMSG_LEN(0);
	struct {
		struct sock_extended_err e;
		struct sockaddr_storage offender;
	} from = {.e = {.ee_errno = 0}};
	struct ip_addr ip;
	uint16_t port;

	memcpy(&from, CMSG_DATA(c), MIN_OF(len, sizeof(from)));
	if (!(from.e.ee_origin == SO_EE_ORIGIN_ICMP && from.e.ee_type == ICMP_DEST_UNREACH &&
	      from.e.ee_code != ICMP_FRAG_NEEDED) &&
	    !(from.e.ee_origin == SO_EE_ORIGIN_ICMP6 && from.e.ee_type == ICMP6_DST_UNREACH))
		return false;
	return ip_addr_from_sockaddr((struct sockaddr *)&from.offender, &ip, &port) >= 0 &&
	       ip_addr_equal(&ip, target);
}

/* Reads one error. Returns false if there is none. */
static bool read_error(struct port *p)
{
	struct sockaddr_storage to;
	uint8_t data[LINKS_HEAD_BYTES], control[512];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr mh = {.msg_name = &to,
			    .msg_namelen = sizeof(to),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control)};
	struct ip_addr ip;
	uint16_t port;

	if (recvmsg(p->fd, &mh, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	if (ip_addr_from_sockaddr((struct sockaddr *)&to, &ip, &port) < 0)
		return true;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c; c = CMSG_NXTHDR(&mh, c))
		if (((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		     (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) &&
		    c->cmsg_len >= CMSG_LEN(sizeof(struct sock_extended_err)) && is_refusal(c, &ip))
			links_refused(&p->role->links, p->ifindex, &ip, clock_now_ns());
	return true;
}

static bool read_packet(struct port *p)
{
	static uint8_t buf[LINKS_PACKET_MAX];
	struct sockaddr_storage from;
	struct iovec iov = {buf, sizeof(buf)};
	struct msghdr mh = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1};
	struct ip_addr ip;
	uint16_t port;
	const ssize_t n = recvmsg(p->fd, &mh, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno !=
		       EAGAIN; /* read_error() has already handled the cause of this error */
	if ((size_t)n <= sizeof(buf) &&
	    ip_addr_from_sockaddr((struct sockaddr *)&from, &ip, &port) >= 0 && port == LINKS_PORT)
		links_hear(&p->role->links, p->ifindex, &ip, buf, (size_t)n, clock_now_ns());
	return true;
}

/* Reads the packets that have arrived before it checks for timeouts. Otherwise a process that got
 * no CPU time for a while would count answers in its sockets as lost. */
static int on_timer(void *user)
{
	struct links_role *role = user;

	for (size_t k = 0; k < ARRAY_SIZE(role->ports); k++)
		for (int i = 0; role->ports[k].ifindex && i < BURST; i++)
			if (!read_packet(&role->ports[k]))
				break;
	return run(role);
}

static int on_socket(void *user, int fd, uint32_t revents)
{
	struct port *p = user;

	(void)fd;
	for (int i = 0; i < BURST && (revents & EPOLLERR) && read_error(p); i++)
		;
	for (int i = 0; i < BURST && read_packet(p); i++)
		;
	return run(p->role);
}

/* ---- settings ---- */

static const char *text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

static bool copy_name(char to[PLENUM_NAME_MAX], const char *from)
{
	const size_t len = strlen(from);

	if (len == 0 || len >= PLENUM_NAME_MAX)
		return false;
	for (const char *c = from; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			return false;
	memset(to, 0, PLENUM_NAME_MAX); /* so that memcmp() can compare reports */
	memcpy(to, from, len);
	return true;
}

/* Returns whether the address of another host belongs to the network of the leg. */
static bool is_on(const struct links_leg *leg, const struct port *p, const struct ip_addr *ip,
		  const json_t *of)
{
	return ip->family == leg->ip.addr.family && !ip_addr_equal(ip, &leg->ip.addr) &&
	       (ip_prefix_contains(&leg->ip, ip) ||
		(p->network[0] && strcmp(text_of(of, "network"), p->network) == 0));
}

static size_t add_host(const struct links_leg *leg, const struct port *p, const json_t *member,
		       struct links_peer *peers, size_t n)
{
	const json_t *of;
	size_t i;

	json_array_foreach (json_object_get(member, "legs"), i, of) {
		struct links_peer peer = {.ip = {0}};

		if (n == LINKS_PEERS_MAX || ip_addr_parse(text_of(of, "ip"), &peer.ip) < 0 ||
		    ip_addr_is_unusable(&peer.ip) || !is_on(leg, p, &peer.ip, of) ||
		    !copy_name(peer.host, text_of(member, "host")) ||
		    !copy_name(peer.leg, text_of(of, "name")))
			continue;
		peers[n++] = peer;
		break; /* a leg probes one address of each host */
	}
	return n;
}

static void use_members(struct links_role *role)
{
	for (size_t k = 0; k < role->links.n_legs; k++) {
		static struct links_peer peers[LINKS_PEERS_MAX];
		const struct links_leg *leg = &role->links.legs[k];
		const struct port *p = port_of(role, leg->ifindex);
		const json_t *o;
		size_t i, n = 0;

		json_array_foreach (role->members, i, o)
			if (p && strcmp(text_of(o, "host"), role->host) != 0)
				n = add_host(leg, p, o, peers, n);
		links_set_peers(&role->links, leg->ifindex, peers, n, clock_now_ns());
	}
}

static int take_members(struct links_role *role, uint64_t len, int fd)
{
	autofree char *text = NULL;
	int r = privsep_read_memfd(fd, len, &text);
	json_t *o;

	if (r < 0)
		return r;
	o = json_loadb(text, len, 0, NULL);
	if (!json_is_array(o) || json_equal(o, role->members)) {
		json_decref(o);
		return 0;
	}
	json_decref(role->members);
	role->members = o;
	use_members(role);
	return run(role);
}

static void take_keys(struct links_keys *k, const json_t *o)
{
	const json_t *pair;
	size_t i;

	*k = (struct links_keys){.secret = json_is_true(json_object_get(o, "secret"))};
	json_array_foreach (json_object_get(o, "keys"), i, pair) {
		if (k->n == LINKS_KEYS_MAX)
			break;
		for (size_t j = 0; j < 2; j++) {
			const char *hex = json_string_value(json_array_get(pair, j));

			k->keys[k->n][j] = hex ? strtoull(hex, NULL, 16) : 0;
		}
		k->n++;
	}
}

static void take_legs(struct links_role *role, const json_t *list)
{
	struct links_leg legs[PLENUM_LEGS_MAX];
	const json_t *o;
	size_t i, n = 0;

	json_array_foreach (list, i, o) {
		struct port *p =
			port_of(role, (uint32_t)json_integer_value(json_object_get(o, "ifindex")));

		if (n == PLENUM_LEGS_MAX || !p || !p->ifindex)
			continue;
		memset(&legs[n], 0, sizeof(legs[n]));
		if (!copy_name(legs[n].name, text_of(o, "name")) ||
		    ip_prefix_parse(text_of(o, "ip"), &legs[n].ip) < 0)
			continue;
		legs[n].ifindex = p->ifindex;
		legs[n].mtu = (uint32_t)json_integer_value(json_object_get(o, "mtu"));
		legs[n].open = true;
		snprintf(p->network, sizeof(p->network), "%s", text_of(o, "network"));
		p->told_ns = 0;
		n++;
	}
	links_set_legs(&role->links, legs, n, clock_now_ns());
}

static int take_settings(struct links_role *role, uint64_t len, int fd)
{
	autofree char *text = NULL;
	int r = privsep_read_memfd(fd, len, &text);
	json_t *o;

	if (r < 0)
		return r;
	o = json_loadb(text, len, 0, NULL);
	explicit_bzero(text, len);
	snprintf(role->host, sizeof(role->host), "%s", text_of(o, "host"));
	take_keys(&role->links.keys, o);
	take_legs(role, json_object_get(o, "legs"));
	json_decref(o);
	use_members(role);
	return run(role);
}

/* ---- the monitor ---- */

static void ignore(struct links_role *role, uint32_t ifindex)
{
	struct port *p = port_of(role, ifindex);

	if (!p)
		return;
	loop_source_free(p->source);
	close(p->fd);
	*p = (struct port){.ifindex = 0};
}

/* Uses the socket fd for the leg. The process owns fd afterwards. */
static int use_socket(struct links_role *role, uint32_t ifindex, int fd)
{
	struct port *p;

	ignore(role, ifindex);
	p = port_of(role, 0);
	if (!p) {
		close(fd);
		return 0;
	}
	*p = (struct port){.role = role, .ifindex = ifindex, .fd = fd};
	return loop_add_fd(role->loop, fd, EPOLLIN, false, on_socket, p, &p->source);
}

static int handle(void *user, const struct privsep_msg *m, int *fd)
{
	struct links_role *role = user;

	switch ((enum privsep_type)m->type) {
	case PRIVSEP_LISTEN:
		return use_socket(role, m->link.ifindex, fd_take(*fd));
	case PRIVSEP_IGNORE:
		if (m->link.ifindex)
			ignore(role, m->link.ifindex);
		return 0;
	case PRIVSEP_LINKS_SET:
		return take_settings(role, m->cluster_text.len, *fd);
	case PRIVSEP_CLUSTER_MEMBERS:
		return take_members(role, m->cluster_text.len, *fd);
	default: /* messages for other roles */
		return 0;
	}
}

/* ---- the process ---- */

/* Completes the sandbox: the process can send and receive on its sockets, and open nothing. */
static int seal(void)
{
	static const int allowed[] = {SYS_sendto, SYS_sendmsg,	  SYS_write,
				      SYS_close,  SYS_fcntl,	  SYS_lseek,
				      SYS_fstat,  SYS_newfstatat, SYS_pread64};

	return sandbox_seal(allowed, ARRAY_SIZE(allowed), NULL, 0);
}

static int open_all(struct links_role *role)
{
	int r = loop_new(&role->loop);

	role->monitor = (struct child_monitor){
		.loop = role->loop, .role = PRIVSEP_LINKS, .handle = handle, .user = role};
	if (r >= 0)
		r = loop_add_timer(role->loop, NSEC_PER_MSEC, on_timer, role, &role->timer);
	if (r >= 0)
		r = child_monitor_watch(&role->monitor);
	return r;
}

int links_main(enum log_level level)
{
	const struct rlimit files = {DESCRIPTORS_MAX, DESCRIPTORS_MAX}, no_core = {0, 0};
	static struct links_role role;
	const struct links_setup setup = {
		.send = send_packet, .random = random_number, .user = &role};
	int r;

	(void)level; /* the log already has this level */
	prctl(PR_SET_NAME, "plenumd-links");
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &no_core);
	json_object_seed(0); /* this may read a file, which the sandbox does not allow later */
	links_init(&role.links, &setup);
	r = getrandom(role.random_key, sizeof(role.random_key), 0) == sizeof(role.random_key)
		    ? 0
		    : -EIO;
	if (r >= 0)
		r = sandbox_enter();
	if (r >= 0)
		r = open_all(&role);
	if (r >= 0)
		r = seal();
	if (r >= 0)
		r = loop_run(role.loop);
	if (r < 0)
		log_err("plenumd-links: %s", strerror(-r));
	/* At a regular exit a sanitizer makes system calls that the filter does not allow. */
	_exit(r < 0 ? 1 : 0);
}
