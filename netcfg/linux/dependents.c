/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the TCP connections and network mounts that depend on a link, so that a plan that takes
 * the link down can name them before the apply.
 */
#include "netcfg/linux/dependents.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/netlink.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define SSH_PORT 22
/* Equals TCP_ESTABLISHED in the kernel's net/tcp_states.h, which is not among the headers for user
 * space. */
#define TCP_ESTABLISHED_STATE 1

static bool is_loopback(const struct ip_addr *a)
{
	static const struct ip_addr six = {AF_INET6, {[15] = 1}};

	return (a->family == AF_INET && a->bytes[0] == 127) || ip_addr_equal(a, &six);
}

/* Sockets for both families report IPv4 addresses as IPv4-mapped IPv6 addresses (RFC 4291, section
 * 2.5.5.2). */
static struct ip_addr without_mapping(const struct ip_addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct ip_addr four = {.family = AF_INET};

	if (a->family != AF_INET6 || memcmp(a->bytes, mapped, sizeof(mapped)) != 0)
		return *a;
	memcpy(four.bytes, a->bytes + sizeof(mapped), 4);
	return four;
}

static struct inv_conns *conns_of(struct inventory *inv, const struct ip_addr *local)
{
	struct inv_conns *c;

	for (size_t i = 0; i < inv->n_conns; i++)
		if (ip_addr_equal(&inv->conns[i].local, local))
			return &inv->conns[i];
	c = inv_conns_add(inv);
	if (c)
		c->local = *local;
	return c;
}

int dependents_parse_conn(struct inventory *inv, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	struct ip_addr local = {0};
	struct inv_conns *c;

	if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return -EBADMSG;
	if ((m->idiag_family != AF_INET && m->idiag_family != AF_INET6) ||
	    m->idiag_state != TCP_ESTABLISHED_STATE)
		return 0;
	local.family = m->idiag_family;
	memcpy(local.bytes, m->id.idiag_src, ip_addr_bits(&local) / 8);
	local = without_mapping(&local);
	if (is_loopback(&local))
		return 0;
	c = conns_of(inv, &local);
	if (!c)
		return -ENOMEM;
	c->n++;
	c->n_ssh += ntohs(m->id.idiag_sport) == SSH_PORT;
	return 0;
}

static int on_conn(void *user, struct nlmsghdr *h)
{
	return dependents_parse_conn(user, h);
}

int dependents_add_conns(struct netlink *diag, struct inventory *inv)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) && r == 0; i++) {
		struct {
			struct nlmsghdr h;
			struct inet_diag_req_v2 req;
		} m = {
			.h = {.nlmsg_len = sizeof(m), .nlmsg_type = SOCK_DIAG_BY_FAMILY},
			.req = {.sdiag_family = families[i],
				.sdiag_protocol = IPPROTO_TCP,
				.idiag_states = 1U << TCP_ESTABLISHED_STATE},
		};

		r = netlink_talk(diag, &m.h, NLM_F_DUMP, on_conn, inv, NULL);
		/* Connections open and close all the time, so a dump that was interrupted is
		 * accepted. */
		if (r == -EAGAIN)
			r = 0;
		/* The kernel lacks IPv6 or socket diagnostics if it returns one of these errors. */
		if (r == -ENOENT || r == -EOPNOTSUPP || r == -EAFNOSUPPORT)
			r = 0;
	}
	return r;
}

static const char *const network_types[] = {
	"nfs",	  "nfs4",	    "cifs",	  "smb3",      "ceph", "9p",	 "afs",
	"lustre", "fuse.glusterfs", "fuse.sshfs", "fuse.ceph", "coda", "beegfs", "orangefs",
};

/* Finds NAME=VALUE in a comma-separated list. The value ends at one of the characters in `ends`.
 * Returns false if the option is absent. */
static bool option_value(const char *options, const char *name, const char *ends, char *buf,
			 size_t size)
{
	size_t len = strlen(name);

	for (const char *s = options; *s;) {
		if (strncmp(s, name, len) == 0 && s[len] == '=') {
			const char *value = s + len + 1;

			snprintf(buf, size, "%.*s", (int)strcspn(value, ends), value);
			return true;
		}
		s += strcspn(s, ",");
		s += *s == ',';
	}
	return false;
}

/* Parses the address in "10.0.0.1:/srv", "10.0.0.1@tcp:/fs" or "[fd00::1]:/srv". Host names are not
 * resolved. */
static bool source_address(const char *source, struct ip_addr *ret)
{
	char text[IP_ADDR_STR_MAX];
	const char *begin = source + (source[0] == '[');

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(begin, source[0] == '[' ? "]" : ":@,/"),
		 begin);
	return ip_addr_parse(text, ret) == 0;
}

static void find_server(struct inv_mount *m, const char *source, const char *options)
{
	char text[IP_ADDR_STR_MAX];

	if (option_value(options, "addr", ",", text, sizeof(text)) &&
	    ip_addr_parse(text, &m->server) == 0)
		return;
	if (option_value(options, "mon_addr", ":/,", text, sizeof(text)) &&
	    ip_addr_parse(text, &m->server) == 0)
		return;
	source_address(source, &m->server);
}

/* Replaces the kernel's octal form of special characters (such as \040 for a blank) by the
 * characters. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && isdigit((unsigned char)s[2]) &&
		    isdigit((unsigned char)s[3])) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

bool dependents_parse_mount(const char *line, struct inv_mount *ret)
{
	const char *rest = strstr(line, " - ");
	char path[INV_PATH_MAX] = "", type[16] = "", source[256] = "", trans[8] = "";
	struct inv_mount m = {0};
	int options = 0;

	if (!rest || sscanf(line, "%*s %*s %*s %*s %127s", path) != 1 ||
	    sscanf(rest + 3, "%15s %255s %n", type, source, &options) != 2 || options == 0)
		return false;
	rest += 3 + options;
	for (size_t i = 0; i < ARRAY_SIZE(network_types) && !m.type[0]; i++)
		if (strcmp(type, network_types[i]) == 0)
			inv_text_set(m.type, sizeof(m.type), type);
	/* A 9p mount can also use virtio or a pipe; such a mount does not depend on a network
	 * link. */
	if (strcmp(type, "9p") == 0 && (!option_value(rest, "trans", ",\n", trans, sizeof(trans)) ||
					(strcmp(trans, "tcp") != 0 && strcmp(trans, "rdma") != 0)))
		return false;
	if (!m.type[0])
		return false;
	unescape(path);
	inv_text_set(m.path, sizeof(m.path), path);
	find_server(&m, source, rest);
	*ret = m;
	return true;
}

int dependents_add_mounts(struct inventory *inv)
{
	FILE *f = fopen("/proc/thread-self/mountinfo", "re");
	autofree char *line = NULL;
	size_t size = 0;
	int r = 0;

	if (!f)
		return -errno;
	while (r == 0 && getline(&line, &size, f) > 0) {
		struct inv_mount m, *slot;

		if (!dependents_parse_mount(line, &m))
			continue;
		slot = inv_mount_add(inv);
		if (slot)
			*slot = m;
		else
			r = -ENOMEM;
	}
	if (r == 0 && ferror(f))
		r = -EIO;
	fclose(f);
	return r;
}
