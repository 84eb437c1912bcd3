/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the paths that a client tries: pairs of a port of this host and an address of the server.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"

#define HELLO_FIRST_NS (5 * NSEC_PER_MSEC)

unsigned rudp_hello_ports(const struct rudp *r, const struct ip_addr *a, unsigned *ret)
{
	unsigned in_subnet = 0, routed = 0, any = 0;
	unsigned behind[RUDP_PORTS_MAX] = {0}, all[RUDP_PORTS_MAX] = {0};

	for (unsigned i = 0; i < r->cfg.n_ports; i++) {
		const struct rudp_port_info *port = &r->cfg.ports[i];
		struct ip_prefix net = {port->local.ip, port->prefix_len};

		if (net.addr.family != a->family)
			continue;
		all[any++] = i;
		if (port->routed)
			behind[routed++] = i;
		if (ip_prefix_contains(&net, a))
			ret[in_subnet++] = i;
	}
	if (in_subnet)
		return in_subnet;
	memcpy(ret, routed ? behind : all, sizeof(behind));
	return routed ? routed : any;
}

static struct rudp_path *path_find(struct rudp_session *s, unsigned port,
				   const struct datagram_addr *remote)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state != PATH_NONE && s->paths[i].port == port &&
		    rudp_addr_equal(&s->paths[i].remote, remote))
			return &s->paths[i];
	return NULL;
}

void rudp_hello_classify(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint32_t own = s->r->cfg.ports[p->port].label;
	bool standby = own && p->peer_label ? own != p->peer_label : p->crossed;

	if (p->standby == standby)
		return;
	p->standby = standby;
	p->hello_again = true;
	p->class_stamp = rudp_stamp(now);
	p->hello_ns = now;
	p->hello_interval = HELLO_FIRST_NS;
	rudp_session_touch(s);
}

/* Returns whether the port and the server's address belong together: their labels are equal or,
 * while a label is unknown, their positions in the two lists are equal. port: the k-th of n usable
 * ports; order: position of the server's address in its list. */
static bool is_pair(const struct rudp_session *s, unsigned port, unsigned k, unsigned n,
		    unsigned order, uint32_t label)
{
	uint32_t own = s->r->cfg.ports[port].label;

	return own && label ? own == label : n <= 1 || order % n == k;
}

static struct rudp_path *path_new(struct rudp_session *s, unsigned port,
				  const struct datagram_addr *remote, uint64_t now)
{
	for (unsigned i = 0; i < RUDP_PATHS_MAX; i++) {
		struct rudp_path *p = &s->paths[i];

		if (p->state != PATH_NONE)
			continue;
		rudp_path_init(s, i, port, remote, false, now);
		p->state = PATH_JOINING;
		p->hello_ns = now;
		p->hello_interval = HELLO_FIRST_NS;
		return p;
	}
	return NULL;
}

/* Adds paths to one address of the peer. straight: adds the paths whose port and address belong
 * together (is_pair); not straight: adds those with the other combinations of port and address. */
static void paths_add(struct rudp_session *s, const struct datagram_addr *remote, unsigned order,
		      uint32_t label, bool straight, uint64_t now)
{
	unsigned ports[RUDP_PORTS_MAX];
	unsigned n = rudp_hello_ports(s->r, &remote->ip, ports);

	for (unsigned k = 0; k < n; k++) {
		struct rudp_path *p = path_find(s, ports[k], remote);
		bool is_new = !p;

		if (is_pair(s, ports[k], k, n, order, label) != straight)
			continue;
		p = p ? p : path_new(s, ports[k], remote, now);
		if (!p)
			continue;
		p->crossed = n > 1 && order % n != k;
		if (!p->label_pn) /* if label_pn is set, a LABEL has already brought a newer
				     label */
			p->peer_label = label;
		rudp_hello_classify(s, p, now);
		if (is_new) /* only the first HELLO or JOIN of the path carries the flag */
			p->hello_again = false;
	}
}

void rudp_hello_add_seeds(struct rudp_session *s, uint64_t now)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < s->n_seeds; i++) {
			unsigned at = (s->first_seed + i) % s->n_seeds;

			paths_add(s, &s->seeds[at], at, 0, pass == 0, now);
		}
}

void rudp_hello_add_addresses(struct rudp_session *s, unsigned first, uint64_t now)
{
	const struct rudp_handshake *o = s->handshake;

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = first; i < o->n_addrs; i++) {
			const struct wire_addr *a = &o->addrs[i];
			struct datagram_addr remote = {.port = a->port};

			remote.ip.family = a->family == 4 ? AF_INET : AF_INET6;
			memcpy(remote.ip.bytes, a->ip, sizeof(remote.ip.bytes));
			paths_add(s, &remote, i, a->label, pass == 0, now);
		}
}
