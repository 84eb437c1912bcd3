/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts DPDK's environment, once per process for all legs, and builds its arguments.
 */
#include "dataplane/port/dpdk/port_dpdk.h"
#include "dataplane/port/dpdk/port_dpdk_drivers.h"
#include "netcfg/base/log.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#define ARGS_MAX (20 + 2 * LAUNCH_PORTS_MAX)
#define ARG_BYTES 80
/* A worker that can also use ordinary pages leaves this much free hugepage memory to workers that
 * cannot. */
#define HUGE_MIB_MIN 64U
/* Minimum memory in MiB on a host without hugepages; the kernel allocates a page only when the page
 * is used. */
#define PLAIN_MIB_MIN 128U

uint32_t port_dpdk_memory_mib(const struct launch_config *cfg, unsigned index)
{
	uint32_t planned = launch_dpdk_mib(cfg), own = plenum_dpdk_port_mib(cfg->ports[index].mtu);

	return (MAX_OF(planned, HUGE_MIB_MIN) - PLENUM_DPDK_MIB) * own /
	       (planned - PLENUM_DPDK_MIB);
}

/* Returns the total size of all free hugepages in bytes. */
static uint64_t hugepages_free_bytes(void)
{
	DIR *dir = opendir("/sys/kernel/mm/hugepages");
	uint64_t total = 0;
	struct dirent *e;

	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		unsigned long long kib, pages = 0;
		char path[320];
		FILE *f;

		if (sscanf(e->d_name, "hugepages-%llukB", &kib) != 1)
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/free_hugepages",
			 e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%llu", &pages) == 1)
			total += (kib << 10) * pages;
		fclose(f);
	}
	closedir(dir);
	return total;
}

struct eal_args {
	char text[ARGS_MAX][ARG_BYTES];
	char *argv[ARGS_MAX + 1];
	int n;
};

static void arg_add(struct eal_args *a, const char *text)
{
	if (a->n == ARGS_MAX)
		return;
	snprintf(a->text[a->n], ARG_BYTES, "%s", text);
	a->argv[a->n] = a->text[a->n];
	a->argv[++a->n] = NULL;
}

/* Makes DPDK's arguments. With --in-memory, DPDK creates no files, so no files remain however the
 * worker ends. DPDK refuses this option without hugepages, but then --no-huge has the same
 * effect. */
static void args_make(const struct launch_config *cfg, bool hugepages, struct eal_args *a)
{
	char lcores[32], mib[16];
	bool any_pci = false;

	snprintf(mib, sizeof(mib), "%u", MAX_OF(2 * launch_dpdk_mib(cfg), PLAIN_MIB_MIN));
	snprintf(lcores, sizeof(lcores), "0@%u", cfg->core);
	arg_add(a, "plenum-worker");
	arg_add(a, hugepages ? "--in-memory" : "--no-shconf");
	arg_add(a, "--no-telemetry");
	arg_add(a, "--log-level=4");
	arg_add(a, "--lcores");
	arg_add(a, lcores);
	for (unsigned i = 0; i < cfg->n_ports; i++) {
		struct port_dpdk_device dev;

		port_dpdk_device_choose(&cfg->ports[i], i, &dev);
		if (!dev.is_pci)
			continue;
		any_pci = true;
		arg_add(a, "-a");
		arg_add(a, dev.name);
	}
	if (!any_pci)
		arg_add(a, "--no-pci");
	if (!hugepages) {
		arg_add(a, "--no-huge");
		arg_add(a, "-m");
		arg_add(a, mib);
	}
}

/* Returns whether the worker needs hugepages. A port that copies packets itself, for example one on
 * kernel sockets, only needs ordinary pages, because no device accesses the memory. */
static bool wants_hugepages(const struct launch_config *cfg)
{
	for (unsigned i = 0; i < cfg->n_ports; i++) {
		struct port_dpdk_device dev;

		port_dpdk_device_choose(&cfg->ports[i], i, &dev);
		if (dev.is_pci)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ during the start */

static struct port_early_all early;

/* Begins the early address probes. If several ports share an address, only the active one probes
 * it. */
static void early_begin(const struct launch_config *cfg)
{
	port_early_init(&early);
	for (unsigned i = 0; i < cfg->n_ports && !cfg->failover; i++) {
		const struct launch_port *lp = &cfg->ports[i];

		if (!lp->shared && port_dpdk_device_is_interface(lp))
			port_early_add(&early, lp, i);
	}
	port_early_begin(&early);
}

void port_dpdk_eal_early(unsigned index, struct port_early *ret)
{
	*ret = early.asks[index];
	early.asks[index].fd = -1;
}

static int environment_start(const struct launch_config *cfg, struct eal_args *a,
			     struct reason *why)
{
	int r;

	early_begin(cfg);
	if (port_dpdk_drivers_load(cfg))
		port_dpdk_drivers_hide();
	rte_openlog_stream(stderr);
	r = rte_eal_init(a->n, a->argv) < 0 ? rte_errno ? -rte_errno : -EIO : 0;
	port_early_wait(&early); /* wait for the thread, because otherwise it would keep its
				    privileges */
	for (unsigned i = 0; r < 0 && i < ARRAY_SIZE(early.asks); i++)
		port_early_done(&early.asks[i]);
	if (r < 0)
		reason_set_text(why, "DPDK cannot start on core %u: %s", cfg->core,
				rte_strerror(-r));
	return r;
}

int port_dpdk_eal_start(const struct launch_config *cfg, struct reason *why)
{
	static bool started;
	int r;
	struct eal_args a = {.n = 0};
	bool wants = wants_hugepages(cfg), hugepages;

	if (started)
		return 0;
	hugepages = hugepages_free_bytes() >=
		    (wants ? 1 : (uint64_t)MAX_OF(launch_dpdk_mib(cfg), HUGE_MIB_MIN) << 20);
	if (!hugepages && wants) {
		reason_set_text(
			why,
			"no free hugepages: raise vm.nr_hugepages (%u pages of 2 MiB per worker)",
			MAX_OF(launch_dpdk_mib(cfg), HUGE_MIB_MIN) / 2);
		return -ENOMEM;
	}
	if (!hugepages)
		log_notice("no hugepages for DPDK: using ordinary pages");
	args_make(cfg, hugepages, &a);
	r = environment_start(cfg, &a, why);
	started = r == 0;
	return r;
}
