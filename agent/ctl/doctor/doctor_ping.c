/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum ping`: measures round-trip times to a peer, on each leg, from the workers' data IPs.
 * `plenum doctor`, in contrast, only tests whether peers answer. If requests are lost, the command
 * runs the doctor's checks of the path.
 */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/base/file.h"
#include "netcfg/host/kernel.h"
#include <string.h>

#define SMALL_BYTES 84 /* bytes of a packet that ping(8) sends by default */
#define COUNT_DEFAULT 10
#define COUNT_MAX 100000
/* An answer that takes longer counts as lost; on a data network answers are a thousand times
 * faster. The limit is shorter than the time after which kernel_ops.ping() retries. */
#define LIMIT_NS (190 * NSEC_PER_MSEC)

struct options {
	unsigned count;
	bool full;
	uint32_t bytes; /* size of the packets if they are not full */
};

/* A path to the peer: from a leg to an address. */
struct leg_path {
	const struct doctor_probe *echo;
	uint32_t bytes;
	uint64_t *took_ns; /* round-trip times, sorted at the end */
	unsigned n_answered, n_sent;
};

/* ---- arguments ---- */

static int parse_options(const struct ctl_args *a, struct options *ret)
{
	unsigned long count = COUNT_DEFAULT, bytes = SMALL_BYTES;
	int r;

	*ret = (struct options){.full = a->size && strcmp(a->size, "full") == 0};
	r = ctl_take_number("--count", a->count, 1, COUNT_MAX, &count);
	if (r == CTL_OK && !ret->full)
		r = ctl_take_number("--size other than full", a->size, 48, 65535, &bytes);
	ret->count = (unsigned)count;
	ret->bytes = (uint32_t)bytes;
	return r;
}

static const struct plan_leg_info *find_leg(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->n_legs; i++)
		if (strcmp(p->legs[i].name, name) == 0)
			return &p->legs[i];
	return NULL;
}

/* Checks that the host and the configuration could be read, and that the peer and the leg exist. */
static int check_picture(const struct ctl_args *a, const struct doctor_host *p)
{
	if (!p->plan) {
		ctl_complain("%s", p->no_plan);
		return p->inv ? CTL_DATA : CTL_OS;
	}
	if (!doctor_knows_peer(p)) {
		ctl_complain("'%s' is not a name in peers[], an address, or a host with a session",
			     p->peer);
		return CTL_USAGE;
	}
	if (a->leg && !find_leg(p->plan, a->leg)) {
		ctl_complain("no leg '%s'; see 'plenum net show'", a->leg);
		return CTL_NO_INPUT;
	}
	return CTL_OK;
}

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int probe_path(struct kernel *k, struct leg_path *w, unsigned count)
{
	for (; w->n_sent < count; w->n_sent++) {
		struct kernel_ping ping = {.ifindex = w->echo->ifindex,
					   .from = w->echo->from,
					   .to = w->echo->to,
					   .bytes = w->bytes};
		int r = k->ops->ping(k, &ping, 1, LIMIT_NS);

		if (r < 0)
			return r;
		if (ping.answered)
			w->took_ns[w->n_answered++] = ping.took_ns;
	}
	qsort(w->took_ns, w->n_answered, sizeof(*w->took_ns), compare);
	return 0;
}

/* Returns the percentile of the round-trip times, in microseconds: `percent` of the answers were
 * not slower. */
static double took_us(const struct leg_path *w, unsigned percent)
{
	const unsigned rank = (w->n_answered * percent + 99) / 100;

	return w->n_answered ? (double)w->took_ns[MAX_OF(rank, 1U) - 1] / 1000 : 0;
}

static void paths_done(struct leg_path *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(paths[i].took_ns);
	free(paths);
}

/* Lists the paths of the requested leg. Returns CTL_OK with the array *ret of *ret_n paths. */
static int paths_new(const struct ctl_args *a, const struct options *options,
		     const struct doctor_host *p, struct leg_path **ret, size_t *ret_n)
{
	struct leg_path *paths = calloc(p->n_probes + 1, sizeof(*paths));
	int r = paths ? CTL_OK : ctl_put_text(NULL);
	size_t n = 0;

	for (size_t i = 0; i < p->n_probes && r == CTL_OK; i++) {
		const struct doctor_probe *e = &p->probes[i];
		struct leg_path *w = &paths[n];

		if (e->held || (a->leg && strcmp(a->leg, e->leg) != 0))
			continue;
		*w = (struct leg_path){.echo = e,
				       .bytes = options->full ? e->bytes : options->bytes,
				       .took_ns = calloc(options->count, sizeof(*w->took_ns))};
		n++;
		if (!w->took_ns) {
			r = ctl_put_text(NULL);
		} else if (w->bytes > e->bytes) {
			ctl_complain("--size: leg %s carries packets of at most %u bytes, found %u",
				     e->leg, e->bytes, w->bytes);
			r = CTL_USAGE;
		}
	}
	if (r == CTL_OK) {
		*ret = paths;
		*ret_n = n;
	} else {
		paths_done(paths, n);
	}
	return r;
}

static int probe_all(const struct doctor_host *p, struct leg_path *paths, size_t n, unsigned count)
{
	static const struct kernel_change nothing = {.kind = KERNEL_LINK};
	int r = 0;

	p->kernel->ops->prepare(p->kernel, &nothing);
	for (size_t i = 0; i < n && r == 0; i++)
		r = probe_path(p->kernel, &paths[i], count);
	if (r == 0)
		return CTL_OK;
	ctl_complain("cannot send echo requests: %s",
		     r == -EBADF ? "needs root (CAP_NET_RAW)" : strerror(-r));
	return r == -EBADF ? CTL_NO_PERMISSION : CTL_OS;
}

/* ---- printing ---- */

static int print_table(const struct leg_path *paths, size_t n)
{
	static const char *const headings[] = {"LEG",  "FROM",	 "TO",	   "BYTES", "SENT",
					       "LOST", "MIN us", "MEDIAN", "P99",   "MAX"};
	static const unsigned percents[] = {0, 50, 99, 100};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);

	for (size_t i = 0; i < n; i++) {
		const struct leg_path *w = &paths[i];
		char from[IP_ADDR_STR_MAX], to[IP_ADDR_STR_MAX];

		ctl_table_add(&t, "%s", w->echo->leg);
		ctl_table_add(&t, "%s", ip_addr_format(&w->echo->from, from, sizeof(from)));
		ctl_table_add(&t, "%s", ip_addr_format(&w->echo->to, to, sizeof(to)));
		ctl_table_add(&t, "%u", w->bytes);
		ctl_table_add(&t, "%u", w->n_sent);
		ctl_table_add(&t, "%u", w->n_sent - w->n_answered);
		for (size_t j = 0; j < ARRAY_SIZE(percents); j++)
			ctl_table_add(&t, w->n_answered ? "%.1f" : "-", took_us(w, percents[j]));
	}
	return ctl_table_print(&t);
}

static int print_json(const char *peer, const struct leg_path *paths, size_t n)
{
	json_t *list = json_array(), *o;
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct leg_path *w = &paths[i];
		char from[IP_ADDR_STR_MAX], to[IP_ADDR_STR_MAX];

		o = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i}", "leg", w->echo->leg, "from",
			      ip_addr_format(&w->echo->from, from, sizeof(from)), "to",
			      ip_addr_format(&w->echo->to, to, sizeof(to)), "bytes", (int)w->bytes,
			      "sent", (int)w->n_sent, "lost", (int)(w->n_sent - w->n_answered));
		if (w->n_answered)
			json_object_update_new(
				o, json_pack("{s:f, s:f, s:f, s:f}", "min_us", took_us(w, 0),
					     "median_us", took_us(w, 50), "p99_us", took_us(w, 99),
					     "max_us", took_us(w, 100)));
		json_array_append_new(list, o);
	}
	o = json_pack("{s:s, s:o}", "peer", peer, "ways", list);
	r = o ? ctl_put_json(o) : ctl_put_text(NULL);
	json_decref(o);
	return r;
}

/* Prints the legs that cannot send echo requests because workers, not the kernel, have their data
 * IPs. */
static void print_skipped_legs(const struct ctl_args *a, const struct doctor_host *p)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &p->plan->legs[i];
		bool options = leg->bond[0] != '\0';

		for (size_t j = 0; j < p->n_probes && !options; j++)
			options = !p->probes[j].held && strcmp(p->probes[j].leg, leg->name) == 0;
		if (options || (a->leg && strcmp(a->leg, leg->name) != 0))
			continue;
		if (plan_leg_is_configured(leg))
			ctl_complain("leg %s is not tested: the leg does not lead to the peer, or "
				     "workers hold its data IPs",
				     leg->name);
		else
			ctl_complain("leg %s is %s", leg->name,
				     plan_leg_state_to_string(leg->state));
	}
}

/* Returns the exit status, which follows from the worst path. */
static int judge(const struct leg_path *paths, size_t n)
{
	int r = n ? CTL_OK : CTL_DOCTOR_FAIL;

	for (size_t i = 0; i < n; i++) {
		if (paths[i].n_answered == 0)
			return CTL_DOCTOR_FAIL;
		if (paths[i].n_answered < paths[i].n_sent)
			r = CTL_DOCTOR_WARN;
	}
	return r;
}

static int ping(const struct ctl_args *a, const struct options *options,
		const struct doctor_host *p)
{
	static const struct doctor_subject *const subjects[] = {&doctor_legs, &doctor_routes,
								&doctor_bond, &doctor_peers};
	struct leg_path *paths;
	size_t n;
	int r = paths_new(a, options, p, &paths, &n), verdict;

	if (r != CTL_OK)
		return r;
	r = probe_all(p, paths, n, options->count);
	if (r == CTL_OK)
		r = a->json ? print_json(p->peer, paths, n) : n ? print_table(paths, n) : CTL_OK;
	verdict = judge(paths, n);
	paths_done(paths, n);
	if (r != CTL_OK)
		return r;
	print_skipped_legs(a, p);
	if (verdict != CTL_OK)
		doctor_warn_causes(a, subjects, ARRAY_SIZE(subjects));
	return verdict;
}

int ctl_cmd_ping(const struct ctl_args *a)
{
	PLENUM_CLEANUP(doctor_host_done) struct doctor_host p = {.sys = -1};
	struct ctl_args args = *a;
	struct options options;
	int r = parse_options(a, &options);

	if (r != CTL_OK)
		return r;
	args.peer = a->operands[0];
	doctor_collect_plan(&args, NULL, &p);
	r = check_picture(&args, &p);
	if (r != CTL_OK)
		return r;
	doctor_find_probes(&p);
	return ping(&args, &options, &p);
}
