/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of the paths to other hosts. They rely on the data port. If a worker has a path to the
 * peer, its validated round trips count. If no worker uses the data IP, the checks send the first
 * packet of a session, and the answer of the peer's worker counts. Echo requests only help to
 * explain why a data port does not answer, and test gateways, which have no data port.
 */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

#define LOST_MAX 2 /* how many packets of one probe may be lost without a finding */

/* ---- what is known about a leg's path to a peer ---- */

static bool path_is_up(const json_t *path)
{
	return json_is_true(json_object_get(path, "up"));
}

/* Returns whether packets were sent to the data port. If this host could not send them, the check
 * peer-sends reports that. */
static bool is_tested(const struct doctor_host *p, const struct doctor_probe *e)
{
	return !e->port.send_error && (doctor_find_path(p, e) || e->port.n_sent > 0);
}

static bool answers_anywhere(const struct doctor_host *p, const char *peer)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (strcmp(p->probes[i].peer, peer) == 0 && doctor_peer_answers(p, &p->probes[i]))
			return true;
	return false;
}

static bool is_tested_anywhere(const struct doctor_host *p, const char *peer)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (strcmp(p->probes[i].peer, peer) == 0 && is_tested(p, &p->probes[i]))
			return true;
	return false;
}

/* Returns whether a packet was sent to a peer, or with `gateways` to a gateway. If not, reports the
 * reason in r. */
static bool asked(const struct doctor_host *p, bool gateways, struct doctor_result *r)
{
	if (p->n_skipped > 0 && !gateways)
		doctor_report(r, DOCTOR_UNKNOWN,
			      "%zu probes skipped, too many at once; use --peer HOST",
			      p->n_skipped);
	for (size_t i = 0; i < p->n_probes; i++)
		if (!p->probes[i].peer[0] == gateways)
			return true;
	if (p->no_probes[0])
		doctor_report(r, DOCTOR_UNKNOWN, "%s", p->no_probes);
	else if (!gateways && p->spec && p->spec->n_peers > 0)
		doctor_report(r, DOCTOR_UNKNOWN, "no leg leads to an address in peers[]");
	else
		doctor_report(r, DOCTOR_PASS,
			      gateways ? "no leg has a gateway" : "no peer is configured");
	return false;
}

struct ends {
	char from[IP_ADDR_STR_MAX], to[IP_ADDR_STR_MAX];
};

static struct ends ends_of(const struct doctor_probe *e)
{
	struct ends t;

	ip_addr_format(&e->from, t.from, sizeof(t.from));
	ip_addr_format(&e->to, t.to, sizeof(t.to));
	return t;
}

/* ---- sending ---- */

/* Adds a remedy for a packet that the kernel of this host refused to send, depending on the
 * errno. */
static void advise_send(const struct doctor_probe *e, int error, struct doctor_result *r)
{
	const struct ends t = ends_of(e);

	switch (error) {
	case EPERM:
		doctor_advise(r, "a packet filter of this host drops the packet: nft list ruleset; "
				 "iptables-save; for cgroup programs: bpftool cgroup tree");
		break;
	case EACCES:
	case EINVAL:
	case ENETUNREACH:
	case EHOSTUNREACH:
		doctor_advise(r,
			      "ip route get %s from %s; ip rule; remove the route or rule that "
			      "rejects the packet, or add the missing route: plenum plan",
			      t.to, t.from);
		break;
	case ENOBUFS:
		doctor_advise(r, "tc -s qdisc show; the queue of leg %s's device is full or drops",
			      e->leg);
		break;
	case EADDRNOTAVAIL:
		doctor_advise(r, "plenum plan: this host has no address %s", t.from);
		break;
	case EMSGSIZE:
		doctor_advise(r,
			      "raise the MTU of leg %s's device to the MTU of the leg's network; "
			      "ip link shows the device's MTU",
			      e->leg);
		break;
	default:
		doctor_advise(r,
			      "compare the plan (plenum plan) with the kernel's route (ip route "
			      "get %s from %s)",
			      t.to, t.from);
	}
}

