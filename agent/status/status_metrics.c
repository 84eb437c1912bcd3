/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints a status snapshot in Prometheus' text format. It follows the conventions of that format:
 * base units, counters whose name ends with _total, and a sample only if the value is known. Each
 * metric is a row of a table.
 */
#include "agent/status.h"

#include "netcfg/base/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RTT_CURRENT_NS (10 * NSEC_PER_SEC)
#define LABELS_MAX 1024
/* Maximum number of histograms of mounts and exports together; about 7 MiB of text. */
#define HISTOGRAMS_MAX 3000

enum form {
	COUNT,	    /* uint64_t */
	FLAG,	    /* bool */
	NSEC,	    /* uint64_t, printed in seconds */
	PPM,	    /* uint64_t, printed as a ratio; UINT64_MAX: unknown, so no sample */
	PPM_SMALL,  /* uint32_t, printed as a ratio */
	BYTES_SMALL /* uint32_t */
};

struct metric {
	const char *name, *help; /* without the prefix plenum_; a name with _total is a counter */
	enum form form;
	size_t offset;			/* offset of the value in the object */
	bool (*known)(const void *row); /* whether the value is known; NULL: always */
};

/* A list of objects, such as the paths. Each object has one sample of each metric in a table. */
struct rows {
	size_t n;
	/* Returns object number i, in which the metrics' offsets apply, and writes its labels
	 * without braces. Returns NULL if the object has no sample. */
	const void *(*get)(const struct status *st, size_t i, char labels[LABELS_MAX]);
};

static void head_of(FILE *f, const char *name, const char *help, const char *type)
{
	fprintf(f, "# HELP plenum_%s %s\n# TYPE plenum_%s %s\n", name, help, name, type);
}

static void head(FILE *f, const char *name, const char *help)
{
	head_of(f, name, help, strstr(name, "_total") ? "counter" : "gauge");
}

static uint64_t value_read(const void *row, const struct metric *m)
{
	const char *at = (const char *)row + m->offset;
	uint64_t v;
	uint32_t small;
	bool flag;

	switch (m->form) {
	case FLAG:
		memcpy(&flag, at, sizeof(flag));
		return flag;
	case PPM_SMALL:
	case BYTES_SMALL:
		memcpy(&small, at, sizeof(small));
		return small;
	default:
		memcpy(&v, at, sizeof(v));
		return v;
	}
}

static void sample(FILE *f, const struct metric *m, const char *labels, const void *row)
{
	uint64_t v = value_read(row, m);

	if (m->form == PPM && v == UINT64_MAX)
		return;
	fprintf(f, "plenum_%s{%s} ", m->name, labels);
	if (m->form == NSEC)
		fprintf(f, "%.9f\n", (double)v / NSEC_PER_SEC);
	else if (m->form == PPM || m->form == PPM_SMALL)
		fprintf(f, "%.6f\n", (double)v / 1e6);
	else
		fprintf(f, "%" PRIu64 "\n", v);
}

static void print_table(FILE *f, const struct status *st, const struct rows *rows,
			const struct metric *metrics, size_t n)
{
	char labels[LABELS_MAX];

	for (size_t m = 0; m < n; m++) {
		head(f, metrics[m].name, metrics[m].help);
		for (size_t i = 0; i < rows->n; i++) {
			const void *row = rows->get(st, i, labels);

			if (row && (!metrics[m].known || metrics[m].known(row)))
				sample(f, &metrics[m], labels, row);
		}
	}
}

/* Replaces backslash, quote and control characters, which Prometheus would interpret. */
static const char *label_text(const char *s, char *buf, size_t size)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++)
		buf[n++] = *s == '"' || *s == '\\' || (unsigned char)*s < 0x20 ? '_' : *s;
	buf[n] = '\0';
	return buf;
}

/* Prints one sample for each possible state; only the sample of the current state is 1. */
static void state_samples(FILE *f, const char *name, const char *labels, const char *is,
			  const char *(*names)(unsigned i), unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "plenum_%s{%s%sstate=\"%s\"} %d\n", name, labels, labels[0] ? "," : "",
			names(i), strcmp(names(i), is) == 0);
}

/* ---- the agent ---- */

static const char *agent_state_name(unsigned i)
{
	return agent_state_to_string((enum agent_state)i);
}

