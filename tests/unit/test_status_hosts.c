/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of mounts, exports, clients, peers and sessions: a state is good only if a worker has
 * told it lately. */
#include "tests/lib/agent/reconcile_host.h"
#include <sys/mman.h>

#define HOST                                                    \
	"host: host-a\n"                                        \
	"networks:\n"                                           \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.19/16}\n" \
	"net:\n"                                                \
	"  - {name: leg-a, device: veth0, network: data-a}\n"   \
	"peers:\n"                                              \
	"  - {name: host-b, ips: [10.10.1.20]}\n"               \
	"  - {name: host-c, ips: [10.10.1.30]}\n"               \
	"workers:\n"

static const char server[] =
	HOST "  - {role: compute, cores: [1], transport: udp, exports: [{name: x, path: /srv}]}\n";
static const char client[] =
	HOST "  - {role: frontend, cores: [1], transport: udp, mounts: [{path: /mnt/x, from: "
	     "host-b/x, soft: 30s}]}\n";

static struct launch_stats *begin(struct fixture *f, const char *config)
{
	write_file(f, config);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	return host_serve(host_worker(f));
}

/* The list of that name; a new reference. */
static json_t *list(struct fixture *f, const char *name, json_int_t *ret_omitted)
{
	struct status st;
	json_t *o, *l;

	agent_check_health(&f->a);
	assert_int_equal(status_collect(&f->a, &st), 0);
	assert_int_equal(status_collect_hosts(&f->a, &st), 0);
	o = strcmp(name, "mounts") == 0	    ? status_mounts_to_json(&st)
	    : strcmp(name, "exports") == 0  ? status_exports_to_json(&st)
	    : strcmp(name, "clients") == 0  ? status_clients_to_json(&st)
	    : strcmp(name, "paths") == 0    ? status_paths_to_json(&st)
	    : strcmp(name, "sessions") == 0 ? status_sessions_to_json(&f->a, &st)
					    : status_peers_to_json(&f->a, &st);
	status_done(&st);
	assert_non_null(o);
	l = json_incref(json_object_get(o, name));
	assert_true(json_is_array(l));
	if (ret_omitted)
		*ret_omitted = json_integer_value(json_object_get(o, "omitted_mounts"));
	json_decref(o);
	return l;
}

/* Expects the member of the i-th object, in JSON. */
static void assert_member(const json_t *l, size_t i, const char *key, const char *want)
{
	autofree char *got = json_dumps(json_object_get(json_array_get(l, i), key),
					JSON_ENCODE_ANY | JSON_COMPACT);

	assert_non_null(got);
	if (strcmp(got, want) != 0)
		print_error("%s is %s instead of %s\n", key, got, want);
	assert_string_equal(got, want);
}

static void expect(struct fixture *f, const char *name, const char *key, const char *want)
{
	json_t *l = list(f, name, NULL);

	assert_member(l, 0, key, want);
	json_decref(l);
}

static void put_client(struct launch_stats *page, const char *host, const char *addr,
		       enum launch_client_state state, uint32_t open_files, uint64_t since_s)
{
	struct launch_client_stats *c = &page->clients[page->n_clients++];

	*c = (struct launch_client_stats){.state = state,
					  .open_files = open_files,
					  .since_ns = clock_now_ns() - since_s * NSEC_PER_SEC,
					  .heard_ns = clock_now_ns() - NSEC_PER_SEC * 3 / 2};
	snprintf(c->host, sizeof(c->host), "%s", host);
	assert_int_equal(ip_addr_parse(addr, &c->addr), 0);
}

/* The worker's process, as far as the status reads it. */
static void start_process(struct sup_worker *w)
{
	free(w->started);
	w->started = malloc(sizeof(*w->started));
	assert_non_null(w->started);
	*w->started = w->config;
}

/* A mount that the supervisor does not try to attach, so that the test needs no FUSE. */
static struct launch_stats *begin_client(struct fixture *f)
{
	struct launch_stats *page = begin(f, client);
	struct sup_worker *w = host_worker(f);

	assert_int_equal(w->config.n_mounts, 1);
	snprintf(w->config.mounts[0].path, sizeof(w->config.mounts[0].path), "/mnt/y");
	start_process(w);
	return page;
}

static void stall(struct launch_stats *page)
{
	page->heartbeat_ns = clock_now_ns() - 10 * NSEC_PER_SEC;
}

