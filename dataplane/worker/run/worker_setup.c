/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up a worker before it has ports: reads its configuration, assigns its core, and maps its
 * statistics page. */
#include "dataplane/worker/run/worker_run.h"
#include "netcfg/base/log.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define CONFIG_HEAD_BYTES                                                     \
	((ssize_t)(3 * sizeof(uint32_t))) /* the common first members: magic, \
					     version and size */

/* Checks magic, version and size. These have the same layout in all versions. */
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

static bool mount_is_valid(const struct launch_mount *m)
{
	return text_ends(m->path, sizeof(m->path)) &&
	       text_ends(m->export_name, sizeof(m->export_name)) &&
	       text_ends(m->peer, sizeof(m->peer)) && m->n_addrs <= LAUNCH_PEER_ADDRS_MAX &&
	       m->mount_worker <= LAUNCH_MOUNT_WORKERS_MAX;
}

static bool clients_are_valid(const struct launch_config *cfg)
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
	for (uint32_t i = 0; ok && i < cfg->n_revoked; i++)
		ok = text_ends(cfg->revoked[i].host, sizeof(cfg->revoked[i].host));
	for (uint32_t i = 0; ok && i < cfg->n_mounts; i++)
		ok = mount_is_valid(&cfg->mounts[i]);
	for (uint32_t i = 0; ok && i < cfg->n_shared; i++)
		ok = mount_is_valid(&cfg->shared[i]) && cfg->shared[i].mount_worker > 0;
	for (uint32_t i = 0; ok && i < cfg->n_exports + cfg->n_missing; i++)
		ok = text_ends(cfg->exports[i].name, sizeof(cfg->exports[i].name)) &&
		     text_ends(cfg->exports[i].path, sizeof(cfg->exports[i].path));
	return ok;
}

/* Reports a count that exceeds the arrays of struct launch_config. */
static int config_counts_check(const struct launch_config *cfg, struct reason *why)
{
	const struct {
		const char *what;
		uint64_t n;
		unsigned min, max;
	} counts[] = {
		{"count of enabled legs in net", cfg->n_ports, 1, LAUNCH_PORTS_MAX},
		{"count of workers[].mounts", cfg->n_mounts, 0, LAUNCH_MOUNTS_MAX},
		{"count of mounts of other workers", cfg->n_shared, 0, LAUNCH_SHARED_MOUNTS_MAX},
		{"count of workers[].exports", (uint64_t)cfg->n_exports + cfg->n_missing, 0,
		 LAUNCH_EXPORTS_MAX},
		{"value of workers[].sessions", cfg->sessions, 0, LAUNCH_SESSIONS_MAX},
		{"count of keys in cluster.secret-file", cfg->n_secrets, 0, LAUNCH_SECRETS_MAX},
		{"count of revoked hosts", cfg->n_revoked, 0, LAUNCH_REVOKED_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i].n < counts[i].min || counts[i].n > counts[i].max) {
			reason_set_text(why, "the %s is %" PRIu64 "; this worker accepts %u to %u",
					counts[i].what, counts[i].n, counts[i].min, counts[i].max);
			return -EINVAL;
		}
	return 0;
}

int worker_config_check(const struct launch_config *cfg, struct reason *why)
{
	int r = config_head_check(cfg, why);

	if (r == 0)
		r = config_counts_check(cfg, why);
	if (r < 0)
		return r;
	if (cfg->failover && cfg->transport == LAUNCH_UDP)
		reason_set_text(why, "ha.mode active-backup needs transport dpdk or dpdk-interrupt "
				     "for a worker with VFs, found udp");
	else if ((unsigned)cfg->security >= LAUNCH_SECURITY_MAX)
		reason_set_text(why,
				"plenumd sent the unknown value %u for cluster.security; "
				"restart plenumd",
				(unsigned)cfg->security);
	else if ((cfg->n_secrets == 0) != (cfg->security == LAUNCH_SECURITY_NONE))
		reason_set_text(
			why,
			cfg->n_secrets == 0
				? "cluster.security needs a key in cluster.secret-file, found none"
				: "cluster.security is none, but cluster.secret-file has a key; "
				  "remove one");
	else if ((unsigned)cfg->identity > LAUNCH_IDENTITY_REQUIRE ||
		 (cfg->identity != LAUNCH_IDENTITY_OFF && cfg->n_secrets == 0))
		reason_set_text(why, "cluster.identity needs a key in cluster.secret-file, found "
				     "none");
	else if ((unsigned)cfg->role >= LAUNCH_ROLE_MAX)
		reason_set_text(why, "plenumd sent the unknown role %u; restart plenumd",
				(unsigned)cfg->role);
	else if ((unsigned)cfg->transport >= LAUNCH_TRANSPORT_MAX)
		reason_set_text(why, "plenumd sent the unknown transport %u; restart plenumd",
				(unsigned)cfg->transport);
	else if (!worker_role_get(cfg->role)) /* enum launch_role has this role, but this version
						 does not implement it */
		reason_set_text(why, "this version does not support role drives; use compute");
	else if (!config_texts_end(cfg) || !clients_are_valid(cfg))
		reason_set_text(why, "plenumd sent a malformed configuration; restart plenumd");
	else
		return 0;
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
/* How late the kernel may fire timers. The default of 50 us is half of the time that a failover may
 * take. */
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
 * Requests a short time slice, which Linux 6.12 and later supports: on a shared core, a worker that
 * wakes up then runs at once, and other processes soon interrupt a worker that polls. Also makes
 * timers fire with little delay.
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