/* Reports packets that the kernel refused to send from sockets of workers. */
static void check_refusals(const struct doctor_host *p, struct doctor_result *r)
{
	static const char code[] = "send-refused: ";
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path) {
		const char *reason = ctl_text(path, "reason");

		if (strncmp(reason, code, sizeof(code) - 1) != 0)
			continue;
		doctor_report(r, DOCTOR_FAIL, "worker %" JSON_INTEGER_FORMAT ": %s",
			      json_integer_value(json_object_get(path, "worker")),
			      reason + sizeof(code) - 1);
		doctor_advise(r, "nft list ruleset; ip route get %s from %s",
			      ctl_text(path, "remote"), ctl_text(path, "local"));
	}
}

static void run_sends(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		const struct port_probe *s = e->port.send_error ? &e->port : &e->port_full;
		const struct ends t = ends_of(e);

		if (e->peer[0] && !s->send_error && !is_tested(p, e))
			doctor_report(
				r, DOCTOR_UNKNOWN,
				"%s (%s) was not tested on leg %s: a worker holds the data IP, so "
				"only a worker could send, and no worker has a path there",
				e->peer, t.to, e->leg);
		if (!s->send_error)
			continue;
		doctor_report(r, DOCTOR_FAIL,
			      "this host refuses to send from %s to UDP port %u of %s (%s) on leg "
			      "%s: %s (errno %d)",
			      t.from, s->port, e->peer, t.to, e->leg, strerror(-s->send_error),
			      -s->send_error);
		advise_send(e, -s->send_error, r);
	}
	check_refusals(p, r);
	doctor_report(r, DOCTOR_PASS, "this host sends packets to all peers on all legs");
}

/* ---- answers ---- */

/* Reports an ICMP error, or an error of this host's kernel, in response to a packet. */
static void report_icmp(const struct doctor_probe *e, enum doctor_state is, struct doctor_result *r)
{
	const struct ends t = ends_of(e);
	const struct port_probe *s = &e->port;
	char by[IP_ADDR_STR_MAX];

	if (s->icmp_error == ECONNREFUSED && ip_addr_equal(&s->icmp_by, &e->to)) {
		doctor_report(r, is,
			      "%s (%s) is up on leg %s, but refuses UDP port %u: no program there "
			      "has the port, or a filter rejects the packets",
			      e->peer, t.to, e->leg, s->port);
		doctor_advise(r,
			      "on %s: systemctl start plenumd; plenum status; if a worker has the "
			      "port (ss -lun 'sport = :%u'), nft list ruleset",
			      e->peer, s->port);
	} else if (s->icmp_error && !ip_addr_equal(&s->icmp_by, &e->from)) {
		doctor_report(r, is, "%s rejects packets to UDP port %u of %s (%s) on leg %s: %s",
			      ip_addr_format(&s->icmp_by, by, sizeof(by)), s->port, e->peer, t.to,
			      e->leg, strerror(s->icmp_error));
		doctor_advise(r, "look for the route or filter on %s that rejects the packets", by);
	} else if (s->icmp_error == EHOSTUNREACH) {
		doctor_report(r, is,
			      "no host on leg %s answers ARP or neighbour discovery for "
			      "%s, an address of %s",
			      e->leg, t.to, e->peer);
		doctor_advise(r,
			      "check that %s is up and has %s on the network of leg %s: plenum "
			      "net show there",
			      e->peer, t.to, e->leg);
	} else {
		doctor_report(r, is,
			      "this host itself rejects packets to UDP port %u of %s (%s): "
			      "%s",
			      s->port, e->peer, t.to, strerror(s->icmp_error));
		doctor_advise(r,
			      "look for a rule that rejects these packets: nft list ruleset; "
			      "iptables-save; ip route get %s from %s",
			      t.to, t.from);
	}
}