static void clients_are_hosts_with_the_best_state_of_their_mounts(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, server);
	json_t *l;

	start_process(host_worker(f));
	put_client(page, "host-c", "10.10.1.31", LAUNCH_CLIENT_AWAY, 4, 20);
	put_client(page, "host-b", "10.10.1.20", LAUNCH_CLIENT_AWAY, 1, 500);
	put_client(page, "host-b", "10.10.1.21", LAUNCH_CLIENT_CONNECTED, 2, 30);
	put_client(page, "host-d", "10.10.1.32", LAUNCH_CLIENT_SILENT, 0, 5);
	l = list(f, "clients", NULL);
	assert_int_equal(json_array_size(l), 3);
	assert_member(l, 0, "host", "\"host-b\"");
	assert_member(l, 0, "state", "\"connected\"");
	assert_member(l, 0, "addresses", "[\"10.10.1.20\",\"10.10.1.21\"]");
	assert_member(l, 0, "exports", "[\"x\"]");
	assert_member(l, 0, "mounts", "2");
	assert_member(l, 0, "open_files", "3");
	assert_member(l, 0, "since_s", "30");
	assert_member(l, 0, "heard_s", "1");
	assert_member(l, 1, "state", "\"away\"");
	assert_member(l, 1, "since_s", "20");
	assert_member(l, 2, "state", "\"silent\"");
	json_decref(l);
	expect(f, "exports", "clients", "1");
}

static void put_refused(struct launch_stats *page, const char *host, const char *export_name,
			const char *reason)
{
	struct launch_refused_client *r = &page->refused[page->n_refused++];

	*r = (struct launch_refused_client){.times = 3,
					    .since_ns = clock_now_ns() - 7 * NSEC_PER_SEC};
	snprintf(r->host, sizeof(r->host), "%s", host);
	snprintf(r->export_name, sizeof(r->export_name), "%s", export_name);
	snprintf(r->reason, sizeof(r->reason), "%s", reason);
	assert_int_equal(ip_addr_parse("10.10.1.40", &r->addr), 0);
}

static void refused_clients_are_listed_with_the_reason(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, server);
	json_t *l;

	start_process(host_worker(f));
	put_client(page, "host-b", "10.10.1.20", LAUNCH_CLIENT_CONNECTED, 2, 30);
	put_refused(page, "host-b", "y", "no-export: host-b asks for y");
	put_refused(page, "host-e", "x", "not-allowed: host-e may not use x\n");
	put_refused(page, "host-e", "x", "not-allowed: host-e may not use x");
	l = list(f, "clients", NULL);
	assert_int_equal(json_array_size(l), 2);
	assert_member(l, 0, "state", "\"connected\"");
	assert_member(l, 0, "mounts", "1");
	assert_member(l, 0, "refused_mounts", "1");
	assert_member(l, 0, "reason", "\"no-export: host-b asks for y\"");
	assert_member(l, 0, "open_files", "2");
	assert_member(l, 1, "host", "\"host-e\"");
	assert_member(l, 1, "state", "\"refused\"");
	assert_member(l, 1, "addresses", "[\"10.10.1.40\"]");
	assert_member(l, 1, "exports", "[]");
	assert_member(l, 1, "mounts", "0");
	assert_member(l, 1, "refused_mounts", "2");
	assert_member(l, 1, "since_s", "7");
	json_decref(l);
	expect(f, "exports", "clients", "1");
	page->n_refused = UINT64_MAX; /* a page that a broken worker has written */
	json_decref(list(f, "clients", NULL));
	stall(page);
	page->n_refused = 3;
	l = list(f, "clients", NULL);
	assert_member(l, 1, "state", "\"unknown\"");
	json_decref(l);
}

static void clients_of_a_worker_that_does_not_tell_are_unknown(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, server);
	json_t *l;

	start_process(host_worker(f));
	put_client(page, "host-b", "10.10.1.20", LAUNCH_CLIENT_CONNECTED, 2, 30);
	stall(page);
	l = list(f, "clients", NULL);
	assert_member(l, 0, "state", "\"unknown\"");
	assert_member(l, 0, "open_files", "null");
	assert_member(l, 0, "since_s", "null");
	assert_member(l, 0, "heard_s", "null");
	json_decref(l);
}

