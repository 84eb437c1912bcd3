/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of memory: huge pages for DPDK workers on each NUMA node, and the limits of the agent's
 * process, which workers inherit. */
#include "agent/ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

#define AVAILABLE_KIB_MIN (512 << 10)
#define FILES_MIN 65536
#define GROUP_MAX 256
/* MiB that one worker with all its sessions needs; the agent needs as much */
#define GROUP_MIB_EACH 256

static uint64_t pages_of(const struct doctor_host *p, int node)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->inv->n_hugepages; i++) {
		const struct inv_hugepages *h = &p->inv->hugepages[i];

		if (h->size_kib == PLAN_HUGEPAGE_KIB && h->numa_node == node)
			n += h->free;
	}
	return n;
}

static void run_hugepages(const struct doctor_host *p, const struct doctor_check *c,
			  struct doctor_result *r)
{
	const uint64_t has = pages_of(p, INV_NUMA_NONE);
	uint64_t want = 0;

	for (size_t i = 0; i < p->plan->n_workers; i++)
		want += p->plan->workers[i].hugepages;
	if (has >= want) {
		doctor_report(r, DOCTOR_PASS,
			      "%" PRIu64 " huge pages of 2 MiB, DPDK workers need %" PRIu64, has,
			      want);
		return;
	}
	doctor_report(r, DOCTOR_FAIL,
		      "%" PRIu64 " huge pages of 2 MiB, but DPDK workers need %" PRIu64, has, want);
	doctor_advise(r,
		      "sysctl -w vm.nr_hugepages=%" PRIu64 " (also in /etc/sysctl.d/plenum.conf)",
		      want);
}

static void run_hugepages_node(const struct doctor_host *p, const struct doctor_check *c,
			       struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_workers; i++) {
		const int node = doctor_core_node(p, p->plan->workers[i].core);
		uint64_t want = 0, has;

		if (node == INV_NUMA_NONE)
			continue;
		for (size_t j = 0; j < p->plan->n_workers; j++)
			if (doctor_core_node(p, p->plan->workers[j].core) == node)
				want += p->plan->workers[j].hugepages;
		has = pages_of(p, node);
		if (has >= want)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "NUMA node %d has %" PRIu64
			      " huge pages of 2 MiB, but its workers need %" PRIu64,
			      node, has, want);
		doctor_advise(r,
			      "echo %" PRIu64
			      " >/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/"
			      "nr_hugepages",
			      want, node);
	}
	doctor_report(r, DOCTOR_PASS, "each NUMA node has the huge pages that its workers need");
}

static void run_available(const struct doctor_host *p, const struct doctor_check *c,
			  struct doctor_result *r)
{
	autofree char *text = doctor_read_all(p, "/proc/meminfo");
	const char *at = text ? strstr(text, "MemAvailable:") : NULL;
	unsigned long kib = at ? strtoul(at + strlen("MemAvailable:"), NULL, 10) : 0;

	if (!at) {
		doctor_report(r, DOCTOR_UNKNOWN, "/proc/meminfo has no MemAvailable");
	} else if (kib >= AVAILABLE_KIB_MIN) {
		doctor_report(r, DOCTOR_PASS, "%lu MiB are available", kib >> 10);
	} else {
		doctor_report(r, DOCTOR_WARN, "only %lu MiB are available", kib >> 10);
		doctor_advise(r, "stop other programs, or lower vm.nr_hugepages");
	}
}

static void run_balancing(const struct doctor_host *p, const struct doctor_check *c,
			  struct doctor_result *r)
{
	static const char file[] = "/proc/sys/kernel/numa_balancing";
	int64_t on;

	if (doctor_read_number(p, &on, "%s", file) < 0 || on == 0 || doctor_n_polling(p) == 0) {
		doctor_report(r, DOCTOR_PASS,
			      "the kernel does not migrate memory between NUMA nodes");
		return;
	}
	doctor_report(
		r, DOCTOR_WARN,
		"%s is %lld: the kernel migrates memory between NUMA nodes and stalls polling "
		"workers",
		file, (long long)on);
	doctor_advise(r, "sysctl -w kernel.numa_balancing=0");
}

/* ---- limits of the agent's process ---- */

/* Reads the soft limit from a line such as "Max locked memory unlimited unlimited bytes". Returns
 * 0, or -ENOENT if there is no such line. */
static int find_limit(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);

	if (!at)
		return -ENOENT;
	at += strlen(name);
	at += strspn(at, " ");
	*ret = strncmp(at, "unlimited", strlen("unlimited")) == 0 ? UINT64_MAX
								  : strtoull(at, NULL, 10);
	return 0;
}

static int agent_limit(const struct doctor_host *p, const char *name, struct doctor_result *r,
		       uint64_t *ret)
{
	char path[64];
	autofree char *text = NULL;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/limits", doctor_agent_pid(p));
	text = doctor_read_all(p, path);
	if (text && find_limit(text, name, ret) >= 0)
		return 0;
	doctor_report(r, DOCTOR_UNKNOWN, "limit '%s' of the agent cannot be read", path);
	return -ENOENT;
}

/* Returns whether a worker locks memory, because it registers the memory with a device. */
static bool locks_memory(const struct doctor_host *p)
{
	for (size_t i = 0; p->plan && i < p->plan->n_workers; i++) {
		const struct plan_worker *w = &p->plan->workers[i];

		if (w->hugepages > 0)
			return true;
		for (size_t j = 0; j < w->n_ports; j++)
			if (w->ports[j].rdma && p->inv->n_rdma > 0)
				return true;
	}
	return !p->plan;
}