/* Reports the cause that the answers to other packets suggest, with its remedy. */
static void report_silence(const struct doctor_host *p, const struct doctor_probe *e,
			   enum doctor_state is, struct doctor_result *r)
{
	const json_t *path = doctor_find_path(p, e);
	const struct ends t = ends_of(e);
	const struct port_probe *s = &e->port;

	if (doctor_is_crossed(p, e->leg)) {
		doctor_report(r, is,
			      "%s (%s) does not answer on leg %s, whose cable leads "
			      "elsewhere",
			      e->peer, t.to, e->leg);
		doctor_advise(r, "see leg-crossed");
		doctor_blame(r, "leg-crossed");
	} else if (path && s->n_answered > 0) {
		doctor_report(r, is,
			      "%s (%s) answers packets from other UDP ports on leg %s, but the "
			      "worker's path there is %s: packets to or from this host's UDP port "
			      "%u are lost",
			      e->peer, t.to, e->leg, ctl_text(path, "state"), p->spec->port);
		doctor_advise(r,
			      "let UDP port %u pass in both directions, as source and as "
			      "destination: nft list ruleset, here and on %s",
			      p->spec->port, e->peer);
	} else if (s->icmp_error) {
		report_icmp(e, is, r);
	} else if (e->small) {
		doctor_report(r, is,
			      "%s (%s) answers echo requests on leg %s, but its UDP port %u is "
			      "silent: a filter there or on the path drops the packets or the "
			      "answers",
			      e->peer, t.to, e->leg, s->port);
		doctor_advise(r, "nft list ruleset; iptables-save, on %s and on this host",
			      e->peer);
	} else {
		doctor_report(r, is,
			      "%s (%s) does not answer on leg %s, neither at UDP port %u nor "
			      "to echo requests%s",
			      e->peer, t.to, e->leg, s->port,
			      e->echoes ? "" : ", which this user may not send");
		doctor_advise(r, "plenum status and plenum doctor on %s; ip route get %s from %s",
			      e->peer, t.to, t.from);
	}
}

static void report_untested(const struct doctor_probe *e, struct doctor_result *r)
{
	const struct ends t = ends_of(e);

	if (e->held) {
		doctor_report(r, DOCTOR_UNKNOWN,
			      "%s of leg %s belongs to a worker, which has no session with peer "
			      "%s: only this worker could ask",
			      t.from, e->leg, e->peer);
		return;
	}
	doctor_report(r, DOCTOR_UNKNOWN, "no packet to peer %s was sent on leg %s", e->peer,
		      e->leg);
	doctor_blame(r, "peer-sends");
}

static void run_answers(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];

		if (!e->peer[0] || answers_anywhere(p, e->peer))
			continue;
		if (is_tested(p, e))
			report_silence(p, e, DOCTOR_FAIL, r);
		else if (!is_tested_anywhere(p, e->peer))
			report_untested(e, r);
	}
	doctor_report(r, DOCTOR_PASS, "the data ports of all peers answer");
}

static void run_legs(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];

		if (!e->peer[0] || doctor_peer_answers(p, e))
			continue;
		if (!is_tested(p, e)) {
			report_untested(e, r);
		} else if (answers_anywhere(p, e->peer)) {
			report_silence(p, e, DOCTOR_WARN, r);
		} else {
			doctor_report(r, DOCTOR_UNKNOWN, "peer %s answers on no leg", e->peer);
			doctor_blame(r, "peer-answers");
		}
	}
	doctor_report(r, DOCTOR_PASS, "the data ports of all reachable peers answer on all legs");
}

/* Reports the losses that workers measure, in either direction. */
static void check_lossy(const struct doctor_host *p, struct doctor_result *r)
{
	static const char *const ways[][3] = {{"lossy_to", "loss_to_percent", "to"},
					      {"lossy_from", "loss_from_percent", "from"}};
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path)
		for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
			if (!json_is_true(json_object_get(path, ways[k][0])))
				continue;
			doctor_report(r, DOCTOR_WARN, "leg %s loses %.1f %% of the packets %s %s",
				      ctl_text(path, "leg"),
				      json_number_value(json_object_get(path, ways[k][1])),
				      ways[k][2], ctl_text(path, "peer"));
			doctor_advise(
				r,
				"ip -s link and tc -s qdisc show of leg %s's device, here and "
				"on %s; the error counters of its switch ports",
				ctl_text(path, "leg"), ctl_text(path, "peer"));
		}
}

