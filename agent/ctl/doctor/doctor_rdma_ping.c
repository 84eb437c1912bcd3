/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum rdma ping`: measures the latency and throughput of RDMA to a peer, on each leg and in
 * both directions. Workers run the test on the queue pairs that mounts use, so the test also shows
 * whether these queue pairs work.
 */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include <poll.h>
#include <string.h>

#define COUNT_DEFAULT 100
#define COUNT_MAX 4096 /* equals LAUNCH_PING_COUNT_MAX */
#define SMALL_BYTES 64
#define BULK_BYTES 65536       /* message size of the throughput test, as in perftest */
#define BULK_TOTAL (4UL << 20) /* approximate number of bytes of all messages together */
#define BULK_LEAST 64UL
#define BULK_DEPTH 4
#define BYTES_MAX (1UL << 20)
#define LOOK_MS 10
/* Reached only if there is a fault, because workers end a test much sooner. */
#define END_LIMIT_NS (120 * NSEC_PER_SEC)

struct options {
	unsigned long count, bytes, bulk_bytes;
};

/* A leg and a direction. */
struct leg_path {
	const char *leg;
	bool in;
	json_t *small, *bulk; /* answers of the agent; NULL: not requested */
};

static int take_options(const struct ctl_args *a, struct options *ret)
{
	int r;

	*ret = (struct options){COUNT_DEFAULT, SMALL_BYTES, BULK_BYTES};
	r = ctl_take_number("--count", a->count, 1, COUNT_MAX, &ret->count);
	if (r == CTL_OK)
		r = ctl_take_number("--size", a->size, 1, BYTES_MAX, &ret->bytes);
	if (a->size)
		ret->bulk_bytes = ret->bytes;
	return r;
}

/* ---- one test ---- */

/* Begins a test. Returns CTL_OK with its number. */
static int begin(const struct ctl_args *a, const struct leg_path *w, unsigned long bytes,
		 unsigned long count, unsigned depth, char number[CTL_ID_SIZE])
{
	json_t *body =
		json_pack("{s:s, s:s, s:s, s:I, s:I, s:i}", "peer", a->operands[0], "leg", w->leg,
			  "direction", w->in ? "in" : "out", "bytes", (json_int_t)bytes, "count",
			  (json_int_t)count, "depth", (int)depth);
	autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct ctl_request rq = {.resource = RESOURCE_RDMA_PING_BEGIN, .body = text};
	json_t *answer;
	int r;

	json_decref(body);
	if (!text) {
		ctl_complain("PEER is not UTF-8 text");
		return CTL_USAGE;
	}
	r = ctl_ask_json(a, &rq, &answer);
	if (r != CTL_OK)
		return r;
	r = ctl_take_id(answer, "ping", number);
	json_decref(answer);
	return r;
}

static int test(const struct ctl_args *a, const struct leg_path *w, unsigned long bytes,
		unsigned long count, unsigned depth, json_t **ret)
{
	char number[CTL_ID_SIZE];
	const struct ctl_request rq = {.resource = RESOURCE_RDMA_PING_RESULT, .name = number};
	const uint64_t until = clock_now_ns() + END_LIMIT_NS;
	int r = begin(a, w, bytes, count, depth, number);

	while (r == CTL_OK) {
		json_t *answer;

		r = ctl_ask_json(a, &rq, &answer);
		if (r == CTL_OK && json_is_true(json_object_get(answer, "ended"))) {
			*ret = answer;
			return CTL_OK;
		}
		if (r == CTL_OK)
			json_decref(answer);
		if (r == CTL_OK && clock_now_ns() > until) {
			ctl_complain("the test on leg %s does not end; see 'plenum processes'",
				     w->leg);
			return CTL_SOFTWARE;
		}
		(void)poll(NULL, 0, LOOK_MS);
	}
	return r;
}

static int test_path(const struct ctl_args *a, const struct options *options, struct leg_path *w)
{
	int r = test(a, w, options->bytes, options->count, 1, &w->small);
	unsigned long bulk;

	if (r != CTL_OK || ctl_int(w->small, "error") != 0)
		return r;
	bulk = MAX_OF(MIN_OF(BULK_TOTAL / options->bulk_bytes, (unsigned long)COUNT_MAX),
		      BULK_LEAST);
	return test(a, w, options->bulk_bytes, bulk, BULK_DEPTH, &w->bulk);
}

/* ---- printing ---- */

static double us(const json_t *o, const char *key)
{
	return (double)ctl_int(o, key) / 1000;
}

/* Returns the throughput in 10^6 bytes per second, as perftest prints it. */
static double megabytes(const json_t *o)
{
	const json_int_t ns = ctl_int(o, "took_ns");

	return ns > 0 ? (double)ctl_int(o, "done") * (double)ctl_int(o, "bytes") * 1000 / (double)ns
		      : 0;
}

static int print_table(const struct options *options, const struct leg_path *paths, size_t n)
{
	static const char *const headings[] = {"LEG",	 "DIRECTION", "BYTES", "DONE", "MIN us",
					       "MEDIAN", "P99",	      "MAX",   "BULK", "MB/s"};
	static const char *const keys[] = {"min_ns", "median_ns", "p99_ns", "max_ns"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);

	for (size_t i = 0; i < n; i++) {
		const struct leg_path *w = &paths[i];
		const bool any = ctl_int(w->small, "done") > 0;

		ctl_table_add(&t, "%s", w->leg);
		ctl_table_add(&t, "%s", w->in ? "in" : "out");
		ctl_table_add(&t, "%lu", options->bytes);
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(w->small, "done"));
		for (size_t j = 0; j < ARRAY_SIZE(keys); j++)
			ctl_table_add(&t, any ? "%.1f" : "-", us(w->small, keys[j]));
		ctl_table_add(&t, "%lu", options->bulk_bytes);
		ctl_table_add(&t, w->bulk ? "%.1f" : "-", megabytes(w->bulk));
	}
	return ctl_table_print(&t);
}

static json_t *path_to_json(const struct leg_path *w)
{
	json_t *o = json_pack("{s:s, s:s, s:O}", "leg", w->leg, "direction", w->in ? "in" : "out",
			      "latency", w->small);

	if (w->bulk && o) {
		json_object_set_new(o, "bulk", json_incref(w->bulk));
		json_object_set_new(o, "megabytes_per_s", json_real(megabytes(w->bulk)));
	}
	return o;
}

static int print_json(const char *peer, const struct leg_path *paths, size_t n)
{
	json_t *list = json_array(), *o;
	int r;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, path_to_json(&paths[i]));
	o = json_pack("{s:s, s:o}", "peer", peer, "ways", list);
	r = o ? ctl_put_json(o) : ctl_put_text(NULL);
	json_decref(o);
	return r;
}

/* Returns why a test ended early, and what to check. plenumd(8) lists the codes. */
static const char *meaning(const char *reason)
{
	static const struct {
		const char *code, *text;
	} texts[] = {
		{"rdma-off", "net[].rdma turns RDMA off on this leg"},
		{"rdma-no-device",
		 "no RDMA device has the leg's address: see 'plenum rdma devices'"},
		{"rdma-port-down",
		 "the RDMA port is not active: check the cable and the peer port"},
		{"rdma-no-gid", "the leg's address is not a GID now: see 'plenum rdma devices'"},
		{"rdma-memlock", "memory cannot be registered: raise LimitMEMLOCK of plenumd"},
		{"rdma-device-gone",
		 "the RDMA device was removed; the worker uses the device again when it is back"},
		{"rdma-kinds-differ", "one host uses InfiniBand and the other Ethernet, or another "
				      "version of RoCE: check net[].roce-mode"},
		{"rdma-mixed", "this host's servers use InfiniBand and Ethernet at the same time; "
			       "use one kind of fabric"},
		{"rdma-peer-without", "the peer has no RDMA on this leg, or is an older version"},
		{"rdma-encrypted",
		 "cluster.security is encrypt, and RDMA would send bulk data unencrypted"},
		{"rdma-iwarp", "the device supports iWARP only, which is not supported"},
		{"rdma-driver-old",
		 "the driver is older than OFED 4.6-1.0.1.1: install a later one"},
		{"rdma-failed", "the queue pair failed: the path drops UDP port 4791, or packets "
				"of the path's MTU"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(texts[i].code, reason) == 0)
			return texts[i].text;
	return "see plenumd(8)";
}

static const char *error_text(json_int_t e, bool any)
{
	if (e == -EBUSY)
		return "the peer runs another test";
	if (e == -ENOTCONN)
		return "the peer does not answer";
	if (e == -ETIMEDOUT)
		return any ? "not all transfers ended in time"
			   : "no transfer ended in time: the peer is busy, or is a client of an "
			     "older version";
	return strerror(e < 0 && e > -4096 ? (int)-e : EPROTO);
}

/* Prints each reason once per leg. Returns the exit status of the worst one. */
static int judge(const struct leg_path *paths, size_t n)
{
	int r = n ? CTL_OK : CTL_DOCTOR_FAIL;
	bool busy = false;

	for (size_t i = 0; i < n; i++) {
		const json_t *last = paths[i].bulk ? paths[i].bulk : paths[i].small;
		const json_int_t e = ctl_int(last, "error");
		const char *reason = ctl_text(last, "reason");

		/* A throughput is valid even if the test ran out of time, because some messages
		 * were measured. */
		if (e == 0 || (last == paths[i].bulk && e == -ETIMEDOUT && ctl_int(last, "done")))
			continue;
		busy = busy || e == -EBUSY;
		if (ctl_int(paths[i].small, "done") > 0)
			r = MAX_OF(r, CTL_DOCTOR_WARN);
		else if (e != -EBUSY)
			r = CTL_DOCTOR_FAIL;
		if (*reason)
			ctl_complain("%s, %s: %s: %s", paths[i].leg, paths[i].in ? "in" : "out",
				     reason, meaning(reason));
		else
			ctl_complain("%s, %s: %s", paths[i].leg, paths[i].in ? "in" : "out",
				     error_text(e, ctl_int(last, "done") > 0));
	}
	return busy && r != CTL_DOCTOR_FAIL ? CTL_BUSY : r;
}

/* ---- the command ---- */

static void paths_done(struct leg_path *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_decref(paths[i].small);
		json_decref(paths[i].bulk);
	}
	free(paths);
}

/* Lists both directions of each requested leg. *ret_n is 0 if no leg has that name. */
static struct leg_path *paths_new(const struct ctl_args *a, const json_t *legs, size_t *ret_n)
{
	const json_t *list = json_object_get(legs, "net"), *leg;
	struct leg_path *paths = calloc(2 * json_array_size(list) + 1, sizeof(*paths));
	size_t i, n = 0;

	json_array_foreach (list, i, leg) {
		const char *name = ctl_text(leg, "name");

		if (!paths || (a->leg && strcmp(a->leg, name) != 0))
			continue;
		paths[n++] = (struct leg_path){.leg = name, .in = true};
		paths[n++] = (struct leg_path){.leg = name};
	}
	*ret_n = n;
	return paths;
}

static int ping(const struct ctl_args *a, const struct options *options, struct leg_path *paths,
		size_t n)
{
	static const struct doctor_subject *const subjects[] = {
		&doctor_legs, &doctor_vfs, &doctor_memory, &doctor_routes, &doctor_peers};
	struct ctl_args args = *a;
	int r = CTL_OK, verdict;

	for (size_t i = 0; i < n && r == CTL_OK; i++)
		r = test_path(a, options, &paths[i]);
	if (r != CTL_OK)
		return r;
	r = a->json ? print_json(a->operands[0], paths, n) : print_table(options, paths, n);
	verdict = judge(paths, n);
	args.peer = a->operands[0];
	if (verdict != CTL_OK && verdict != CTL_BUSY)
		doctor_warn_causes(&args, subjects, ARRAY_SIZE(subjects));
	return r == CTL_OK ? verdict : r;
}

int ctl_cmd_rdma_ping(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_NET, .list = "net"};
	struct options options;
	json_t *legs = NULL;
	struct leg_path *paths;
	size_t n;
	int r = take_options(a, &options);

	if (r == CTL_OK)
		r = ctl_ask_json(a, &rq, &legs);
	if (r != CTL_OK)
		return r;
	paths = paths_new(a, legs, &n);
	if (!paths) {
		r = ctl_put_text(NULL);
	} else if (n == 0) {
		if (a->leg)
			ctl_complain("no leg '%s'; see 'plenum net show'", a->leg);
		else
			ctl_complain("no legs are configured; see 'plenum net show'");
		r = CTL_NO_INPUT;
	} else {
		r = ping(a, &options, paths, n);
	}
	paths_done(paths, n);
	json_decref(legs);
	return r;
}
