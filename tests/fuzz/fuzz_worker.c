/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A compromised worker: its messages to the agent; its statistics page, which it can write at any
 * time; the configuration that it shows to the next agent, which adopts it; and the descriptors
 * that an earlier agent has stored, under any names. Input: a byte of flags, then records of a
 * kind, a length (2 bytes) and as many bytes. After any input all texts that the agent shows are
 * valid UTF-8, without control characters unless it adopted a configuration, and no descriptor is
 * left open.
 */
#include "agent/base/stats_page.h"
#include "agent/control/control_internal.h"
#include "agent/desired/actions.h"
#include "agent/desired/leg_policy.h"
#include "agent/desired/worker_config.h"
#include "agent/reconcile.h"
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
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define FLAG_FRONTEND 0x01 /* else it is the compute worker */
#define FLAG_STARTING 0x02 /* it has not reported that it is ready */
#define FLAG_ADOPTED 0x04  /* no reconcile has compared its configuration yet */
#define FLAG_OTHER 0x08	   /* it is of another version and exits */
#define FLAG_PINGED 0x10   /* an RDMA test runs */
#define FLAG_FOUND 0x20	   /* the agent finds it running, with its configuration */

enum record {
	RECORD_MESSAGE, /* type, code, index, descriptors and key (a byte each), then the text */
	RECORD_BYTES,	/* a message of any length; descriptors (a byte), then its bytes */
	RECORD_PAGE,	/* offset (3 bytes) in the page, then what is written there */
	RECORD_CONFIG,	/* the same for the configuration, with FLAG_FOUND */
	RECORD_STORED,	/* a stored descriptor, with FLAG_FOUND: enum stored, then its name */
	RECORD_MAX
};

enum stored { STORED_PATH, STORED_MEMORY, STORED_PROCESS, STORED_MAX };

#define STORED_NAME_MAX 111 /* FD_HOLDER_NAME_MAX */
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
	int pidfd; /* of a process that stands for the worker */
	struct agent a;
	struct sup_worker *w;
	bool found, taken;
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
	    worker_config_build(next->spec, next->plan, NULL, LOG_LEVEL_ERR, &d, &next->desired,
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
	g.pidfd = -1;
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

/* A process that the agent may signal, and whose descriptors it copies. */
static int open_process(void)
{
	struct pollfd p = {.fd = g.pidfd, .events = POLLIN};
	pid_t pid;

	if (g.pidfd >= 0 && poll(&p, 1, 0) == 0)
		return g.pidfd;
	if (g.pidfd >= 0) {
		waitid(P_PIDFD, (id_t)g.pidfd, &(siginfo_t){0}, WEXITED);
		close(g.pidfd);
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	g.pidfd = pid < 0 ? -1 : pidfd_open(pid, 0);
	if (g.pidfd < 0)
		end_with("no process");
	return g.pidfd;
}

static void patch(void *memory, size_t size, const uint8_t *data, size_t len)
{
	size_t at;

	if (len <= 3)
		return;
	at = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % size;
	memcpy((uint8_t *)memory + at, data + 3, MIN_OF(len - 3, size - at));
}

/* Each record's data and its length; false: there are no more. */
static bool next_record(const uint8_t **data, size_t *size, enum record *ret_kind,
			const uint8_t **ret, size_t *ret_len)
{
	if (*size < 3)
		return false;
	*ret_len = MIN_OF((size_t)((*data)[1] | (*data)[2] << 8), *size - 3);
	*ret_kind = (*data)[0] % RECORD_MAX;
	*ret = *data + 3;
	*data += 3 + *ret_len;
	*size -= 3 + *ret_len;
	return true;
}

static void give_stored(int fd, const char *what, uint32_t id)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%u", what, id);
	if (fd < 0)
		end_with("no descriptor");
	if (sup_adopt_stored(g.a.sup, fd, name) < 0) /* another one has the name */
		close(fd);
}

/* What the agent does with a stored descriptor. */
static void give_any(const uint8_t *data, size_t len)
{
	char name[STORED_NAME_MAX + 1] = "";
	int fd;

	if (len < 1)
		return;
	memcpy(name, data + 1, MIN_OF(len - 1, (size_t)STORED_NAME_MAX));
	switch ((enum stored)(data[0] % STORED_MAX)) {
	case STORED_PATH:
		fd = fcntl(g.path_fd, F_DUPFD_CLOEXEC, 3);
		break;
	case STORED_MEMORY:
		fd = memfd_new_shared(name, LAUNCH_SHARE_BYTES);
		break;
	default:
		fd = fcntl(open_process(), F_DUPFD_CLOEXEC, 3);
		break;
	}
	if (fd >= 0 && mounts_adopt_stored(g.a.mounts, fd, name) < 0 &&
	    sup_adopt_stored(g.a.sup, fd, name) < 0)
		close(fd);
}

/* The service manager has kept the descriptors of the worker. */
static void find_worker(const struct launch_config *desired, const uint8_t *data, size_t size)
{
	struct launch_config *c = malloc(sizeof(*c));
	uint32_t id = desired->worker_id;
	const uint8_t *rec;
	enum record kind;
	size_t len;

	if (!c)
		end_with("no memory");
	*c = *desired;
	sup_config_normalise(c);
	while (next_record(&data, &size, &kind, &rec, &len)) {
		if (kind == RECORD_CONFIG)
			patch(c, sizeof(*c), rec, len);
		else if (kind == RECORD_STORED)
			give_any(rec, len);
	}
	give_stored(fcntl(open_process(), F_DUPFD_CLOEXEC, 3), "pid", id);
	give_stored(g.ends[0], "control", id);
	give_stored(memfd_new_sealed("plenum-config", c, sizeof(*c)), "config", id);
	give_stored(fcntl(g.page_fd, F_DUPFD_CLOEXEC, 3), "stats", id);
	free(c);
	sup_adopt(g.a.sup);
	g.w = (struct sup_worker *)sup_first(g.a.sup);
	g.taken = g.w->adopted;
}

static void start_worker(uint8_t flags, const uint8_t *data, size_t size)
{
	const struct launch_config *c = &g.a.running.desired[flags & FLAG_FRONTEND ? 1 : 0];
	struct sup_worker *w;

	memset(g.page, 0, sizeof(*g.page));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, g.ends) < 0)
		end_with("no socket");
	if (flags & FLAG_FOUND) {
		find_worker(c, data, size);
		return;
	}
	w = sup_worker_add(g.a.sup, c->worker_id);
	if (!w || sup_keep_started(w, c) < 0)
		end_with("no worker");
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