static void report_none(const struct doctor_host *p, struct doctor_result *r)
{
	bool refused = false;

	for (size_t i = 0; i < p->n_probes; i++)
		refused = refused || p->probes[i].port.send_error;
	doctor_report(r, DOCTOR_UNKNOWN, "no data port of a peer answers");
	doctor_blame(r, refused ? "peer-sends" : "peer-answers");
}

static void run_loss(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	size_t n = 0;

	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		const struct port_probe *s = &e->port;
		const struct ends t = ends_of(e);

		if (!e->peer[0] || s->n_answered == 0)
			continue;
		n++;
		if (s->n_sent - s->n_answered <= LOST_MAX)
			continue;
		doctor_report(
			r, DOCTOR_WARN,
			"%u of %u packets to UDP port %u of %s (%s) and back were lost on leg "
			"%s",
			s->n_sent - s->n_answered, s->n_sent, s->port, e->peer, t.to, e->leg);
		doctor_advise(r,
			      "ip -s link and tc -s qdisc show of leg %s's device, here and on %s; "
			      "the error counters of its switch ports",
			      e->leg, e->peer);
	}
	check_lossy(p, r);
	if (n > 0)
		doctor_report(r, DOCTOR_PASS, "at most %u of %u packets to a peer were lost",
			      LOST_MAX, DOCTOR_PACKETS);
	else
		report_none(p, r);
}

/* If a data port does not answer, results that depend on it are unknown. This function names the
 * check that reports the silent port as their cause. */
static void blame_silence(const struct doctor_host *p, const struct doctor_probe *e,
			  struct doctor_result *r)
{
	if (e->port.send_error || e->port_full.send_error)
		doctor_blame(r, "peer-sends");
	else if (!p->status && doctor_peer_answers(p, e))
		doctor_blame(r, "agent-answers");
	else if (is_tested(p, e) && !doctor_peer_answers(p, e))
		doctor_blame(r, answers_anywhere(p, e->peer) ? "peer-legs" : "peer-answers");
}

/* ---- packets from peers ---- */

/* Checks that packets which other hosts send first arrive at the data port of this host's
 * workers. The packets on the paths prove it, and so do answers to probes that were sent from
 * the data port. */
static void run_back(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		const json_t *path = doctor_find_path(p, e);

		if (!e->peer[0] || (path && path_is_up(path)) ||
		    (e->port.had_own_port && e->port.n_answered > 0))
			continue;
		doctor_report(
			r, DOCTOR_UNKNOWN,
			path ? "the path of a worker to peer %s on leg %s is not up"
			     : "no worker here has a session with peer %s on leg %s, so it is not "
			       "known whether packets that the peer sends first arrive",
			e->peer, e->leg);
		blame_silence(p, e, r);
	}
	doctor_report(r, DOCTOR_PASS, "packets of all peers arrive at UDP port %u of this host",
		      p->spec->port);
}

/* ---- sizes, gateways ---- */

static void report_small(const struct doctor_probe *e, struct doctor_result *r)
{
	const struct ends t = ends_of(e);

	doctor_report(r, DOCTOR_FAIL,
		      "%s (%s) answers small packets on leg %s, but not packets of %" PRIu32
		      " bytes",
		      e->peer[0] ? e->peer : "the gateway", t.to, e->leg, e->bytes);
	doctor_advise(
		r,
		"set the MTU of the switch ports and of the peer's device to at least %" PRIu32
		", or write a smaller networks[].mtu on all hosts",
		e->bytes);
}

enum fit { FITS, TOO_SMALL, NOT_KNOWN };

/* Returns whether packets of the leg's size reach the peer's data port, according to probes or to
 * the worker's own path. */