static void print_agent(FILE *f, const struct status *st)
{
	head(f, "build_info", "Version of the agent.");
	fprintf(f, "plenum_build_info{version=\"%s\"} 1\n", PLENUM_VERSION);
	head(f, "agent_state",
	     "State of the agent: 1 for its current state, 0 for all other states.");
	state_samples(f, "agent_state", "", st->state, agent_state_name, AGENT_STATE_MAX);
	head(f, "applies_total", "Applies that changed the host since the agent started.");
	fprintf(f, "plenum_applies_total %" PRIu64 "\n", st->n_applies);
	head(f, "problems", "Reasons why the state is degraded.");
	fprintf(f, "plenum_problems %zu\n", st->n_problems);
	head(f, "confirm_left_seconds",
	     "Time until an apply that waits for a confirmation is rolled back; absent if no apply "
	     "waits.");
	if (st->waits_entry)
		fprintf(f, "plenum_confirm_left_seconds %" PRIu64 "\n", st->waits_left_s);
}

/* ---- legs ---- */

static bool leg_is_usable(const struct status_leg *leg)
{
	return strcmp(leg->state, plan_leg_state_to_string(PLAN_LEG_USABLE)) == 0;
}

static const char *leg_state_name(unsigned i)
{
	return plan_leg_state_to_string((enum plan_leg_state)i);
}

static const void *leg_row(const struct status *st, size_t i, char labels[LABELS_MAX])
{
	char name[PLENUM_NAME_MAX];

	snprintf(labels, LABELS_MAX, "leg=\"%s\"",
		 label_text(st->legs[i].name, name, sizeof(name)));
	return &st->legs[i];
}

static void print_leg_states(FILE *f, const struct status *st)
{
	char labels[LABELS_MAX];

	head(f, "leg_usable", "Whether the leg's state is usable.");
	for (size_t i = 0; i < st->n_legs; i++) {
		leg_row(st, i, labels);
		fprintf(f, "plenum_leg_usable{%s} %d\n", labels, leg_is_usable(&st->legs[i]));
	}
	head(f, "leg_state", "State of the leg: 1 for its current state, 0 for all other states.");
	for (size_t i = 0; i < st->n_legs; i++) {
		leg_row(st, i, labels);
		state_samples(f, "leg_state", labels, st->legs[i].state, leg_state_name,
			      PLAN_LEG_STATE_MAX);
	}
}

static void print_switches(FILE *f, const struct status *st)
{
	char labels[LABELS_MAX], label[PLENUM_NAME_MAX], sw[PLENUM_NAME_MAX];
	char port[LLDP_TEXT_MAX];

	head(f, "leg_switch_info",
	     "The leg's label, and its switch and port as announced by LLDP; empty: unknown.");
	for (size_t i = 0; i < st->n_legs; i++) {
		const struct status_leg *leg = leg_row(st, i, labels);

		fprintf(f, "plenum_leg_switch_info{%s,label=\"%s\",switch=\"%s\",port=\"%s\"} 1\n",
			labels, label_text(leg->label, label, sizeof(label)),
			label_text(leg->switch_name, sw, sizeof(sw)),
			label_text(leg->switch_port, port, sizeof(port)));
	}
}

static void print_legs(FILE *f, const struct status *st)
{
#define LEG(name, help, form, field)                                              \
	{                                                                         \
		"leg_" name, help, form, offsetof(struct status_leg, field), NULL \
	}
	static const struct metric metrics[] = {
		LEG("carrier", "Whether the leg's link has a carrier.", FLAG, carrier),
		LEG("mtu_bytes", "Largest packet of the leg's link.", BYTES_SMALL, mtu),
		LEG("queue_drop_ratio",
		    "Share of packets that the kernel's queue before the leg's NIC dropped.",
		    PPM_SMALL, queue_drop_ppm),
	};
#undef LEG

	print_table(f, st, &(struct rows){st->n_legs, leg_row}, metrics, ARRAY_SIZE(metrics));
	print_leg_states(f, st);
	print_switches(f, st);
}

/* ---- processes: worker 0 is the agent ---- */

static const void *process_row(const struct status *st, size_t i, char labels[LABELS_MAX])
{
	snprintf(labels, LABELS_MAX, "worker=\"%u\"", st->processes[i].id);
	return &st->processes[i];
}

