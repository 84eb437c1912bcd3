/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the workers' cores: no other program may use the cores of workers that poll. Cores that
 * do not exist are reported by the plan. */
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/linux/sysfs/sysfs.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

#define CORES_MAX 4096

/* Loops over the configured cores, including those for which no worker can be planned. */
#define EACH_CORE(p, i, j)                                \
	for (size_t i = 0; i < (p)->spec->n_workers; i++) \
		for (size_t j = 0; j < (p)->spec->workers[i].n_cores; j++)

/* Reads the affinity of the agent's process, which limits its cores if there is no cpuset
 * controller. */
static int read_affinity(const struct doctor_host *p, json_int_t pid, bool *set, char *file,
			 size_t size)
{
	static const char key[] = "Cpus_allowed_list:";
	autofree char *text = NULL;
	char *at;

	snprintf(file, size, "/proc/%" JSON_INTEGER_FORMAT "/status", pid);
	text = doctor_read_all(p, file);
	at = text ? strstr(text, key) : NULL;
	if (!at)
		return -ENOENT;
	at += sizeof(key) - 1;
	at += strspn(at, " \t");
	at[strcspn(at, "\n")] = '\0';
	memset(set, 0, CORES_MAX * sizeof(*set));
	return sysfs_parse_list(at, set, CORES_MAX);
}

/* Reads the cores that the agent and its workers may use: those of its control group, or of the
 * nearest parent that restricts them. Returns 0 or negative errno. */
static int read_allowed(const struct doctor_host *p, bool *set, char *file, size_t size)
{
	char path[64], group[256];
	autofree char *text = NULL;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/cgroup", doctor_agent_pid(p));
	text = doctor_read_all(p, path);
	at = text ? strstr(text, "0::/") : NULL;
	snprintf(group, sizeof(group), "%.*s", at ? (int)strcspn(at + 3, "\n") : 0,
		 at ? at + 3 : "");
	for (char *slash = group; slash; *slash = '\0') {
		snprintf(file, size, "/sys/fs/cgroup%s/cpuset.cpus.effective",
			 strcmp(group, "/") == 0 ? "" : group);
		if (doctor_read_list(p, set, CORES_MAX, file) == 0)
			return 0;
		slash = strrchr(group, '/');
		if (!slash)
			break;
	}
	return read_affinity(p, doctor_agent_pid(p), set, file, size);
}

static void run_allowed(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	bool set[CORES_MAX];
	char file[320] = "";

	if (read_allowed(p, set, file, sizeof(file)) < 0) {
		doctor_report(r, DOCTOR_UNKNOWN, "the cores that the agent may use cannot be read");
		return;
	}
	EACH_CORE(p, i, j)
	{
		const unsigned core = p->spec->workers[i].cores[j];

		if (core < CORES_MAX && set[core])
			continue;
		doctor_report(r, DOCTOR_WARN, "the agent may not use core %u: see %s", core, file);
		doctor_advise(r, "add the core to the cpuset of the agent's container or slice "
				 "(AllowedCPUs= of the unit)");
	}
	doctor_report(r, DOCTOR_PASS, "the agent may use all cores of workers");
}

/* Reports workers whose affinity is not exactly their core. The agent undoes a change by another
 * program within seconds, unless the core is offline or outside the worker's cpuset. */
static void run_used(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	const json_t *process;
	size_t i;

	json_array_foreach (json_object_get(p->processes, "processes"), i, process) {
		const json_t *core = json_object_get(process, "core");
		const json_int_t pid = json_integer_value(json_object_get(process, "pid"));
		bool set[CORES_MAX];
		char file[64];
		size_t n = 0;

		if (!json_is_integer(core) || pid <= 0)
			continue;
		if (read_affinity(p, pid, set, file, sizeof(file)) < 0) {
			doctor_report(r, DOCTOR_UNKNOWN, "%s cannot be read", file);
			continue;
		}
		for (size_t k = 0; k < CORES_MAX; k++)
			n += set[k];
		if (n == 1 && json_integer_value(core) >= 0 &&
		    json_integer_value(core) < CORES_MAX && set[json_integer_value(core)])
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "the worker of core %" JSON_INTEGER_FORMAT
			      " (process %" JSON_INTEGER_FORMAT
			      ") may run on other cores: another program has changed its CPU "
			      "affinity, or its cpuset has lost the core",
			      json_integer_value(core), pid);
		doctor_advise(r,
			      "taskset -pc %" JSON_INTEGER_FORMAT " %" JSON_INTEGER_FORMAT
			      "; if taskset fails, add the core to the cpuset, or write another "
			      "core under 'workers'",
			      json_integer_value(core), pid);
	}
	doctor_report(r, DOCTOR_PASS, "all workers run on their own cores");
}

static bool core_is_polled(const struct doctor_host *p, unsigned core)
{
	for (size_t i = 0; p->plan && i < p->plan->n_workers; i++)
		if (p->plan->workers[i].core == core && doctor_worker_polls(&p->plan->workers[i]))
			return true;
	return false;
}

