/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up a worker before it has traffic: its configuration, its core, its ports. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PORT_RETRY_NS (2 * NSEC_PER_SEC)
#define PROBE_LOOK_NS (10 * NSEC_PER_MSEC)
#define CONFIG_HEAD_BYTES ((ssize_t)(3 * sizeof(uint32_t))) /* magic, version, size */

/* The head has the same layout in every version. */
static int config_head_check(const struct launch_config *cfg, struct reason *why)
{
	if (cfg->magic != LAUNCH_MAGIC) {
		reason_set_text(why, "the configuration was not written by plenumd");
		return -EINVAL;
	}
	if (cfg->version == LAUNCH_VERSION && cfg->size == sizeof(*cfg))
		return 0;
	reason_set_text(
		why,
		"plenumd and plenum-worker have different versions (protocol %u and %u); restart "
		"plenumd: mounts wait until then",
		cfg->version, LAUNCH_VERSION);
	return -EPROTO;
}

int worker_config_read(int fd, struct launch_config **ret, struct reason *why)
{
	autofree struct launch_config *cfg = calloc(1, sizeof(*cfg));
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < CONFIG_HEAD_BYTES) {
		reason_set_text(why, "no configuration: only plenumd can start plenum-worker");
		return -EINVAL;
	}
	n = cfg ? pread(fd, cfg, sizeof(*cfg), 0) : -1;
	if (n < CONFIG_HEAD_BYTES) {
		reason_set_text(why, "cannot read the configuration");
		return -EINVAL;
	}
	r = config_head_check(cfg, why);
	if (r >= 0 && (n != (ssize_t)sizeof(*cfg) || st.st_size != n)) {
		reason_set_text(why, "the configuration is malformed");
		r = -EINVAL;
	}
	if (r >= 0)
		r = worker_config_check(cfg, why);
	if (r < 0)
		return r;
	*ret = ptr_take(cfg);
	return 0;
}

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool mount_is_sane(const struct launch_mount *m)
{
	return text_ends(m->path, sizeof(m->path)) &&
	       text_ends(m->export_name, sizeof(m->export_name)) &&
	       text_ends(m->peer, sizeof(m->peer)) && m->n_addrs <= LAUNCH_PEER_ADDRS_MAX &&
	       m->mount_worker <= LAUNCH_MOUNT_WORKERS_MAX;
}

static bool clients_are_sane(const struct launch_config *cfg)
{
	bool ok = cfg->n_clients <= LAUNCH_CLIENTS_MAX;

	for (uint32_t i = 0; ok && i < cfg->n_clients; i++) {
		const struct launch_client *c = &cfg->clients[i];

		ok = text_ends(c->host, sizeof(c->host)) &&
		     c->first_addr <= LAUNCH_CLIENT_ADDRS_MAX &&
		     c->n_addrs <= LAUNCH_CLIENT_ADDRS_MAX - c->first_addr;
	}
	return ok;
}

static bool config_texts_end(const struct launch_config *cfg)
{
	bool ok = text_ends(cfg->host, sizeof(cfg->host));

	for (uint32_t i = 0; ok && i < cfg->n_ports; i++)
		ok = text_ends(cfg->ports[i].leg, sizeof(cfg->ports[i].leg)) &&
		     text_ends(cfg->ports[i].label, sizeof(cfg->ports[i].label)) &&
		     text_ends(cfg->ports[i].ifname, sizeof(cfg->ports[i].ifname)) &&
		     text_ends(cfg->ports[i].device, sizeof(cfg->ports[i].device));
	for (uint32_t i = 0; ok && i < cfg->n_mounts; i++)
		ok = mount_is_sane(&cfg->mounts[i]);
	for (uint32_t i = 0; ok && i < cfg->n_shared; i++)
		ok = mount_is_sane(&cfg->shared[i]) && cfg->shared[i].mount_worker > 0;
	for (uint32_t i = 0; ok && i < cfg->n_exports + cfg->n_missing; i++)
		ok = text_ends(cfg->exports[i].name, sizeof(cfg->exports[i].name)) &&
		     text_ends(cfg->exports[i].path, sizeof(cfg->exports[i].path));
	return ok;
}