static bool process_is_worker(const void *row)
{
	const struct status_process *p = row;

	return p->id != 0;
}

static void print_processes(FILE *f, const struct status *st)
{
#define PROCESS(name, help, form, field, known)                                 \
	{                                                                       \
		name, help, form, offsetof(struct status_process, field), known \
	}
	static const struct metric metrics[] = {
		PROCESS("worker_restarts_total", "Restarts after the worker's process died.", COUNT,
			restarts, process_is_worker),
		PROCESS("process_resident_memory_bytes",
			"Resident memory of the agent, which is worker 0, and of the workers.",
			COUNT, memory_bytes, NULL),
		PROCESS("process_uptime_seconds", "Time since the start of the process.", COUNT,
			uptime_s, NULL),
	};
#undef PROCESS

	head(f, "worker_up", "Whether the worker serves.");
	for (size_t i = 1; i < st->n_processes; i++)
		fprintf(f, "plenum_worker_up{worker=\"%u\",role=\"%s\"} %d\n", st->processes[i].id,
			st->processes[i].role, st->processes[i].serves);
	head(f, "worker_degraded",
	     "Whether the worker serves, but with degraded paths, mounts or transport.");
	for (size_t i = 1; i < st->n_processes; i++)
		fprintf(f, "plenum_worker_degraded{worker=\"%u\"} %d\n", st->processes[i].id,
			st->processes[i].serves && st->processes[i].reason[0]);
	print_table(f, st, &(struct rows){st->n_processes, process_row}, metrics,
		    ARRAY_SIZE(metrics));
}

/* ---- totals of workers ---- */

static const void *totals_row(const struct status *st, size_t i, char labels[LABELS_MAX])
{
	snprintf(labels, LABELS_MAX, "worker=\"%u\"", st->totals[i].worker);
	return &st->totals[i];
}

static void print_totals(FILE *f, const struct status *st)
{
#define TOTAL(name, help, field)                                               \
	{                                                                      \
		name, help, COUNT, offsetof(struct status_totals, field), NULL \
	}
	static const struct metric metrics[] = {
		TOTAL("requests_total", "Requests sent.", requests),
		TOTAL("responses_total", "Responses sent.", responses),
		TOTAL("request_errors_total", "Requests that failed.", request_errors),
		TOTAL("read_bytes_total", "File data read.", read_bytes),
		TOTAL("write_bytes_total", "File data written.", write_bytes),
		TOTAL("sessions", "Sessions that are up.", sessions),
		TOTAL("rx_drops_total", "Packets received for no known session.", rx_drops),
		TOTAL("mount_refusals_total", "Refusals of clients' mounts.", refusals),
		TOTAL("refused_mounts", "Clients' mounts that are refused now.", n_refused),
	};
#undef TOTAL

	print_table(f, st, &(struct rows){st->n_totals, totals_row}, metrics, ARRAY_SIZE(metrics));
}

static void print_mounts(FILE *f, const struct status *st)
{
	char path[256];

	head(f, "mount_served", "Whether the server serves the mount.");
	for (size_t i = 0; i < st->n_mounts; i++)
		fprintf(f,
			"plenum_mount_served{mount=\"%s\",peer=\"%s\",export=\"%s\",worker=\"%u\"} "
			"%d\n",
			label_text(st->mounts[i].path, path, sizeof(path)), st->mounts[i].peer,
			st->mounts[i].export_name, st->mounts[i].worker, st->mounts[i].served);
}

static void print_mounts_waited(FILE *f, const struct status *st)
{
	char path[256];

	head(f, "mount_limited_seconds_total",
	     "How long requests have waited for the limits of the mount, all together.");
	for (size_t i = 0; i < st->n_mounts; i++) {
		if (st->mounts[i].waited_ns < 0)
			continue;
		fprintf(f, "plenum_mount_limited_seconds_total{mount=\"%s\",worker=\"%u\"} %.3f\n",
			label_text(st->mounts[i].path, path, sizeof(path)), st->mounts[i].worker,
			(double)st->mounts[i].waited_ns / NSEC_PER_SEC);
	}
}

/* ---- durations of requests ---- */

