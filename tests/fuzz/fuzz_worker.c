/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A compromised worker: its messages to the agent, and its statistics page, which it can write at
 * any time. Input: a byte of flags, then records of a kind, a length (2 bytes) and as many bytes.
 * After any input all texts that the agent shows are clean, and no descriptor is left open.
 */
#include "agent/base/stats_page.h"
#include "agent/control/control_internal.h"
#include "agent/desired/worker_config.h"
#include "agent/reconcile_internal.h"
#include "agent/status.h"
#include "agent/supervise/supervise_internal.h"
#include "agent/wiring/wiring_view.h"
#include "netcfg/base/os/memfd.h"
#include "netcfg/base/text.h"
#include "plugins/plugins.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/host/plan_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define FLAG_FRONTEND 0x01 /* else it is the compute worker */
#define FLAG_STARTING 0x02 /* it has not reported that it is ready */
#define FLAG_ADOPTED 0x04  /* no reconcile has compared its configuration yet */
#define FLAG_OTHER 0x08	   /* it is of another version and exits */
#define FLAG_PINGED 0x10   /* an RDMA test runs */

enum record {
	RECORD_MESSAGE, /* type, code, index, descriptors and key (a byte each), then the text */
	RECORD_BYTES,	/* a message of any length; descriptors (a byte), then its bytes */
	RECORD_PAGE,	/* offset (3 bytes) in the page, then what is written there */
	RECORD_MAX
};

#define MESSAGE_HEAD 5
#define FDS_MAX 3
#define YAML                                                                                  \
	HOST_YAML "  - {role: frontend, cores: [2], transport: udp, mounts: [{path: /mnt/a, " \
		  "from: host-b/a}, {path: /mnt/b, from: host-c/b}]}\n"                       \
		  "peers:\n"                                                                  \
		  "  - {name: host-b, ips: [10.10.2.20, 10.20.2.20]}\n"                       \
		  "  - {name: host-c, ips: [10.10.2.30]}\n"

static struct {
	char dir[40];
	struct spec *spec;
	struct inventory *inv;
	struct generation generation;
	struct launch_stats *page; /* the worker's mapping */
	int page_fd, path_fd, ends[2];
	struct agent a;
	struct sup_worker *w;
	bool taken;
} g;

bool fuzz_input_taken(void)
{
	return g.taken;
}

static _Noreturn void end_with(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

/* ---- the agent, with the plan of a host and its two workers ---- */

static void at_exit(void)
{
	static const char *const names[] = {"plenumd.lock", "plenumd.pid", "record", "epoch",
					    "handle-key"};
	char path[80];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", g.dir, names[i]);
		unlink(path);
	}
	rmdir(g.dir);
}

static void on_carrier(void *user, const struct inv_link *link, bool usable)
{
}