int worker_config_check(const struct launch_config *cfg, struct reason *why)
{
	const char *what = NULL;
	int r = config_head_check(cfg, why);

	if (r < 0)
		return r;
	if (cfg->n_ports < 1 || cfg->n_ports > LAUNCH_PORTS_MAX)
		what = "the configuration has no port or too many";
	else if (cfg->n_mounts > LAUNCH_MOUNTS_MAX || cfg->n_shared > LAUNCH_SHARED_MOUNTS_MAX ||
		 cfg->n_exports > LAUNCH_EXPORTS_MAX ||
		 cfg->n_missing > LAUNCH_EXPORTS_MAX - cfg->n_exports)
		what = "the configuration has too many mounts or exports";
	else if (cfg->sessions > LAUNCH_SESSIONS_MAX)
		what = "the configuration asks for too many sessions";
	else if (cfg->failover && cfg->transport == LAUNCH_UDP)
		what = "kernel sockets cannot share an address over several ports";
	else if ((unsigned)cfg->security >= LAUNCH_SECURITY_MAX ||
		 cfg->n_secrets > LAUNCH_SECRETS_MAX ||
		 (cfg->n_secrets == 0) != (cfg->security == LAUNCH_SECURITY_NONE))
		what = "the number of keys does not fit the security mode";
	else if ((unsigned)cfg->role >= LAUNCH_ROLE_MAX ||
		 (unsigned)cfg->transport >= LAUNCH_TRANSPORT_MAX)
		what = "the configuration names an unknown role or transport";
	else if (!worker_role_get(cfg->role)) /* a role that exists by name only */
		what = "this version does not support role drives; use compute";
	else if (!config_texts_end(cfg) || !clients_are_sane(cfg))
		what = "the configuration is malformed";
	if (!what)
		return 0;
	reason_set_text(why, "%s", what);
	return -EINVAL;
}

struct launch_stats *worker_stats_map(int fd)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(struct launch_stats))
		return NULL;
	p = mmap(NULL, sizeof(struct launch_stats), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

#define SLICE_NS (100 * NSEC_PER_USEC)
/* the kernel's default of 50 us would be half of a recovery's time */
#define TIMER_SLACK_NS 1000UL

/* The head of the kernel's struct sched_attr (include/uapi/linux/sched/types.h). */
struct worker_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * A short time slice: on a shared core a worker that wakes up runs at once, and other processes
 * replace one that spins as soon. Linux 6.12 and later; no effect before. Timers fire without
 * slack.
 */
static void process_set_timing(void)
{
	struct worker_sched_attr attr = {.size = sizeof(attr), .runtime_ns = SLICE_NS};

	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
	(void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
}

int worker_process_place(const struct launch_config *cfg)
{
	char name[16];
	cpu_set_t cpus;

	snprintf(name, sizeof(name), "plenum-%.7s", worker_role_get(cfg->role)->name);
	(void)prctl(PR_SET_NAME, name);
	process_set_timing();
	if (cfg->core >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&cpus);
	CPU_SET(cfg->core, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) < 0 ? -errno : 0;
}

int worker_ops_get(struct worker *w, struct reason *why)
{
	bool all_xdp = w->cfg->transport != LAUNCH_UDP;

	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		all_xdp &= launch_port_is_xdp(&w->cfg->ports[i]);
	if (!all_xdp)
		return port_ops_get(w->cfg->transport, &w->ops, why);
	w->ops = &port_xdp_ops; /* without DPDK and its memory, unless a port falls back to it */
	return 0;
}

/* As port_ops.open of the port's back end. A port falls back from AF_XDP to AF_PACKET. */
static int port_open(struct worker *w, unsigned i, struct reason *why)
{
	struct port *p = &w->ports[i];
	struct reason xdp;
	int r;

	*p = (struct port){.ops = w->ops, .index = i};
	if (w->cfg->transport == LAUNCH_UDP || !launch_port_is_xdp(&w->cfg->ports[i]))
		return p->ops->open(p, w->cfg, i, why);
	p->ops = &port_xdp_ops;
	if (p->ops->open(p, w->cfg, i, &xdp) == 0)
		return 0;
	log_warning("%s", xdp.text);
	r = port_ops_get(w->cfg->transport, &p->ops, why);
	if (r < 0) {
		p->ops = w->ops;
		return r;
	}
	r = p->ops->open(p, w->cfg, i, why);
	if (r == 0)
		reason_set(why, "no-af-xdp", "AF_PACKET is used: %s", xdp.text);
	return r;
}

unsigned worker_ports_open(struct worker *w, struct worker_legs_why *ret_why)
{
	struct reason why;
	unsigned n = 0;
	int user = -1;

	*ret_why = w->port_why; /* unchanged for ports that are not tried */
	/* Sockets belong to the worker's own user: the kernel lets only the same user share a UDP
	 * port, and port_udp opens more of them later. */
	if (w->cfg->transport == LAUNCH_UDP)
		user = setfsuid(w->sandbox.uid);
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (w->port_open[i] || w->released[i]) {
			n += w->port_open[i];
			continue;
		}
		reason_clear(&why);
		reason_clear(&ret_why->leg[i]);
		w->port_open[i] = port_open(w, i, &why) == 0;
		n += w->port_open[i];
		if (reason_is_set(&why)) /* an open port may have a reason too */
			worker_legs_add(w, ret_why, i, &why);
	}
	if (user >= 0)
		setfsuid((uid_t)user);
	w->port_retry_ns = n < w->cfg->n_ports && w->ops->reopens ? clock_now_ns() + PORT_RETRY_NS
								  : UINT64_MAX;
	return n;
}

/* The port has the result of its probe. */
static int join_end(struct worker *w, unsigned i, int r, const struct reason *reason,
		    struct worker_legs_why *why)
{
	if (r < 0) {
		w->ports[i].ops->close(&w->ports[i]);
		w->port_open[i] = false;
	}
	w->unprobed[i] = r > 0;
	w->probed |= r == 0;
	if (reason_is_set(reason))
		worker_legs_add(w, why, i, reason);
	return r;
}

/* As port_ops.join(), once. */
static int join_look(struct worker *w, unsigned i, struct worker_legs_why *why)
{
	struct reason reason = {.code = ""};
	struct port *p = &w->ports[i];
	int r = p->ops->join ? p->ops->join(p, w->cfg, i, &reason) : 0;

	return r == -EAGAIN || r == -EINPROGRESS ? r : join_end(w, i, r, &reason, why);
}

int worker_port_join(struct worker *w, unsigned i, struct worker_legs_why *why)
{
	struct reason reason = {.code = ""};
	int r = port_join(&w->ports[i], w->cfg, i, &reason);

	return join_end(w, i, r, &reason, why);
}

/* A port with a result while others still probe: it answers its neighbours and drains its rings.
 * Datagrams are not delivered yet. Returns whether more may be waiting. */
static bool port_keep(struct worker *w, unsigned i)
{
	struct port_rx pkts[PORT_BURST_MAX];
	struct port *p = &w->ports[i];
	int n = p->ops->rx(p, pkts, PORT_BURST_MAX);

	if (p->ops->tick)
		(void)p->ops->tick(p, clock_now_ns());
	return n == PORT_BURST_MAX;
}

/* All ports probe at the same time: most of it is waiting for objections. */
unsigned worker_ports_join(struct worker *w, struct worker_legs_why *ret_why)
{
	bool waits[LAUNCH_PORTS_MAX], any, more;
	unsigned n = 0;
	int r;

	if (w->cfg->failover)
		return worker_backup_join(w, ret_why);
	*ret_why = w->open_why = w->port_why;
	memcpy(waits, w->port_open, sizeof(waits));
	do {
		any = more = false;
		for (unsigned i = 0; i < w->cfg->n_ports; i++) {
			if (!waits[i]) {
				more |= w->port_open[i] && port_keep(w, i);
				continue;
			}
			r = join_look(w, i, ret_why);
			more |= r == -EINPROGRESS;
			waits[i] = r == -EAGAIN || r == -EINPROGRESS;
			any |= waits[i];
			n += r >= 0;
			if (r >= 0 || waits[i])
				continue;
			w->port_up[i] = false;
			rudp_port_set_up(w->rudp, i, false, clock_now_ns());
		}
		if (any && !more)
			port_join_rest();
	} while (any);
	return n;
}

/* As at the start: a worker without any port is useless, and the next one retries. */
static void end_without_ports(struct worker *w, const char *reason)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i])
			return;
	log_err("%s", reason);
	worker_send(w, LAUNCH_MSG_FAILED, -EADDRNOTAVAIL, 0, reason);
	w->exit_status = LAUNCH_EXIT_TRANSPORT;
	w->stopped = true;
}