/* A taken-over worker may write anything there. */
static void invalid_entries_of_a_page_are_harmless(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, server);
	json_int_t omitted;
	json_t *l;

	start_process(host_worker(f));
	put_client(page, "\x1b[2J\xff", "10.10.1.20", LAUNCH_CLIENT_CONNECTED, 2, 30);
	put_client(page, "host-b", "10.10.1.20", LAUNCH_CLIENT_CONNECTED, 2, 30);
	put_client(page, "host-c", "10.10.1.20", LAUNCH_CLIENT_CONNECTED, 2, 30);
	memset(page->clients[0].addr.bytes, 0xff, sizeof(page->clients[0].addr.bytes));
	page->clients[0].addr.family = 99;
	page->clients[0].export_index = UINT32_MAX;
	page->clients[0].since_ns = page->clients[0].heard_ns = UINT64_MAX;
	page->clients[1].state = 99;
	memset(page->clients[2].host, 'x', sizeof(page->clients[2].host));
	page->paths[0].serves = UINT64_MAX - 1;
	l = list(f, "clients", NULL);
	assert_int_equal(json_array_size(l), 2);
	assert_member(l, 0, "host", "\"?[2J?\"");
	assert_member(l, 0, "addresses", "[]");
	assert_member(l, 0, "exports", "[]");
	assert_member(l, 0, "since_s", "0");
	json_decref(l);
	expect(f, "paths", "export", "\"\"");
	page->n_clients = LAUNCH_CLIENT_STATS_MAX + 5;
	json_decref(list(f, "clients", &omitted));
	assert_int_equal(omitted, 5);
	expect(f, "exports", "clients", "null");
	page->n_clients = UINT64_MAX;
	json_decref(list(f, "clients", &omitted));
	assert_int_equal(omitted, UINT32_MAX);
}

static void exports_are_served_only_by_workers_that_tell(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, server);
	struct sup_worker *w = host_worker(f);

	start_process(w);
	page->open_files[0] = 7;
	expect(f, "exports", "state", "\"served\"");
	expect(f, "exports", "reason", "\"\"");
	expect(f, "exports", "open_files", "7");
	expect(f, "exports", "removed_files", "0");
	expect(f, "exports", "squash", "[\"root\"]");
	w->started->n_exports = 0;
	w->started->n_missing = 1;
	expect(f, "exports", "state", "\"down\"");
	expect(f, "exports", "reason", "\"worker 1 cannot open /srv\"");
	start_process(w);
	stall(page);
	expect(f, "exports", "state", "\"unknown\"");
	expect(f, "exports", "reason", "\"worker 1 does not update its statistics\"");
	expect(f, "exports", "open_files", "null");
	expect(f, "exports", "clients", "null");
	w->state = SUP_BACKOFF;
	snprintf(w->reason, sizeof(w->reason), "killed by SIGSEGV");
	expect(f, "exports", "state", "\"down\"");
	expect(f, "exports", "reason", "\"worker 1 is BACKOFF: killed by SIGSEGV\"");
	w->state = SUP_STARTING;
	w->adopted = true;
	expect(f, "exports", "state", "\"unknown\"");
	w->state = SUP_UP; /* its process is ended with the test */
}

static void mounts_are_served_only_if_their_worker_tells_so(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin_client(f);
	struct sup_worker *w = host_worker(f);

	page->mounts[0].served = 1;
	page->mounts[0].since_ns = clock_now_ns() - NSEC_PER_SEC * 90;
	page->mounts[0].open_files = 3;
	expect(f, "mounts", "path", "\"/mnt/y\"");
	expect(f, "mounts", "reason", "\"\"");
	expect(f, "mounts", "state", "\"served\"");
	expect(f, "mounts", "since_s", "90");
	expect(f, "mounts", "open_files", "3");
	expect(f, "mounts", "soft_s", "30");
	page->mounts[0].served = 0;
	snprintf(page->mounts[0].reason, sizeof(page->mounts[0].reason),
		 "no-export: no such export");
	expect(f, "mounts", "state", "\"waits\"");
	expect(f, "mounts", "reason", "\"no-export: no such export (for /mnt/y)\"");
	page->mounts[0].served = 1;
	stall(page);
	expect(f, "mounts", "state", "\"unknown\"");
	expect(f, "mounts", "since_s", "null");
	expect(f, "mounts", "open_files", "null");
	w->state = SUP_FAILED;
	w->down_since_ns = clock_now_ns() - NSEC_PER_SEC * 7;
	expect(f, "mounts", "state", "\"waits\"");
	expect(f, "mounts", "since_s", "7");
	w->state = SUP_UP; /* its process is ended with the test */
}