static void start(uint8_t flags, const uint8_t *data, size_t size)
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
	start_worker(flags, data, size);
}

static void stop(void)
{
	faults_done(&g.a.faults);
	g.a.faults = (struct faults){.n = 0};
	if (g.w->pid > 0) /* the next agent finds no record of it */
		rundir_del_process(&g.a.rundir, g.w->pid);
	g.a.sup = sup_free(g.a.sup);
	health_done(&g.a.health);
	latency_done(&g.a.latency);
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
	const uint32_t n_ports = g.w->started ? g.w->started->n_ports : 0;
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
		   (g.w->started && g.w->started->n_ports != n_ports) ||
		   (g.a.events.next != n_events &&
		    !strstr(g.a.events.ring[n_events % EVENTS_KEPT].text, "sent a message of"));
}

static void do_record(enum record kind, const uint8_t *data, size_t len)
{
	struct launch_msg m = {.pad = 0};

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
		patch(g.page, sizeof(*g.page), data, len);
		g.taken = true;
	}
}

/* ---- what operators see ---- */

/* Paths of an adopted configuration may have control characters: only UTF-8 is required. */
static void check_text(const char *text)
{
	if (g.found ? !text_is_utf8(text, strlen(text) + 1)
		    : !text_is_clean(text, strlen(text) + 1))
		end_with("a text with characters that are not shown");
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
	if (g.w->stats)
		(void)wiring_peers_learn(&peers, &wiring, paths,
					 stats_page_paths(g.w->stats, paths), proven);
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

/* What a reconcile compares with the worker's configuration. */
static void look_at_config(void)
{
	const struct running *r = &g.a.running;
	const struct launch_config *c = &g.w->config;
	char(*vfs)[16] = NULL;
	size_t n_vfs = 0;

	for (uint32_t i = 0; i < c->n_mounts; i++)
		(void)actions_keep_mount(&c->mounts[i], r->desired, r->n_desired);
	for (uint32_t i = 0; i < c->n_exports; i++)
		(void)actions_keep_export(&c->exports[i], r->desired, r->n_desired);
	for (size_t i = 0; i < r->n_desired; i++)
		(void)sup_config_differs(&r->desired[i], c);
	(void)leg_policy_held_hugepages(g.a.sup);
	(void)leg_policy_held_vfs(g.a.sup, &vfs, &n_vfs);
	free(vfs);
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
	look_at_config();
	if (g.w->state == SUP_UP)
		sup_update_rdma(g.w, 1);
	if (status_collect(&g.a, &st) < 0)
		end_with("no status");
	check_new(status_to_json(&st));
	check_new(status_processes_to_json(&st));
	check_new(status_net_to_json(&st));
	check_metrics(status_to_metrics(&st));
	if (status_collect_hosts(&g.a, &st) < 0)
		end_with("no lists");
	check_new(status_paths_to_json(&st));
	check_new(status_mounts_to_json(&st));
	check_new(status_exports_to_json(&st));
	check_new(status_clients_to_json(&st));
	check_new(status_peers_to_json(&g.a, &st));
	status_done(&st);
	check_new(events_to_json(&g.a.events, &(struct events_filter){0}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *rec;
	enum record kind;
	unsigned n_fds;
	size_t len;

	if (!g.page) {
		setup();
		start(FLAG_FOUND, NULL, 0); /* the agent's timers get their descriptors */
		look();
		stop();
	}
	g.taken = false;
	if (size == 0)
		return 0;
	n_fds = count_fds();
	g.found = data[0] & FLAG_FOUND;
	start(data[0], data + 1, size - 1);
	data++;
	size--;
	while (next_record(&data, &size, &kind, &rec, &len))
		do_record(kind, rec, len);
	look();
	stop();
	if (count_fds() != n_fds)
		end_with("a descriptor stays open");
	return 0;
}