/* The leg keeps the reasons from opening the port; only those of the probe change. */
static void probe_end(struct worker *w, unsigned i, int result, const struct reason *reason)
{
	struct worker_legs_why why = w->open_why;

	w->unprobed[i] = w->asks[i] = false;
	w->probed |= result == 0;
	if (result < 0) {
		w->ports[i].ops->close(&w->ports[i]);
		w->port_open[i] = false;
		worker_link_judge(w, i);
		worker_legs_add(w, &why, i, reason);
	}
	worker_leg_explain(w, i, why.leg[i].text);
	if (result < 0)
		end_without_ports(w, why.leg[i].text);
}

void worker_probe_begin(struct worker *w, unsigned i, bool has_link)
{
	w->asks[i] = w->unprobed[i] && has_link;
	worker_probe_look(w, i);
}

void worker_probe_look(struct worker *w, unsigned i)
{
	struct reason reason = {.code = ""};
	int r = 0;

	if (!w->asks[i] || !w->port_up[i])
		return;
	/* Of several ports with one address only one probes: the others would find it in use by
	 * this worker. */
	if (w->cfg->failover && !w->probed && worker_port(w, 0) != i)
		return;
	if (!w->cfg->failover || !w->probed)
		r = w->ports[i].ops->probe(&w->ports[i], &reason);
	if (r == -EAGAIN)
		w->port_tick_ns[i] = MIN_OF(w->port_tick_ns[i], w->now_ns + PROBE_LOOK_NS);
	else
		probe_end(w, i, r, &reason);
}
