/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the cores of workers: that nothing else uses those that poll. Whether they are there is
 * the plan's to say. */
#include "agent/ctl/doctor/doctor.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

#define CORES_MAX 4096

static const struct inv_core *find_core(const struct doctor_picture *p, unsigned id)
{
	for (size_t i = 0; i < p->inv->n_cores; i++)
		if (p->inv->cores[i].id == id)
			return &p->inv->cores[i];
	return NULL;
}

/* Each core of the configuration, whether a worker can be planned for it or not. */
#define EACH_CORE(p, i, j)                                \
	for (size_t i = 0; i < (p)->spec->n_workers; i++) \
		for (size_t j = 0; j < (p)->spec->workers[i].n_cores; j++)

static void run_allowed(const struct doctor_picture *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	EACH_CORE(p, i, j)
	{
		const struct inv_core *core = find_core(p, p->spec->workers[i].cores[j]);

		if (!core || !core->barred)
			continue;
		doctor_say(r, DOCTOR_WARN, "core %u is not in the cpuset of whoever looks",
			   core->id);
		doctor_advise(r, "add it to the cpuset of this container or slice "
				 "(AllowedCPUs= of the unit)");
	}
	doctor_say(r, DOCTOR_PASS, "all cores of workers may be used");
}

static void run_zero(const struct doctor_picture *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	EACH_CORE(p, i, j)
	{
		if (p->spec->workers[i].cores[j] != 0)
			continue;
		doctor_say(r, DOCTOR_WARN,
			   "workers[%zu] has core 0, which the kernel needs for itself", i);
		doctor_advise(r, "name another core in workers[%zu].cores", i);
	}
	doctor_say(r, DOCTOR_PASS, "no worker is on core 0");
}

/* ---- cores that poll ---- */

/* Says it of each polling core that is not in the list. */
static void say_outside(const struct doctor_picture *p, struct doctor_result *r, const bool *set,
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
		doctor_say(r, DOCTOR_WARN, "core %u, on which a worker polls, is not %s", w->core,
			   what);
		doctor_advise(r, "add %s%u to the kernel's command line, then reboot", args,
			      w->core);
	}
	doctor_say(r, DOCTOR_PASS, n ? "all cores that poll are" : "no worker polls a core");
}

static void run_isolated(const struct doctor_picture *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	bool set[CORES_MAX] = {false};

	for (size_t i = 0; i < p->inv->n_cores; i++)
		if (p->inv->cores[i].id < CORES_MAX)
			set[p->inv->cores[i].id] = p->inv->cores[i].isolated;
	say_outside(p, r, set, "isolated: other programs are run there",
		    "isolcpus=domain,managed_irq,");
}

static void run_nohz(const struct doctor_picture *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	static const char file[] = "/sys/devices/system/cpu/nohz_full";
	bool set[CORES_MAX];
	char text[64] = "";

	/* A kernel without it has no file; one without such cores says so, or "(null)". */
	doctor_read(p, text, sizeof(text), "%s", file);
	if (doctor_read_list(p, set, CORES_MAX, file) < 0 && text[0] != '(' &&
	    doctor_n_polling(p) > 0) {
		doctor_say(r, DOCTOR_UNKNOWN, "this kernel has no %s", file);
		return;
	}
	say_outside(p, r, set, "free of the timer's tick", "nohz_full=");
}

/* Interrupts of devices whose target is a polling core. Those that never came are let be. */
static void look_at_interrupt(const struct doctor_picture *p, const bool *polls, const char *irq,
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
		doctor_say(r, DOCTOR_WARN, "interrupt %s is served by core %u, which polls", irq,
			   i);
		doctor_advise(r, "echo 0 >/proc/irq/%s/smp_affinity_list", irq);
	}
}