static void run_memlock(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	uint64_t limit;

	if (agent_limit(p, "Max locked memory", r, &limit) < 0)
		return;
	if (limit == UINT64_MAX) {
		doctor_report(r, DOCTOR_PASS, "the agent may lock unlimited memory");
		return;
	}
	if (!locks_memory(p)) {
		doctor_report(r, DOCTOR_NOTE,
			      "the agent and its workers may lock only %" PRIu64
			      " KiB of memory, which suffices without VFIO and RDMA",
			      limit >> 10);
		return;
	}
	doctor_report(r, DOCTOR_WARN,
		      "the agent and its workers may lock only %" PRIu64
		      " KiB of memory; VFIO and RDMA need more for their buffers",
		      limit >> 10);
	doctor_advise(r, "set LimitMEMLOCK=infinity under [Service] in 'systemctl edit plenumd', "
			 "then systemctl restart plenumd");
}

static void run_files(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	uint64_t limit;

	if (agent_limit(p, "Max open files", r, &limit) < 0)
		return;
	if (limit >= FILES_MIN) {
		doctor_report(r, DOCTOR_PASS, "the agent may have %" PRIu64 " open files", limit);
		return;
	}
	doctor_report(r, DOCTOR_WARN,
		      "the agent and its workers may have only %" PRIu64 " open files", limit);
	doctor_advise(r, "set LimitNOFILE=1048576 under [Service] in 'systemctl edit plenumd', "
			 "then systemctl restart plenumd");
}

/* Returns the smallest limit of a control group and its parents, or UINT64_MAX if no group has a
 * limit. *ret_group: the group that has the smallest limit. */
static uint64_t group_limit(const struct doctor_host *p, const char *group, const char *file,
			    char ret_group[static GROUP_MAX])
{
	char path[GROUP_MAX], text[32];
	uint64_t least = UINT64_MAX, n;
	char *slash;

	snprintf(path, sizeof(path), "%s", group);
	for (;;) {
		if (doctor_read(p, text, sizeof(text), "/sys/fs/cgroup%s/%s", path, file) >= 0 &&
		    text[0] >= '0' && text[0] <= '9' && (n = strtoull(text, NULL, 10)) < least) {
			least = n;
			snprintf(ret_group, GROUP_MAX, "%s", path);
		}
		slash = strrchr(path, '/');
		if (!slash || slash == path)
			return least;
		*slash = '\0';
	}
}

static void check_group_memory(const struct doctor_host *p, const char *group, const char *file,
			       const char *key, struct doctor_result *r)
{
	const uint64_t need = GROUP_MIB_EACH * (p->plan->n_workers + 1);
	char whose[GROUP_MAX] = "";
	const uint64_t has = group_limit(p, group, file, whose) >> 20;

	if (has >= need)
		return;
	doctor_report(r, DOCTOR_WARN,
		      "control group %.120s limits memory to %" PRIu64
		      " MiB (%s), but the agent and its workers may need %" PRIu64
		      " MiB; the kernel would then kill them or slow them down",
		      whose, has, key, need);
	doctor_advise(r,
		      "set %s=infinity under [Service] in 'systemctl edit plenumd', then systemctl "
		      "restart plenumd",
		      key);
}

/* Reports if the control group does not allow the use of huge pages, or if its memory limit would
 * kill workers. */
static void run_group(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	char group[GROUP_MAX], whose[GROUP_MAX] = "", path[64];
	autofree char *text = NULL;
	const char *at;
	uint64_t pages = 0, has;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/cgroup", doctor_agent_pid(p));
	text = doctor_read_all(p, path);
	at = text ? strstr(text, "0::/") : NULL;
	if (!at) {
		doctor_report(r, DOCTOR_UNKNOWN, "%s names no control group of version 2", path);
		return;
	}
	snprintf(group, sizeof(group), "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
	for (size_t i = 0; i < p->plan->n_workers; i++)
		pages += p->plan->workers[i].hugepages;
	has = group_limit(p, group, "hugetlb.2MB.max", whose);
	if (has < pages * PLAN_HUGEPAGE_KIB << 10) {
		doctor_report(r, DOCTOR_FAIL,
			      "control group %.120s limits huge pages to %" PRIu64
			      " MiB, but DPDK workers need %" PRIu64,
			      whose, has >> 20, pages * PLAN_HUGEPAGE_KIB >> 10);
		doctor_advise(r, "echo max >/sys/fs/cgroup%s/hugetlb.2MB.max", whose);
	}
	check_group_memory(p, group, "memory.max", "MemoryMax", r);
	check_group_memory(p, group, "memory.high", "MemoryHigh", r);
	doctor_report(r, DOCTOR_PASS, "the limits of control group %.120s suffice for all workers",
		      group);
}

static const struct doctor_check checks[] = {
	{"memory-hugepages", "There are enough huge pages for all DPDK workers", DOCTOR_NEEDS_PLAN,
	 run_hugepages, NULL},
	{"memory-hugepages-node", "Each NUMA node has enough huge pages for its workers",
	 DOCTOR_NEEDS_PLAN, run_hugepages_node, NULL},
	{"memory-available", "There is memory left for programs", 0, run_available, NULL},
	{"memory-numa-balancing", "The kernel does not migrate memory of polling workers",
	 DOCTOR_NEEDS_PLAN, run_balancing, NULL},
	{"memory-locked", "Workers may lock enough memory", DOCTOR_NEEDS_AGENT, run_memlock, NULL},
	{"memory-group", "The control group's limits suffice for all workers",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_AGENT, run_group, NULL},
	{"memory-files", "Workers may open enough files", DOCTOR_NEEDS_AGENT, run_files, NULL},
};

const struct doctor_subject doctor_memory = DOCTOR_SUBJECT("memory", checks);