static void peers_are_up_only_by_a_path_that_works_now(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin_client(f);
	struct launch_path_stats *path = &page->paths[0];
	json_t *l;

	path->loss_out_ppm = UINT64_MAX;
	path->loss_in_ppm = 20000;
	path->srtt_ns = 250000;
	path->rtt_at_ns = clock_now_ns();
	path->heard_ns = clock_now_ns() - NSEC_PER_SEC * 3 / 2;
	l = list(f, "peers", NULL);
	assert_int_equal(json_array_size(l), 2);
	assert_member(l, 0, "host", "\"host-b\"");
	assert_member(l, 0, "state", "\"up\"");
	assert_member(l, 0, "addresses", "[\"10.10.1.20\"]");
	assert_member(l, 0, "legs_up", "[\"leg-a\"]");
	assert_member(l, 0, "legs_down", "[]");
	assert_member(l, 0, "mounts", "[\"/mnt/y\"]");
	assert_member(l, 0, "rtt_us", "250.0");
	assert_member(l, 0, "loss_to_percent", "null");
	assert_member(l, 0, "loss_from_percent", "2.0");
	assert_member(l, 0, "mtu", "9000");
	assert_member(l, 0, "heard_s", "1");
	assert_member(l, 1, "host", "\"host-c\"");
	assert_member(l, 1, "state", "\"unknown\"");
	assert_member(l, 1, "since_s", "null");
	json_decref(l);
	path->up = 0;
	l = list(f, "peers", NULL);
	assert_member(l, 0, "state", "\"down\"");
	assert_member(l, 0, "legs_up", "[]");
	assert_member(l, 0, "legs_down", "[\"leg-a\"]");
	assert_member(l, 0, "rtt_us", "null");
	json_decref(l);
	path->up = 1;
	stall(page);
	expect(f, "peers", "state", "\"unknown\"");
	expect(f, "peers", "legs_up", "[]");
}

static void paths_name_their_mount_and_differ_by_id(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin_client(f);
	json_t *l;

	page->paths[1] = page->paths[0];
	page->paths[1].session = 1;
	page->paths[1].serves = LAUNCH_SERVES_NONE;
	page->n_paths = 2;
	l = list(f, "paths", NULL);
	assert_member(l, 0, "id", "\"1/0/leg-a/10.10.1.20\"");
	assert_member(l, 0, "mount", "\"/mnt/y\"");
	assert_member(l, 0, "export", "\"\"");
	assert_member(l, 1, "id", "\"1/1/leg-a/10.10.1.20\"");
	assert_member(l, 1, "mount", "\"\"");
	json_decref(l);
}

/* ---- sessions ---- */

/* The list that the worker writes. The supervisor unmaps it. */
static struct launch_watch *watch(struct sup_worker *w)
{
	struct launch_watch *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	if (w->watch)
		munmap((void *)w->watch, sizeof(*page));
	page->magic = LAUNCH_WATCH_MAGIC;
	page->version = LAUNCH_WATCH_VERSION;
	page->size = sizeof(*page);
	w->watch = page;
	return page;
}

static struct launch_session *put_session(struct launch_watch *page, unsigned i, const char *peer)
{
	static const char *const remotes[] = {"10.10.1.20", "10.10.1.21"};
	struct launch_session *e = &page->sessions[i];
	const uint64_t now = clock_now_ns();

	*e = (struct launch_session){.looked_ns = now - NSEC_PER_SEC * 3 / 2,
				     .state = LAUNCH_SESSION_UP,
				     .since_ns = now - 60 * NSEC_PER_SEC,
				     .heard_ns = now - NSEC_PER_SEC * 5 / 2,
				     .in_flight = 3,
				     .waiting = 2,
				     .tx_bytes = 700,
				     .retransmits = 4,
				     .n_paths = 2};
	snprintf(e->peer, sizeof(e->peer), "%s", peer);
	for (unsigned k = 0; k < 2; k++) {
		e->paths[k] =
			(struct launch_session_path){.state = k ? LAUNCH_PATH_UP : LAUNCH_PATH_DOWN,
						     .local_port = 4420,
						     .remote_port = 4421,
						     .srtt_ns = 250 * NSEC_PER_USEC,
						     .rtt_at_ns = now};
		assert_int_equal(ip_addr_parse("10.10.1.10", &e->paths[k].local), 0);
		assert_int_equal(ip_addr_parse(remotes[k], &e->paths[k].remote), 0);
	}
	page->n_sessions++;
	page->n_entries = MAX_OF(page->n_entries, (uint64_t)i + 1);
	return e;
}

