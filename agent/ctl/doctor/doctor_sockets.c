/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel's network stack: dropped packets of workers with kernel sockets, the
 * settings that influence drops, and other programs on the same port. */
#include "agent/ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

#define LOST_PART 10000 /* tolerated loss: one datagram of this many */
#define UDP_MEM_PAGES_MIN 8192
#define SQUEEZED_PART 100

/* Reads a value of /proc/net/snmp, which has names in one line and numbers in the next. Returns 0,
 * or -ENOENT if there is no such value. */
static int find_udp(const char *text, const char *name, uint64_t *ret)
{
	const char *names = text ? strstr(text, "Udp: ") : NULL;
	const char *values = names ? strchr(names, '\n') : NULL;
	const size_t len = strlen(name);

	while (values && *names && *values) {
		names += strcspn(names, " \n");
		values += 1;
		values += strcspn(values, " \n");
		if (*names != ' ' || *values != ' ')
			return -ENOENT;
		names++;
		if (strncmp(names, name, len) == 0 && (names[len] == ' ' || names[len] == '\n')) {
			*ret = strtoull(values + 1, NULL, 10);
			return 0;
		}
	}
	return -ENOENT;
}

static void run_udp(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	autofree char *text = doctor_read_all(p, "/proc/net/snmp");
	uint64_t all, lost;

	if (find_udp(text, "InDatagrams", &all) < 0 || find_udp(text, c->about, &lost) < 0) {
		doctor_report(r, DOCTOR_UNKNOWN, "/proc/net/snmp has no Udp %s", c->about);
	} else if (lost * LOST_PART <= all) {
		doctor_report(r, DOCTOR_PASS, "%" PRIu64 " of %" PRIu64 " datagrams", lost, all);
	} else if (strcmp(c->about, "InCsumErrors") == 0) {
		doctor_report(r, DOCTOR_WARN,
			      "%" PRIu64 " datagrams of %" PRIu64 " arrived with a wrong checksum",
			      lost, all);
		doctor_advise(r, "check NIC, switch and cable: 'ethtool -S' of each leg");
	} else {
		doctor_report(r, DOCTOR_WARN,
			      "%" PRIu64 " datagrams of %" PRIu64
			      " were dropped: their socket had no room",
			      lost, all);
		doctor_advise(r, "give workers more cores (workers[].cores); for other programs: "
				 "sysctl -w net.core.rmem_max=16777216");
	}
}

static void run_udp_mem(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	static const char file[] = "/proc/sys/net/ipv4/udp_mem";
	unsigned long min, pressure, max;
	char text[96];

	if (doctor_read(p, text, sizeof(text), "%s", file) < 0 ||
	    sscanf(text, "%lu %lu %lu", &min, &pressure, &max) != 3) {
		doctor_report(r, DOCTOR_UNKNOWN, "%s cannot be read here", file);
	} else if (pressure >= UDP_MEM_PAGES_MIN) {
		doctor_report(r, DOCTOR_PASS, "UDP sockets may use %lu pages of memory", max);
	} else {
		doctor_report(r, DOCTOR_WARN,
			      "all UDP sockets of this host may use only %lu pages of memory", max);
		doctor_advise(r, "sysctl -w net.ipv4.udp_mem='98304 131072 196608'");
	}
}

/* Adds up columns of softnet_stat: packets, dropped packets, and how often a core used up its
 * budget. */
static void run_softnet(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	const bool of_budget = strcmp(c->about, "budget") == 0;
	autofree char *text = doctor_read_all(p, "/proc/net/softnet_stat");
	uint64_t all = 0, dropped = 0, squeezed = 0;
	char *rest = text;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		unsigned a, b, d;

		if (sscanf(line, "%x %x %x", &a, &b, &d) != 3)
			continue;
		all += a;
		dropped += b;
		squeezed += d;
	}
	if (!text) {
		doctor_report(r, DOCTOR_UNKNOWN, "/proc/net/softnet_stat cannot be read");
	} else if (of_budget && squeezed * SQUEEZED_PART > all) {
		doctor_report(r, DOCTOR_WARN,
			      "cores ran out of receive budget %" PRIu64 " times for %" PRIu64
			      " packets",
			      squeezed, all);
		doctor_advise(r, "sysctl -w net.core.netdev_budget=600 "
				 "net.core.netdev_budget_usecs=8000");
	} else if (!of_budget && dropped * LOST_PART > all) {
		doctor_report(r, DOCTOR_WARN,
			      "%" PRIu64 " of %" PRIu64
			      " packets were dropped: the queue of a core was full",
			      dropped, all);
		doctor_advise(r, "sysctl -w net.core.netdev_max_backlog=10000");
	} else {
		doctor_report(r, DOCTOR_PASS, "%" PRIu64 " of %" PRIu64 " packets",
			      of_budget ? squeezed : dropped, all);
	}
}