static void print_histogram(FILE *f, const char *name, const char *labels,
			    const struct launch_latency *l)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LAUNCH_LATENCY_LIMITS; i++) {
		n += l->buckets[i];
		fprintf(f, "plenum_%s_bucket{%s,le=\"%.7g\"} %" PRIu64 "\n", name, labels,
			(double)launch_latency_limit_ns(i) / NSEC_PER_SEC, n);
	}
	n += l->buckets[LAUNCH_LATENCY_LIMITS];
	fprintf(f, "plenum_%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, n);
	fprintf(f, "plenum_%s_sum{%s} %.9f\n", name, labels, (double)l->sum_ns / NSEC_PER_SEC);
	fprintf(f, "plenum_%s_count{%s} %" PRIu64 "\n", name, labels, n);
}

static bool has_requests(const struct launch_latency *l)
{
	for (unsigned i = 0; i < ARRAY_SIZE(l->buckets); i++)
		if (l->buckets[i])
			return true;
	return false;
}

/* Prints the durations of each worker separately: a counter must not decrease, but a sum over
 * workers would decrease when a worker restarts. Omits classes without requests, so that many
 * unused mounts add little text. Prints at most HISTOGRAMS_MAX histograms. */
static void print_latencies(FILE *f, const struct status *st, bool of_exports, const char *name,
			    const char *help)
{
	char labels[LABELS_MAX], object[256];
	size_t n = 0;

	head_of(f, name, help, "histogram");
	for (size_t i = 0; i < st->n_latencies * LAUNCH_REQUEST_CLASS_MAX && n < HISTOGRAMS_MAX;
	     i++) {
		const struct status_latency *l = &st->latencies[i / LAUNCH_REQUEST_CLASS_MAX];
		enum launch_request_class class = i % LAUNCH_REQUEST_CLASS_MAX;

		if (l->is_export != of_exports || !has_requests(&l->total.of[class]))
			continue;
		snprintf(labels, sizeof(labels), "%s=\"%s\",class=\"%s\",worker=\"%u\"",
			 of_exports ? "export" : "mount",
			 label_text(l->name, object, sizeof(object)),
			 latency_class_to_string(class), l->worker);
		print_histogram(f, name, labels, &l->total.of[class]);
		n++;
	}
}

/* ---- paths ---- */

static bool rtt_is_current(const void *row)
{
	const struct launch_path_stats *s = row;

	return s->rtt_at_ns && clock_now_ns() <= s->rtt_at_ns + RTT_CURRENT_NS;
}

static bool path_is_slow(const void *row)
{
	const struct launch_path_stats *s = row;

	return s->slow_ns != 0;
}

static bool peer_rtt_is_known(const void *row)
{
	const struct launch_path_stats *s = row;

	return s->peer_srtt_ns != 0;
}

#define PATH(name, help, form, field, known)                                               \
	{                                                                                  \
		"path_" name, help, form, offsetof(struct launch_path_stats, field), known \
	}
static const struct metric path_metrics[] = {
	PATH("up", "Whether the path is healthy.", COUNT, up, NULL),
	PATH("segmentation_lost",
	     "Whether segmentation offload is off on the path because its packets were lost.",
	     COUNT, segmentation_lost, NULL),
	PATH("sources", "UDP source ports in use.", COUNT, sources, NULL),
	PATH("sources_lost", "UDP source ports whose packets do not reach the peer.", COUNT,
	     sources_lost, NULL),
	PATH("round_trip_seconds",
	     "Smoothed round-trip time; absent if no message has measured it for ten seconds.",
	     NSEC, srtt_ns, rtt_is_current),
	PATH("slow_round_trip_seconds",
	     "Round-trip time of a path that is reported as path-slow; absent for other paths.",
	     NSEC, slow_ns, path_is_slow),
	PATH("peer_round_trip_seconds",
	     "Smoothed round-trip time as the peer measures it; absent if unknown.", NSEC,
	     peer_srtt_ns, peer_rtt_is_known),
	PATH("tx_bytes_total", "Bytes sent.", COUNT, tx_bytes, NULL),
	PATH("rx_bytes_total", "Bytes received.", COUNT, rx_bytes, NULL),
	PATH("retransmits_total", "Packets retransmitted.", COUNT, retransmits, NULL),
	PATH("tx_packets_total", "Packets sent.", COUNT, tx_packets, NULL),
	PATH("rx_packets_total", "Packets received.", COUNT, rx_packets, NULL),
	PATH("lost_packets_total", "Packets declared lost.", COUNT, lost_packets, NULL),
	PATH("rx_lost_packets_total", "Packets that the peer sent and that did not arrive.", COUNT,
	     rx_lost_packets, NULL),
	PATH("lossy_to",
	     "Whether far more packets to the peer are lost than usual, or than on other legs.",
	     COUNT, lossy_out, NULL),
	PATH("lossy_from",
	     "Whether far more packets from the peer are lost than usual, or than on other legs.",
	     COUNT, lossy_in, NULL),
	PATH("avoided", "Whether the path is lossy and other paths carry its load.", COUNT, avoided,
	     NULL),
	PATH("rdma_read_bytes_total", "File data read by RDMA, of this session and leg.", COUNT,
	     rdma_read_bytes, NULL),
	PATH("rdma_write_bytes_total", "File data written by RDMA, of this session and leg.", COUNT,
	     rdma_write_bytes, NULL),
	PATH("failovers_total", "Failovers away from the path.", COUNT, failovers, NULL),
};
#undef PATH