static void sessions_are_listed_with_the_path_in_use(void **state)
{
	struct fixture *f = *state;
	struct launch_watch *page;
	struct launch_session *e;
	json_t *l;

	begin_client(f);
	page = watch(host_worker(f));
	put_session(page, 0, "host-b");
	e = put_session(page, 2, "host-c");
	e->serves = LAUNCH_SERVES_NONE;
	e->state = LAUNCH_SESSION_CONNECTING;
	e->n_paths = 0;
	e->heard_ns = 0;
	l = list(f, "sessions", NULL);
	assert_int_equal(json_array_size(l), 2);
	assert_member(l, 0, "id", "\"1/0\"");
	assert_member(l, 0, "peer", "\"host-b\"");
	assert_member(l, 0, "role", "\"client\"");
	assert_member(l, 0, "state", "\"up\"");
	assert_member(l, 0, "worker", "1");
	assert_member(l, 0, "core", "1");
	assert_member(l, 0, "mount", "\"/mnt/y\"");
	assert_member(l, 0, "export", "\"\"");
	assert_member(l, 0, "local", "\"10.10.1.10\"");
	assert_member(l, 0, "remote", "\"10.10.1.21\""); /* the other path is down */
	assert_member(l, 0, "since_s", "60");
	assert_member(l, 0, "heard_s", "2");
	assert_member(l, 0, "age_s", "1");
	assert_member(l, 0, "rtt_us", "250.0");
	assert_member(l, 0, "in_flight", "3");
	assert_member(l, 0, "waiting", "2");
	assert_member(l, 0, "tx_bytes", "700");
	assert_member(l, 0, "retransmits", "4");
	assert_member(l, 0, "lease_s", "null");
	assert_member(l, 0, "paths",
		      "[{\"leg\":\"leg-a\",\"local\":\"10.10.1.10\",\"remote\":\"10.10.1.20\","
		      "\"local_port\":4420,\"remote_port\":4421,\"state\":\"down\"},"
		      "{\"leg\":\"leg-a\",\"local\":\"10.10.1.10\",\"remote\":\"10.10.1.21\","
		      "\"local_port\":4420,\"remote_port\":4421,\"state\":\"up\"}]");
	assert_member(l, 1, "id", "\"1/2\"");
	assert_member(l, 1, "state", "\"connecting\"");
	assert_member(l, 1, "mount", "\"\"");
	assert_member(l, 1, "remote", "null");
	assert_member(l, 1, "rtt_us", "null");
	assert_member(l, 1, "heard_s", "null");
	json_decref(l);
}

static void sessions_of_a_server_have_the_lease_left(void **state)
{
	struct fixture *f = *state;
	struct launch_session *e;

	begin(f, server);
	start_process(host_worker(f));
	e = put_session(watch(host_worker(f)), 0, "host-b");
	e->lease_ns = clock_now_ns() + NSEC_PER_SEC * 51 / 2;
	expect(f, "sessions", "role", "\"server\"");
	expect(f, "sessions", "export", "\"x\"");
	expect(f, "sessions", "lease_s", "25");
	e->lease_ns = clock_now_ns() - NSEC_PER_SEC;
	expect(f, "sessions", "lease_s", "0");
}

static void a_session_that_was_not_looked_at_lately_is_unknown(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin_client(f);
	struct launch_watch *all = watch(host_worker(f));
	struct launch_session *e = put_session(all, 0, "host-b");

	e->looked_ns = clock_now_ns() - 10 * NSEC_PER_SEC;
	expect(f, "sessions", "state", "\"unknown\"");
	expect(f, "sessions", "since_s", "null");
	expect(f, "sessions", "rtt_us", "null");
	expect(f, "sessions", "age_s", "10");
	/* With so many, each one has its turn later. */
	all->n_sessions = 20 * LAUNCH_SESSIONS_AT_ONCE;
	expect(f, "sessions", "state", "\"up\"");
	e->looked_ns = clock_now_ns();
	stall(page);
	expect(f, "sessions", "state", "\"unknown\"");
}

