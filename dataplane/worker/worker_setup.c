/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PORT_RETRY_NS (2 * NSEC_PER_SEC)

const struct launch_config *worker_config_read(int fd, char *why)
{
	struct launch_config *cfg = NULL;
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != sizeof(*cfg)) {
		snprintf(why, LAUNCH_REASON_MAX,
			 "started without a configuration; plenumd starts workers");
		return NULL;
	}
	p = mmap(NULL, sizeof(*cfg), PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		snprintf(why, LAUNCH_REASON_MAX, "the configuration cannot be mapped");
		return NULL;
	}
	cfg = p;
	if (worker_config_check(cfg, why) < 0) {
		munmap(p, sizeof(*cfg));
		return NULL;
	}
	return cfg;
}

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
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
		ok = text_ends(cfg->mounts[i].path, sizeof(cfg->mounts[i].path)) &&
		     text_ends(cfg->mounts[i].export_name, sizeof(cfg->mounts[i].export_name)) &&
		     text_ends(cfg->mounts[i].peer, sizeof(cfg->mounts[i].peer)) &&
		     cfg->mounts[i].n_addrs <= LAUNCH_PEER_ADDRS_MAX;
	for (uint32_t i = 0; ok && i < cfg->n_exports; i++)
		ok = text_ends(cfg->exports[i].name, sizeof(cfg->exports[i].name)) &&
		     text_ends(cfg->exports[i].path, sizeof(cfg->exports[i].path));
	return ok;
}

int worker_config_check(const struct launch_config *cfg, char *why)
{
	const char *what = NULL;

	if (cfg->magic != LAUNCH_MAGIC)
		what = "the configuration is not one of plenumd's";
	else if (cfg->version != LAUNCH_VERSION || cfg->size != sizeof(*cfg))
		what = "plenumd is of another version than plenum-worker; restart plenumd";
	else if (cfg->n_ports < 1 || cfg->n_ports > LAUNCH_PORTS_MAX)
		what = "the configuration names no port, or too many";
	else if (cfg->n_mounts > LAUNCH_MOUNTS_MAX || cfg->n_exports > LAUNCH_EXPORTS_MAX)
		what = "the configuration names too many mounts or exports";
	else if ((unsigned)cfg->role >= LAUNCH_ROLE_MAX ||
		 (unsigned)cfg->transport >= LAUNCH_TRANSPORT_MAX)
		what = "the configuration names an unknown role or transport";
	else if (cfg->role == LAUNCH_DRIVES)
		what = "role drives is not served by this version; use compute";
	else if (!config_texts_end(cfg))
		what = "the configuration is damaged";
	if (!what)
		return 0;
	snprintf(why, LAUNCH_REASON_MAX, "%s", what);
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
#define TIMER_SLACK_NS 1000UL /* the kernel's 50 us would be half of a recovery's time */

/* The head of the kernel's struct sched_attr (include/uapi/linux/sched/types.h). */
struct worker_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * A short time slice: where others share the core, a worker that wakes up runs at once, and they
 * take over from one that spins as soon. Linux 6.12 and later; before, nothing changes. And timers
 * fire when they are due.
 */
static void process_set_timing(void)
{
	struct worker_sched_attr attr = {.size = sizeof(attr), .runtime_ns = SLICE_NS};

	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
	(void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
}

int worker_process_place(const struct launch_config *cfg)
{
	static const char *const roles[] = {"front", "compute", "drives"};
	char name[16];
	cpu_set_t cpus;

	snprintf(name, sizeof(name), "plenum-%.7s", roles[cfg->role]);
	(void)prctl(PR_SET_NAME, name);
	process_set_timing();
	if (cfg->core >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&cpus);
	CPU_SET(cfg->core, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) < 0 ? -errno : 0;
}

#define CAP(x) (1ULL << (x))

/* What serving files for other users needs. A frontend has all it needs in its descriptors. */
static uint64_t role_capabilities(enum launch_role role)
{
	if (role == LAUNCH_FRONTEND)
		return 0;
	return CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_FOWNER) |
	       CAP(CAP_FSETID) | CAP(CAP_SETUID) | CAP(CAP_SETGID) | CAP(CAP_MKNOD) |
	       CAP(CAP_SETFCAP) | CAP(CAP_SYS_ADMIN) /* trusted.* attributes */;
}

int worker_privileges_drop(enum launch_role role)
{
	uint64_t keep = role_capabilities(role);
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* EINVAL: beyond the last capability; EPERM: unprivileged already (tests). */
	for (unsigned c = 0; c < 64; c++)
		if (!(keep & CAP(c)))
			(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

unsigned worker_ports_open(struct worker *w, char *why)
{
	char reason[LAUNCH_REASON_MAX] = "";
	unsigned n = 0;

	why[0] = '\0';
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (w->port_open[i]) {
			n++;
			continue;
		}
		w->ports[i] = (struct port){.ops = w->ops, .index = i};
		reason[0] = '\0';
		if (w->ops->open(&w->ports[i], w->cfg, i, reason) < 0) {
			snprintf(why, LAUNCH_REASON_MAX, "%.20s: %.100s", w->cfg->ports[i].leg,
				 reason);
			continue;
		}
		w->port_open[i] = true;
		n++;
		if (reason[0]) /* works, but is less than was asked for */
			snprintf(why, LAUNCH_REASON_MAX, "%.20s: %.100s", w->cfg->ports[i].leg,
				 reason);
	}
	w->port_retry_ns = n < w->cfg->n_ports ? clock_now_ns() + PORT_RETRY_NS : UINT64_MAX;
	return n;
}