static void setup(void)
{
	struct generation *next = &g.generation;
	struct diag d = DIAG_INIT;
	struct reason why;
	pid_t owner;

	plugins_register();
	log_set_level(LOG_LEVEL_ERR - 1); /* no output */
	strcpy(g.dir, "/dev/shm/plenum-fuzz-worker-XXXXXX");
	if (!mkdtemp(g.dir))
		end_with("no folder");
	atexit(at_exit);
	next->spec = host_spec(YAML);
	next->inv = host_new();
	if (plan_build(next->spec, next->inv, NULL, &d, &next->plan) < 0 ||
	    worker_config_build(next->spec, next->plan, LOG_LEVEL_ERR, &d, &next->desired,
				&next->n_desired) < 0 ||
	    next->n_desired != 2)
		end_with("no plan");
	diag_done(&d);
	if (loop_new(&g.a.loop) < 0 || rundir_open(g.dir, g.dir, &g.a.rundir, &owner, &why) < 0 ||
	    mounts_new(&(struct mounts_setup){.rundir = &g.a.rundir,
					      .loop = g.a.loop,
					      .events = &g.a.events},
		       &g.a.mounts) < 0)
		end_with("no agent");
	generation_swap(&g.a, next);
	if (carriers_take(&g.a.carriers, g.a.running.inv, on_carrier, NULL) < 0)
		end_with("no carriers");
	g.page_fd = memfd_new_shared("plenum-stats", sizeof(*g.page));
	g.page = mmap(NULL, sizeof(*g.page), PROT_READ | PROT_WRITE, MAP_SHARED, g.page_fd, 0);
	g.path_fd = open("/", O_PATH | O_CLOEXEC);
	if (g.page == MAP_FAILED || g.path_fd < 0)
		end_with("no page");
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void start_worker(uint8_t flags)
{
	const struct launch_config *c = &g.a.running.desired[flags & FLAG_FRONTEND ? 1 : 0];
	struct sup_worker *w = sup_worker_add(g.a.sup, c->worker_id);

	if (!w || sup_keep_started(w, c) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, g.ends) < 0)
		end_with("no worker");
	memset(g.page, 0, sizeof(*g.page));
	w->config = *c;
	sup_config_normalise(&w->config);
	w->wanted = true;
	w->agreed = !(flags & FLAG_ADOPTED);
	w->adopted = w->keys_unsure = flags & FLAG_ADOPTED;
	w->state = flags & FLAG_STARTING ? SUP_STARTING : SUP_UP;
	w->up_since_ns = w->started_ns = 1;
	w->stats = sup_stats_map(g.page_fd);
	if (flags & FLAG_OTHER)
		w->pins_fd = g.ends[0];
	else
		w->control_fd = g.ends[0];
	if (flags & FLAG_PINGED) {
		w->ping_asked = 1;
		w->ping_want = (struct launch_ping){.id = 1};
	}
	g.w = w;
}

static void start(uint8_t flags)
{
	struct agent *a = &g.a;

	events_init(&a->events);
	if (sup_new(&(struct sup_setup){.loop = a->loop,
					.events = &a->events,
					.mounts = a->mounts,
					.rundir = &a->rundir,
					.carriers = &a->carriers,
					.labels = &a->labels,
					.faults = &a->faults,
					.worker_path = "/bin/false",
					.user = a},
		    &a->sup) < 0 ||
	    faults_init(&a->faults, &(struct faults_setup){.loop = a->loop,
							   .events = &a->events,
							   .sup = a->sup}) < 0)
		end_with("no supervisor");
	start_worker(flags);
}

static void stop(void)
{
	faults_done(&g.a.faults);
	g.a.faults = (struct faults){.n = 0};
	g.a.sup = sup_free(g.a.sup);
	health_done(&g.a.health);
	problems_done(&g.a.problems);
	g.a.health = (struct health){.n = 0};
	g.a.problems = (struct problems){.n_all = 0};
	close(g.ends[1]);
}

/* ---- what the worker does ---- */