static json_t *all_of(struct fixture *f)
{
	struct status st;
	json_t *o;

	assert_int_equal(status_collect(&f->a, &st), 0);
	o = status_sessions_to_json(&f->a, &st);
	status_done(&st);
	assert_non_null(o);
	return o;
}

static void a_worker_without_a_list_is_named(void **state)
{
	struct fixture *f = *state;
	struct launch_watch *page;
	json_t *o;

	begin_client(f);
	page = watch(host_worker(f));
	put_session(page, 0, "host-b");
	page->version++;
	o = all_of(f);
	assert_int_equal(json_array_size(json_object_get(o, "sessions")), 0);
	assert_int_equal(
		json_integer_value(json_array_get(json_object_get(o, "unknown_workers"), 0)), 1);
	json_decref(o);
	host_worker(f)->state = SUP_BACKOFF; /* no process has a session */
	o = all_of(f);
	assert_int_equal(json_array_size(json_object_get(o, "unknown_workers")), 0);
	json_decref(o);
	host_worker(f)->state = SUP_UP;
}

static void the_list_of_sessions_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct launch_watch *page;
	json_t *o;

	begin_client(f);
	page = watch(host_worker(f));
	for (unsigned i = 0; i < STATUS_SESSIONS_MAX + 5; i++)
		put_session(page, i, "host-b");
	o = all_of(f);
	assert_int_equal(json_array_size(json_object_get(o, "sessions")), STATUS_SESSIONS_MAX);
	assert_int_equal(json_integer_value(json_object_get(o, "omitted_sessions")), 5);
	json_decref(o);
}

/* A worker that an attacker has taken over. */
static void invalid_sessions_are_harmless(void **state)
{
	struct fixture *f = *state;
	struct launch_watch *page;
	struct launch_session *e;
	json_t *l;

	begin_client(f);
	page = watch(host_worker(f));
	put_session(page, 0, "host-b")->state = LAUNCH_SESSION_STATE_MAX;
	put_session(page, 1, "host-b")->n_paths = LAUNCH_SESSION_PATHS_MAX + 1;
	put_session(page, 2, "host-b")->paths[1].remote.family = 77;
	put_session(page, 3, "host-b")->paths[0].state = 200;
	put_session(page, 4, "host-b")->seq = 1;
	e = put_session(page, 5, "host-b");
	memset(e->peer, '\n', sizeof(e->peer));
	e->paths[0].port = 255;
	e->serves = 12345;
	e->looked_ns = e->since_ns = e->lease_ns = UINT64_MAX;
	page->n_entries = page->n_sessions = UINT64_MAX;
	l = list(f, "sessions", NULL);
	assert_int_equal(json_array_size(l), 1);
	assert_member(l, 0, "mount", "\"\"");
	assert_null(strchr(json_string_value(json_object_get(json_array_get(l, 0), "peer")), '\n'));
	json_decref(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(clients_are_hosts_with_the_best_state_of_their_mounts),
		RECONCILE_TEST(refused_clients_are_listed_with_the_reason),
		RECONCILE_TEST(clients_of_a_worker_that_does_not_tell_are_unknown),
		RECONCILE_TEST(invalid_entries_of_a_page_are_harmless),
		RECONCILE_TEST(exports_are_served_only_by_workers_that_tell),
		RECONCILE_TEST(mounts_are_served_only_if_their_worker_tells_so),
		RECONCILE_TEST(peers_are_up_only_by_a_path_that_works_now),
		RECONCILE_TEST(paths_name_their_mount_and_differ_by_id),
		RECONCILE_TEST(sessions_are_listed_with_the_path_in_use),
		RECONCILE_TEST(sessions_of_a_server_have_the_lease_left),
		RECONCILE_TEST(a_session_that_was_not_looked_at_lately_is_unknown),
		RECONCILE_TEST(a_worker_without_a_list_is_named),
		RECONCILE_TEST(the_list_of_sessions_is_bounded),
		RECONCILE_TEST(invalid_sessions_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