static void run_interrupts(const struct doctor_picture *p, const struct doctor_check *c,
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
		doctor_say(r, DOCTOR_UNKNOWN, "/proc/irq cannot be read: %s", strerror(errno));
		return;
	}
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			look_at_interrupt(p, polls, e->d_name, r);
	closedir(dir);
	doctor_say(r, DOCTOR_PASS, "no interrupt of a device goes to a core that polls");
}

static void run_irqbalance(const struct doctor_picture *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	if (doctor_n_polling(p) == 0 || !doctor_process_runs(p, "irqbalance")) {
		doctor_say(r, DOCTOR_PASS, "irqbalance does not run, or no worker polls a core");
		return;
	}
	doctor_say(r, DOCTOR_WARN, "irqbalance runs, and may give interrupts to cores that poll");
	doctor_advise(r, "write IRQBALANCE_BANNED_CPULIST= with the cores of workers into "
			 "/etc/default/irqbalance, then restart it");
}

static void run_governor(const struct doctor_picture *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	EACH_CORE(p, i, j)
	{
		const unsigned id = p->spec->workers[i].cores[j];
		char governor[32];

		if (doctor_read(p, governor, sizeof(governor),
				"/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", id) < 0) {
			doctor_say(r, DOCTOR_UNKNOWN,
				   "the kernel does not steer the frequency of core %u (a virtual "
				   "machine, or the firmware does)",
				   id);
		} else if (strcmp(governor, "performance") != 0) {
			doctor_say(r, DOCTOR_WARN, "core %u is steered by '%s'", id, governor);
			doctor_advise(r,
				      "echo performance "
				      ">/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor",
				      id);
		}
	}
	doctor_say(r, DOCTOR_PASS, "all cores of workers are steered by 'performance'");
}

static void run_siblings(const struct doctor_picture *p, const struct doctor_check *c,
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
			doctor_say(r, DOCTOR_WARN, "cores %u and %u are threads of one core", id,
				   other);
			doctor_advise(r, "give workers one thread of each core only "
					 "(workers[].cores)");
		}
	}
	doctor_say(r, DOCTOR_PASS, "no two workers share a core");
}

static void run_numa(const struct doctor_picture *p, const struct doctor_check *c,
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
			doctor_say(r, DOCTOR_WARN, "core %u is on NUMA node %d, %s on node %d",
				   w->core, node, l->name, l->numa_node);
			doctor_advise(r, "give the workers cores of node %d (workers[].cores)",
				      l->numa_node);
		}
	}
	doctor_say(r, DOCTOR_PASS, "workers and their legs are on the same NUMA nodes");
}

static const struct doctor_check checks[] = {
	{"cores-allowed", "All cores of workers are in the cpuset",
	 DOCTOR_WANTS_SPEC | DOCTOR_WANTS_INVENTORY, run_allowed, NULL},
	{"cores-zero", "No worker is on core 0", DOCTOR_WANTS_SPEC, run_zero, NULL},
	{"cores-isolated", "Cores that poll are isolated", DOCTOR_WANTS_PLAN, run_isolated, NULL},
	{"cores-tick", "Cores that poll are free of the timer's tick", DOCTOR_WANTS_PLAN, run_nohz,
	 NULL},
	{"cores-interrupts", "Cores that poll serve no interrupts", DOCTOR_WANTS_PLAN,
	 run_interrupts, NULL},
	{"cores-irqbalance", "Nobody moves interrupts to cores that poll", DOCTOR_WANTS_PLAN,
	 run_irqbalance, NULL},
	{"cores-governor", "Cores of workers run at their full frequency", DOCTOR_WANTS_SPEC,
	 run_governor, NULL},
	{"cores-siblings", "No two workers are threads of one core", DOCTOR_WANTS_SPEC,
	 run_siblings, NULL},
	{"cores-numa", "Workers are on the NUMA nodes of their legs", DOCTOR_WANTS_PLAN, run_numa,
	 NULL},
};

const struct doctor_subject doctor_cores = DOCTOR_SUBJECT("cores", checks);