static void run_zero(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	EACH_CORE(p, i, j)
	{
		if (p->spec->workers[i].cores[j] != 0)
			continue;
		if (p->plan && !core_is_polled(p, 0)) {
			doctor_report(
				r, DOCTOR_NOTE,
				"workers[%zu] shares core 0 with the kernel, as its transport "
				"allows",
				i);
			continue;
		}
		doctor_report(r, DOCTOR_WARN,
			      "workers[%zu] uses core 0, which the kernel needs for itself", i);
		doctor_advise(r, "choose another core in workers[%zu].cores", i);
	}
	doctor_report(r, DOCTOR_PASS, "no worker uses core 0");
}

/* ---- polling cores ---- */

/* Reports each polling core that is missing from the list. */
static void check_listed(const struct doctor_host *p, struct doctor_result *r, const bool *set,
			 const char *what, const char *args)
{
	size_t n = 0;

	for (size_t i = 0; i < p->plan->n_workers; i++) {
		const struct plan_worker *w = &p->plan->workers[i];

		if (!doctor_worker_polls(w))
			continue;
		n++;
		if (w->core < CORES_MAX && set[w->core])
			continue;
		doctor_report(r, DOCTOR_WARN, "core %u, which a worker polls, is not %s", w->core,
			      what);
		doctor_advise(r, "add %s%u to the kernel's command line, then reboot", args,
			      w->core);
	}
	if (n)
		doctor_report(r, DOCTOR_PASS, "all polling cores are %.*s", (int)strcspn(what, ":"),
			      what);
	else
		doctor_report(r, DOCTOR_PASS, "no worker polls a core");
}

static void run_isolated(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	bool set[CORES_MAX] = {false};

	for (size_t i = 0; i < p->inv->n_cores; i++)
		if (p->inv->cores[i].id < CORES_MAX)
			set[p->inv->cores[i].id] = p->inv->cores[i].isolated;
	check_listed(p, r, set, "isolated: the scheduler runs other programs there",
		     "isolcpus=domain,managed_irq,");
}

static void run_nohz(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	static const char file[] = "/sys/devices/system/cpu/nohz_full";
	bool set[CORES_MAX];
	char text[64] = "";

	/* The file is absent if the kernel does not support nohz_full. If no core is isolated, the
	 * file is empty or contains "(null)". */
	doctor_read(p, text, sizeof(text), "%s", file);
	if (doctor_read_list(p, set, CORES_MAX, file) < 0 && text[0] != '(' &&
	    doctor_n_polling(p) > 0) {
		doctor_report(r, DOCTOR_UNKNOWN, "this kernel has no file %s", file);
		return;
	}
	check_listed(p, r, set, "free of the scheduler's tick", "nohz_full=");
}

/* Reports interrupts of devices that a polling core handles. An interrupt that has never occurred
 * has no effective target. */
static void check_interrupt(const struct doctor_host *p, const bool *polls, const char *irq,
			    struct doctor_result *r)
{
	bool set[CORES_MAX];
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%.16s/effective_affinity_list", irq);
	if (doctor_read_list(p, set, CORES_MAX, path) < 0)
		return;
	for (unsigned i = 0; i < CORES_MAX; i++) {
		if (!set[i] || !polls[i])
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "interrupt %s is served by core %u, which a worker polls", irq, i);
		doctor_advise(r, "echo 0 >/proc/irq/%s/smp_affinity_list", irq);
	}
}

static void run_interrupts(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	bool polls[CORES_MAX] = {false};
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *dir;

	for (size_t i = 0; i < p->plan->n_workers; i++)
		if (doctor_worker_polls(&p->plan->workers[i]) &&
		    p->plan->workers[i].core < CORES_MAX)
			polls[p->plan->workers[i].core] = true;
	snprintf(path, sizeof(path), "%s/proc/irq", p->root);
	dir = opendir(path);
	if (!dir) {
		doctor_report(r, DOCTOR_UNKNOWN, "/proc/irq cannot be read: %s", strerror(errno));
		return;
	}
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			check_interrupt(p, polls, e->d_name, r);
	closedir(dir);
	doctor_report(r, DOCTOR_PASS, "no device interrupt is served by a polling core");
}

/* Reads the cores that a configuration file of irqbalance keeps free of interrupts. Returns false
 * if the file has no such list. */
static bool read_banned(const struct doctor_host *p, const char *path, bool set[static CORES_MAX])
{
	static const char key[] = "IRQBALANCE_BANNED_CPULIST=";
	autofree char *text = doctor_read_all(p, path);
	char *rest = text;
	bool found = false;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		char *list = line + strlen(key);

		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		list += strspn(list, "\"'");
		list[strcspn(list, "\"' \t")] = '\0';
		memset(set, 0, CORES_MAX * sizeof(*set));
		found = *list && sysfs_parse_list(list, set, CORES_MAX) >= 0;
	}
	return found;
}