static void run_local_ports(const struct doctor_host *p, const struct doctor_check *c,
			    struct doctor_result *r)
{
	const unsigned port = p->spec->port;
	static bool reserved[65536];
	unsigned first, last;
	char text[64];

	if (doctor_read(p, text, sizeof(text), "/proc/sys/net/ipv4/ip_local_port_range") < 0 ||
	    sscanf(text, "%u %u", &first, &last) != 2) {
		doctor_report(r, DOCTOR_UNKNOWN, "ip_local_port_range cannot be read here");
		return;
	}
	doctor_read_list(p, reserved, ARRAY_SIZE(reserved),
			 "/proc/sys/net/ipv4/ip_local_reserved_ports");
	if (port < first || port > last || reserved[port]) {
		doctor_report(r, DOCTOR_PASS, "the kernel assigns ports %u-%u, workers use %u",
			      first, last, port);
		return;
	}
	doctor_report(r, DOCTOR_WARN,
		      "the kernel may assign the workers' port %u to any program (range %u-%u)",
		      port, first, last);
	doctor_advise(r, "sysctl -w net.ipv4.ip_local_reserved_ports=%u", port);
}

/* Another program's socket that is bound to all addresses also gets packets for the data IPs. */
static void run_port_taken(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	autofree char *text = doctor_read_all(p, "/proc/net/udp");
	char *rest = text;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		unsigned address, port;

		if (sscanf(line, " %*u: %8x:%4x", &address, &port) != 2 || address != 0 ||
		    port != p->spec->port)
			continue;
		doctor_report(r, DOCTOR_FAIL, "another program uses UDP port %u on all addresses",
			      port);
		doctor_advise(r,
			      "ss -lunp 'sport = :%u' shows the program: stop the program, or "
			      "configure another port",
			      port);
	}
	doctor_report(r, text ? DOCTOR_PASS : DOCTOR_UNKNOWN,
		      text ? "no other program uses UDP port %u"
			   : "/proc/net/udp cannot be read, so the user of port %u is unknown",
		      p->spec->port);
}

static void run_conntrack(const struct doctor_host *p, const struct doctor_check *c,
			  struct doctor_result *r)
{
	int64_t n, max;

	if (doctor_read_number(p, &n, "/proc/sys/net/netfilter/nf_conntrack_count") < 0 ||
	    doctor_read_number(p, &max, "/proc/sys/net/netfilter/nf_conntrack_max") < 0) {
		doctor_report(r, DOCTOR_PASS, "the kernel does not track connections");
	} else if (n * 10 <= max * 9) {
		doctor_report(r, DOCTOR_PASS, "%" PRId64 " of %" PRId64 " connections", n, max);
	} else {
		doctor_report(r, DOCTOR_WARN,
			      "%" PRId64 " of %" PRId64
			      " connections are tracked: new connections are dropped",
			      n, max);
		doctor_advise(r,
			      "sysctl -w net.netfilter.nf_conntrack_max=%" PRId64
			      "; or exempt the workers' UDP port %u from connection tracking "
			      "('notrack' in a raw chain of nftables)",
			      max * 2, p->spec ? p->spec->port : SPEC_PORT_DEFAULT);
	}
}

static const struct doctor_check checks[] = {
	{"udp-room", "Sockets have room for incoming datagrams", 0, run_udp, "RcvbufErrors"},
	{"udp-checksums", "Datagrams arrive undamaged", 0, run_udp, "InCsumErrors"},
	{"udp-memory", "UDP sockets may use enough memory", 0, run_udp_mem, NULL},
	{"udp-queues", "Cores have room for incoming packets", 0, run_softnet, "backlog"},
	{"udp-budget", "Cores have enough receive budget", 0, run_softnet, "budget"},
	{"port-reserved", "The kernel assigns the workers' port to no other program",
	 DOCTOR_NEEDS_SPEC, run_local_ports, NULL},
	{"port-free", "No other program uses the workers' port", DOCTOR_NEEDS_SPEC, run_port_taken,
	 NULL},
	{"firewall-conntrack", "Connection tracking has room for new connections", 0, run_conntrack,
	 NULL},
};

const struct doctor_subject doctor_sockets = DOCTOR_SUBJECT("sockets", checks);