static const void *path_row(const struct status *st, size_t i, char labels[LABELS_MAX])
{
	const struct launch_path_stats *s = &st->paths[i].s;
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
	char local[IP_ADDR_STR_MAX], remote[IP_ADDR_STR_MAX];

	snprintf(labels, LABELS_MAX,
		 "worker=\"%u\",leg=\"%s\",local=\"%s\",remote=\"%s\",peer=\"%s\"",
		 st->paths[i].worker, label_text(s->leg, leg, sizeof(leg)),
		 label_text(s->local, local, sizeof(local)),
		 label_text(s->remote, remote, sizeof(remote)),
		 label_text(s->peer, peer, sizeof(peer)));
	return s;
}

/* Prints path_loss_ratio, which has two samples per path: the shares of packets lost to the peer
 * and from the peer. */
static void print_loss(FILE *f, const struct status *st)
{
	static const struct metric ways[] = {
		{.name = "path_loss_ratio",
		 .form = PPM,
		 .offset = offsetof(struct launch_path_stats, loss_out_ppm)},
		{.name = "path_loss_ratio",
		 .form = PPM,
		 .offset = offsetof(struct launch_path_stats, loss_in_ppm)},
	};
	char labels[LABELS_MAX];

	head(f, "path_loss_ratio", "Share of packets lost to or from the peer; absent if unknown.");
	for (size_t i = 0; i < 2 * st->n_paths; i++) {
		const void *row = path_row(st, i / 2, labels);
		size_t len = strlen(labels);

		snprintf(labels + len, sizeof(labels) - len, ",direction=\"%s\"",
			 i % 2 ? "from" : "to");
		sample(f, &ways[i % 2], labels, row);
	}
}

/* ---- RDMA and ports: one row for each leg of each worker ---- */

static const void *rdma_row(const struct status *st, size_t i, char labels[LABELS_MAX])
{
	const struct status_process *p = &st->processes[i / LAUNCH_PORTS_MAX];
	char leg[PLENUM_NAME_MAX];

	i %= LAUNCH_PORTS_MAX;
	if (i >= p->n_rdma)
		return NULL;
	snprintf(labels, LABELS_MAX, "worker=\"%u\",leg=\"%s\"", p->id,
		 label_text(p->rdma[i].leg, leg, sizeof(leg)));
	return &p->rdma[i].s;
}

static void print_rdma(FILE *f, const struct status *st)
{
#define RDMA(name, help, field)                                                            \
	{                                                                                  \
		"rdma_" name, help, COUNT, offsetof(struct launch_rdma_stats, field), NULL \
	}
	static const struct metric metrics[] = {
		RDMA("pairs", "Working queue pairs.", pairs),
		RDMA("read_bytes_total", "File data read by RDMA.", read_bytes),
		RDMA("write_bytes_total", "File data written by RDMA.", write_bytes),
		RDMA("failures_total", "Transfers that fell back to packets.", failures),
	};
#undef RDMA
	const struct rows rows = {st->n_processes * LAUNCH_PORTS_MAX, rdma_row};
	char labels[LABELS_MAX], reason[32];

	print_table(f, st, &rows, metrics, ARRAY_SIZE(metrics));
	head(f, "rdma_refused_info", "Why the leg does not use RDMA for bulk data.");
	for (size_t i = 0; i < rows.n; i++) {
		const struct launch_rdma_stats *s = rows.get(st, i, labels);

		if (s && s->reason[0])
			fprintf(f, "plenum_rdma_refused_info{%s,reason=\"%s\"} 1\n", labels,
				label_text(s->reason, reason, sizeof(reason)));
	}
}