/* Without a list in its configuration, irqbalance leaves out isolated cores. */
static void run_irqbalance(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	bool banned[CORES_MAX] = {false};

	if (doctor_n_polling(p) == 0 || !doctor_process_runs(p, "irqbalance")) {
		doctor_report(r, DOCTOR_PASS, "irqbalance does not run, or no worker polls a core");
		return;
	}
	if (!read_banned(p, "/etc/default/irqbalance", banned) &&
	    !read_banned(p, "/etc/sysconfig/irqbalance", banned))
		for (size_t i = 0; i < p->inv->n_cores; i++)
			if (p->inv->cores[i].id < CORES_MAX)
				banned[p->inv->cores[i].id] = p->inv->cores[i].isolated;
	for (size_t i = 0; i < p->plan->n_workers; i++) {
		const struct plan_worker *w = &p->plan->workers[i];

		if (!doctor_worker_polls(w) || (w->core < CORES_MAX && banned[w->core]))
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "irqbalance runs and may move interrupts to core %u, which a worker "
			      "polls",
			      w->core);
		doctor_advise(r, "set IRQBALANCE_BANNED_CPULIST= to the workers' cores in "
				 "/etc/default/irqbalance, then restart irqbalance");
	}
	doctor_report(r, DOCTOR_PASS, "irqbalance leaves the polling cores alone");
}

static void run_governor(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	EACH_CORE(p, i, j)
	{
		const unsigned id = p->spec->workers[i].cores[j];
		char governor[32];

		if (doctor_read(p, governor, sizeof(governor),
				"/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", id) < 0) {
			doctor_report(r, DOCTOR_UNKNOWN,
				      "the kernel does not control the frequency of core %u (the "
				      "hypervisor or the firmware does)",
				      id);
		} else if (strcmp(governor, "performance") != 0) {
			doctor_report(
				r, DOCTOR_WARN,
				"the frequency governor of core %u is '%s', not 'performance'", id,
				governor);
			doctor_advise(r,
				      "echo performance "
				      ">/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor",
				      id);
		}
	}
	doctor_report(r, DOCTOR_PASS,
		      "the frequency governor of all workers' cores is 'performance'");
}

static void run_siblings(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	EACH_CORE(p, i, j)
	{
		const unsigned id = p->spec->workers[i].cores[j];
		bool set[CORES_MAX];
		char path[80];

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", id);
		if (doctor_read_list(p, set, CORES_MAX, path) < 0)
			continue;
		EACH_CORE(p, k, l)
		{
			const unsigned other = p->spec->workers[k].cores[l];

			if (other <= id || other >= CORES_MAX || !set[other])
				continue;
			doctor_report(r, DOCTOR_WARN,
				      "cores %u and %u are hardware threads of one core", id,
				      other);
			doctor_advise(r, "give workers only one hardware thread of each core "
					 "(workers[].cores)");
		}
	}
	doctor_report(r, DOCTOR_PASS, "no two workers share a core");
}

static void run_numa(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_workers; i++) {
		const struct plan_worker *w = &p->plan->workers[i];
		const int node = doctor_core_node(p, w->core);

		for (size_t j = 0; j < w->n_ports; j++) {
			const struct inv_link *l = inv_link_by_index(p->inv, w->ports[j].ifindex);

			if (!l || l->numa_node == INV_NUMA_NONE || node == INV_NUMA_NONE ||
			    l->numa_node == node)
				continue;
			doctor_report(r, DOCTOR_WARN,
				      "core %u is on NUMA node %d, its NIC %s on node %d", w->core,
				      node, l->name, l->numa_node);
			doctor_advise(r, "give the workers cores of NUMA node %d (workers[].cores)",
				      l->numa_node);
		}
	}
	doctor_report(r, DOCTOR_PASS, "workers and their NICs are on the same NUMA nodes");
}

static const struct doctor_check checks[] = {
	{"cores-allowed", "The agent may use all cores of workers",
	 DOCTOR_NEEDS_SPEC | DOCTOR_NEEDS_AGENT, run_allowed, NULL},
	{"cores-used", "Workers run on their own cores", DOCTOR_NEEDS_AGENT, run_used, NULL},
	{"cores-zero", "No worker uses core 0", DOCTOR_NEEDS_SPEC, run_zero, NULL},
	{"cores-isolated", "Polling cores are isolated", DOCTOR_NEEDS_PLAN, run_isolated, NULL},
	{"cores-tick", "Polling cores are free of the scheduler's tick", DOCTOR_NEEDS_PLAN,
	 run_nohz, NULL},
	{"cores-interrupts", "Polling cores serve no device interrupts", DOCTOR_NEEDS_PLAN,
	 run_interrupts, NULL},
	{"cores-irqbalance", "No program moves interrupts to polling cores", DOCTOR_NEEDS_PLAN,
	 run_irqbalance, NULL},
	{"cores-governor", "The workers' cores run at full frequency", DOCTOR_NEEDS_SPEC,
	 run_governor, NULL},
	{"cores-siblings", "No two workers share a core's hardware threads", DOCTOR_NEEDS_SPEC,
	 run_siblings, NULL},
	{"cores-numa", "Workers are on the NUMA nodes of their NICs", DOCTOR_NEEDS_PLAN, run_numa,
	 NULL},
};

const struct doctor_subject doctor_cores = DOCTOR_SUBJECT("cores", checks);