static enum fit fits_there(const struct doctor_host *p, const struct doctor_probe *e)
{
	const json_t *path = doctor_find_path(p, e);

	if (e->port_full.n_answered > 0)
		return FITS;
	if (e->port.n_answered > 0 && e->port_full.n_sent > 0)
		return TOO_SMALL;
	if (!path || !path_is_up(path))
		return NOT_KNOWN;
	return json_integer_value(json_object_get(path, "mtu")) >= (json_int_t)e->bytes ? FITS
											: TOO_SMALL;
}

/* Returns whether packets of that size come back from the peer, according to an echo answer or to
 * the packets of the peer's worker. */
static enum fit fits_back(const struct doctor_probe *e)
{
	return !e->small ? NOT_KNOWN : e->full ? FITS : TOO_SMALL;
}

static void run_mtu(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		const enum fit there = fits_there(p, e);

		if (!e->peer[0])
			continue;
		if (there == TOO_SMALL || (there == FITS && fits_back(e) == TOO_SMALL)) {
			report_small(e, r);
		} else if (there == NOT_KNOWN) {
			doctor_report(r, DOCTOR_UNKNOWN,
				      "no packet of %" PRIu32 " bytes to peer %s was answered on "
				      "leg %s",
				      e->bytes, e->peer, e->leg);
			blame_silence(p, e, r);
		} else if (fits_back(e) == NOT_KNOWN) {
			doctor_report(r, DOCTOR_UNKNOWN,
				      "packets of %" PRIu32 " bytes reach peer %s on leg %s; "
				      "whether they come back is not known%s%s",
				      e->bytes, e->peer, e->leg, p->no_echoes[0] ? ": " : "",
				      p->no_echoes);
		}
	}
	doctor_report(r, DOCTOR_PASS,
		      "packets as large as the legs' MTU arrive, in both directions");
}

/* Returns whether the gateway is proven to work. An answer from a peer behind it proves that, even
 * if the gateway ignores echo requests. */
static bool gateway_forwards(const struct doctor_host *p, const struct doctor_probe *gateway)
{
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];

		if (e->peer[0] && e->by_gateway && strcmp(e->leg, gateway->leg) == 0 &&
		    doctor_peer_answers(p, e))
			return true;
	}
	return false;
}

static void run_gateways(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	if (!asked(p, true, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		const struct ends t = ends_of(e);

		if (e->peer[0] || e->small || gateway_forwards(p, e))
			continue;
		if (!e->echoes) {
			doctor_report(r, DOCTOR_UNKNOWN, "%s", p->no_echoes);
			continue;
		}
		doctor_report(r, DOCTOR_WARN,
			      "the gateway does not answer echo requests on leg %s (%s to %s), and "
			      "no peer behind it answers",
			      e->leg, t.from, t.to);
		doctor_advise(r, "ip route get %s from %s; check the router of leg %s", t.to,
			      t.from, e->leg);
	}
	doctor_report(r, DOCTOR_PASS, "all gateways answer, or peers behind them do");
}

static const struct doctor_check checks[] = {
	{"peer-sends", "This host sends packets to peers", 0, run_sends, NULL},
	{"peer-answers", "The data ports of all peers answer", DOCTOR_NEEDS_SPEC, run_answers,
	 NULL},
	{"peer-legs", "The data ports of peers answer on all legs", DOCTOR_NEEDS_SPEC, run_legs,
	 NULL},
	{"peer-loss", "Packets to peers and back are not lost", 0, run_loss, NULL},
	{"peer-back", "Packets of peers arrive at the data port of workers here", DOCTOR_NEEDS_SPEC,
	 run_back, NULL},
	{"peer-mtu", "Packets as large as the legs' MTU arrive, in both directions", 0, run_mtu,
	 NULL},
	{"peer-gateways", "All gateways forward packets or answer", 0, run_gateways, NULL},
};

const struct doctor_subject doctor_peers = DOCTOR_SUBJECT("peers", checks);