static const void *port_row(const struct status *st, size_t i, char labels[LABELS_MAX])
{
	const struct status_process *p = &st->processes[i / LAUNCH_PORTS_MAX];
	char leg[PLENUM_NAME_MAX], by[16];

	i %= LAUNCH_PORTS_MAX;
	if (i >= p->n_ports)
		return NULL;
	snprintf(labels, LABELS_MAX, "worker=\"%u\",leg=\"%s\",by=\"%s\"", p->id,
		 label_text(p->ports[i].leg, leg, sizeof(leg)),
		 label_text(p->ports[i].s.by, by, sizeof(by)));
	return &p->ports[i].s;
}

static bool port_counts(const void *row)
{
	const struct launch_port_stats *s = row;

	return s->counts;
}

static bool port_is_socket(const void *row)
{
	const struct launch_port_stats *s = row;

	return s->counts && strcmp(s->by, "udp") == 0;
}

static void print_ports(FILE *f, const struct status *st)
{
#define PORT(name, help, field, known)                                            \
	{                                                                         \
		"port_" name "_total", help, COUNT,                               \
			offsetof(struct launch_port_stats, counters.field), known \
	}
	static const struct metric metrics[] = {
		PORT("tx_packets", "Packets sent by the port.", tx_packets, port_counts),
		PORT("rx_packets", "Packets received by the port.", rx_packets, port_counts),
		PORT("tx_full", "Bursts that the queue did not accept as a whole.", tx_full,
		     port_counts),
		PORT("tx_lost",
		     "Packets not sent: refused by the kernel, or ARP without a free buffer.",
		     tx_lost, port_counts),
		PORT("rx_missed", "Packets lost because the receive queue was full.", rx_missed,
		     port_counts),
		PORT("rx_short", "Packets dropped: truncated or shorter than their headers say.",
		     rx_short, port_counts),
		PORT("rx_malformed", "Packets dropped: invalid headers.", rx_malformed,
		     port_counts),
		PORT("rx_fragments", "Packets dropped: fragments.", rx_fragments, port_counts),
		PORT("rx_checksum", "Packets dropped: wrong checksum.", rx_checksum, port_counts),
		PORT("rx_not_ours", "Packets dropped: addressed to another host or port.",
		     rx_not_ours, port_counts),
		PORT("conflicts",
		     "Address conflicts: ARP packets of other hosts that claim the address.",
		     conflicts, port_counts),
		PORT("tx_bytes", "Bytes of UDP payload sent by the socket.", tx_bytes,
		     port_is_socket),
		PORT("rx_bytes", "Bytes of UDP payload received by the socket.", rx_bytes,
		     port_is_socket),
		PORT("tx_bursts", "Sends that kernel or NIC split into packets (GSO).", tx_bursts,
		     port_is_socket),
		PORT("rx_bursts",
		     "Received buffers that kernel or NIC merged from several packets (GRO).",
		     rx_bursts, port_is_socket),
	};
#undef PORT

	print_table(f, st, &(struct rows){st->n_processes * LAUNCH_PORTS_MAX, port_row}, metrics,
		    ARRAY_SIZE(metrics));
}

char *status_to_metrics(const struct status *st)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	print_agent(f, st);
	print_legs(f, st);
	print_processes(f, st);
	print_mounts(f, st);
	print_mounts_waited(f, st);
	print_latencies(
		f, st, false, "mount_request_duration_seconds",
		"Time of a mount's requests to the server, from the kernel's request to the "
		"answer that it gets.");
	print_latencies(f, st, true, "export_request_duration_seconds",
			"Time of an export's requests at the server, without the network.");
	print_totals(f, st);
	print_table(f, st, &(struct rows){st->n_paths, path_row}, path_metrics,
		    ARRAY_SIZE(path_metrics));
	print_loss(f, st);
	print_rdma(f, st);
	print_ports(f, st);
	return file_text_end(f, &text, 0);
}