/* Several descriptors in one message, which the kernel's limit of 253 allows. */
static void send_message(const void *data, size_t len, uint8_t n_fds)
{
	struct sup_worker was;
	const uint64_t n_events = g.a.events.next;
	const uint32_t n_ports = g.w->started->n_ports;
	union {
		char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	const unsigned n = n_fds % (FDS_MAX + 1);

	if (n > 0) {
		struct cmsghdr *c;

		mh.msg_control = control.buf;
		mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		for (unsigned i = 0; i < n; i++) /* the first is a file to pin, or no such */
			memcpy(CMSG_DATA(c) + i * sizeof(int),
			       n_fds & 0x80 ? &g.page_fd : &g.path_fd, sizeof(int));
	}
	was = *g.w;
	if (sendmsg(g.ends[1], &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
	sup_read_sent(g.w);
	g.taken |= memcmp(&was, g.w, sizeof(was)) != 0 || g.w->sup->exports.first ||
		   g.w->started->n_ports != n_ports ||
		   (g.a.events.next != n_events &&
		    !strstr(g.a.events.ring[n_events % EVENTS_KEPT].text, "sent a message of"));
}

static void do_record(enum record kind, const uint8_t *data, size_t len)
{
	struct launch_msg m = {.pad = 0};
	uint32_t at;

	if (kind == RECORD_MESSAGE && len >= MESSAGE_HEAD) {
		m.type = data[0];
		m.code = (int8_t)data[1];
		m.index = data[2] == 0xff ? UINT32_MAX : data[2];
		m.key = data[4];
		memcpy(m.text, data + MESSAGE_HEAD,
		       MIN_OF(len - MESSAGE_HEAD, sizeof(m) - offsetof(struct launch_msg, text)));
		send_message(&m, sizeof(m), data[3]);
	} else if (kind == RECORD_BYTES && len > 1) {
		send_message(data + 1, len - 1, data[0]);
	} else if (kind == RECORD_PAGE && len > 3) {
		at = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
		at %= sizeof(*g.page);
		memcpy((uint8_t *)g.page + at, data + 3, MIN_OF(len - 3, sizeof(*g.page) - at));
		g.taken = true;
	}
}

/* ---- what operators see ---- */

static void check_text(const char *text)
{
	char clean[4096];

	snprintf(clean, sizeof(clean), "%s", text);
	text_clean(clean);
	if (strlen(text) < sizeof(clean) && strcmp(clean, text) != 0) {
		fprintf(stderr, "shown: '%s'\n", clean);
		end_with("a text with characters that are not shown");
	}
}

static void check_json(json_t *o)
{
	const char *key;
	json_t *v;
	size_t i;

	if (!o)
		end_with("a text that JSON refuses");
	if (json_is_string(o))
		check_text(json_string_value(o));
	json_object_foreach (o, key, v) {
		check_text(key);
		check_json(v);
	}
	json_array_foreach (o, i, v)
		check_json(v);
}

static void check_new(json_t *o)
{
	check_json(o);
	json_decref(o);
}

static void check_metrics(char *text)
{
	if (!text)
		end_with("no metrics");
	for (char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			end_with("metrics do not end with a line");
		*end = '\0';
		check_text(line);
	}
	free(text);
}

static void look_at_paths(void)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	static struct wiring_peers peers;
	static struct wiring wiring = {.v = {.n_legs = 1, .legs = {{.name = "leg-a"}}}};
	bool proven[PLENUM_LEGS_MAX] = {false};

	peers.n = 0;
	(void)wiring_peers_learn(&peers, &wiring, paths, stats_page_paths(g.w->stats, paths),
				 proven);
}

static void look_at_ping(void)
{
	const struct privsep_msg m = {.ping = {.id = 1}};
	const struct client cl = {.id = 0};
	struct control_reply r = {0};

	control_rdma_ping(&g.a, &cl, &m, -1, &r);
	check_text(control_text(&r));
	free(r.text);
}

static void look(void)
{
	struct status st;

	agent_check_health(&g.a);
	agent_check_health(&g.a);
	faults_adopt(&g.a.faults);
	check_new(faults_to_json(&g.a.faults));
	look_at_paths();
	look_at_ping();
	sup_update_rdma(g.w, 1);
	if (status_collect(&g.a, &st) < 0)
		end_with("no status");
	check_new(status_to_json(&st));
	check_new(status_processes_to_json(&st));
	check_new(status_net_to_json(&st));
	check_metrics(status_to_metrics(&st));
	status_done(&st);
	check_new(events_to_json(&g.a.events, &(struct events_filter){0}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned n_fds;

	if (!g.page) {
		setup();
		start(0); /* the agent's timers get their descriptors */
		look();
		stop();
	}
	g.taken = false;
	if (size == 0)
		return 0;
	n_fds = count_fds();
	start(data[0]);
	data++;
	size--;
	while (size >= 3) {
		size_t len = MIN_OF((size_t)(data[1] | data[2] << 8), size - 3);

		do_record(data[0] % RECORD_MAX, data + 3, len);
		data += 3 + len;
		size -= 3 + len;
	}
	look();
	stop();
	if (count_fds() != n_fds)
		end_with("a descriptor stays open");
	return 0;
}
