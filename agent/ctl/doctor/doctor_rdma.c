/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of RDMA on each leg. They use the workers' reports, because only workers know whether RDMA
 * works between two hosts. doctor_vfs.c checks the devices.
 */
#include "agent/ctl/doctor/doctor.h"
#include "netcfg/base/version.h"

#include <string.h>

/* The codes that workers report (see plenumd(8)), with the finding and the remedy for each. A check
 * looks for the code of its row. */
static const struct row {
	const char *code;
	enum doctor_state state;
	const char *says, *remedy;
} rows[] = {
	{"rdma-kinds-differ", DOCTOR_FAIL,
	 "a peer has another kind of RDMA (InfiniBand, Ethernet, or another version of RoCE)",
	 "compare 'plenum rdma devices' on both hosts, and set the same roce-mode on all hosts of "
	 "the "
	 "cluster; or turn RDMA off: plenum net set LEG --rdma-off"},
	{"rdma-mixed", DOCTOR_FAIL,
	 "some servers have RDMA over InfiniBand and some over Ethernet: RDMA is off for both",
	 "compare 'plenum rdma devices' on the servers, and use one kind of fabric; or turn RDMA "
	 "off "
	 "on the legs of one kind: plenum net set LEG --rdma-off"},
	{"rdma-memlock", DOCTOR_WARN, "the worker's memory cannot be registered for RDMA",
	 "prlimit --memlock=unlimited --pid PID, where PID is the worker's; LimitMEMLOCK=infinity "
	 "in plenumd.service for later workers"},
	{"rdma-failed", DOCTOR_WARN, "queue pairs with a peer fail",
	 "plenum rdma ping PEER; let UDP port 4791 pass, and check flow control and MTU of the "
	 "leg's switch"},
	{"rdma-peer-without", DOCTOR_WARN, "a server offers no RDMA",
	 "plenum doctor and plenum rdma devices on the servers of this host's mounts"},
	{"rdma-iwarp", DOCTOR_WARN, "the leg's device is an iWARP device, which is not supported",
	 "plenum net set LEG --rdma-off; or switch the NIC to RoCE (irdma: devlink dev param set "
	 "PCI name enable_roce value true cmode runtime)"},
	{"rdma-mtu-below", DOCTOR_WARN,
	 "the RDMA port carries packets with less than 512 bytes of RDMA data",
	 "raise the MTU of the leg, or of the InfiniBand partition in the subnet manager"},
	{"rdma-device-gone", DOCTOR_WARN, "the RDMA device was removed",
	 "plenum rdma devices; dmesg; rdma link show"},
};

/* Returns leg number n of all legs of all workers, with its name, reason and GPU support, or NULL
 * if there are no more. */
static const json_t *leg_at(const struct doctor_host *p, size_t n, json_int_t *ret_worker)
{
	const json_t *all = json_object_get(p->processes, "processes"), *worker;
	size_t i;

	json_array_foreach (all, i, worker) {
		const json_t *legs = json_object_get(worker, "rdma");

		*ret_worker = json_integer_value(json_object_get(worker, "id"));
		if (n < json_array_size(legs))
			return json_array_get(legs, n);
		n -= json_array_size(legs);
	}
	return NULL;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void run_reason(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	const struct row *row = rows;
	const json_t *leg;
	json_int_t worker;

	while (strcmp(row->code, c->about) != 0)
		row++;
	for (size_t i = 0; (leg = leg_at(p, i, &worker)); i++) {
		if (strcmp(text_of(leg, "reason"), row->code) != 0)
			continue;
		doctor_report(r, row->state,
			      "bulk data of worker %" JSON_INTEGER_FORMAT
			      " do not use RDMA on leg %.63s: %s",
			      worker, text_of(leg, "leg"), row->says);
		doctor_advise(r, "%s", row->remedy);
	}
	doctor_report(r, DOCTOR_PASS, "no worker reports this problem");
}

/* ---- memory of GPUs ---- */

static const char *gpu_driver(const struct doctor_host *p)
{
	static const char *const drivers[] = {"nvidia", "amdgpu", "xe"};

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (doctor_exists(p, "/sys/module/%s", drivers[i]))
			return drivers[i];
	return NULL;
}

/* Only hosts with GPUs need this check; other hosts pass. */
static void run_gpu(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	const char *driver = gpu_driver(p);
	const json_t *leg;
	json_int_t worker;

	if (!driver) {
		doctor_report(r, DOCTOR_PASS, "no GPU driver is loaded");
		return;
	}
	for (size_t i = 0; (leg = leg_at(p, i, &worker)); i++) {
		if (strcmp(text_of(leg, "gpu"), "gpu-not-supported") != 0)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "%s is loaded, but the RDMA device of leg %.63s cannot access GPU "
			      "memory: its driver or this kernel does not support dma-buf",
			      driver, text_of(leg, "leg"));
		doctor_advise(r, "%s",
			      strcmp(driver, "nvidia") == 0
				      ? "modprobe nvidia-peermem, or run Linux 5.12 or later with "
					"an RDMA driver that supports dma-buf (mlx5)"
				      : "run Linux 5.12 or later with an RDMA driver that supports "
					"dma-buf (mlx5)");
	}
	doctor_report(r, DOCTOR_PASS, "the RDMA devices of all legs can access GPU memory (%s)",
		      driver);
}

/* ---- the IOMMU ---- */

/* In strict mode the kernel maps each buffer separately and flushes the IOMMU after each one. */
static void run_iommu(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	char mode[32], kernel[64];

	/* Earlier kernels have the same name for the lazy mode. */
	if (doctor_read(p, kernel, sizeof(kernel), "/proc/sys/kernel/osrelease") >= 0 &&
	    version_is_older(kernel, "5.15")) {
		doctor_report(r, DOCTOR_UNKNOWN,
			      "Linux before 5.15 does not distinguish strict from lazy IOMMU mode");
		return;
	}
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);

		if (!l || !l->pci[0] ||
		    doctor_read(p, mode, sizeof(mode), "/sys/bus/pci/devices/%s/iommu_group/type",
				l->pci) < 0 ||
		    strcmp(mode, "DMA") != 0)
			continue;
		doctor_report(
			r, DOCTOR_WARN,
			"%s is behind an IOMMU in strict mode: each packet costs an IOMMU flush",
			l->name);
		doctor_advise(r, "boot with iommu=pt, or iommu.strict=0");
	}
	doctor_report(r, DOCTOR_PASS, "no leg's NIC is behind an IOMMU in strict mode");
}

static const struct doctor_check checks[] = {
	{"rdma-cluster", "All hosts have the same kind of RDMA", DOCTOR_NEEDS_AGENT, run_reason,
	 "rdma-kinds-differ"},
	{"rdma-mixed", "All servers have RDMA over InfiniBand, or all over Ethernet",
	 DOCTOR_NEEDS_AGENT, run_reason, "rdma-mixed"},
	{"rdma-peers", "The servers of mounts offer RDMA where this host has it",
	 DOCTOR_NEEDS_AGENT, run_reason, "rdma-peer-without"},
	{"rdma-pairs", "RDMA queue pairs with other hosts work", DOCTOR_NEEDS_AGENT, run_reason,
	 "rdma-failed"},
	{"rdma-memory", "The workers' memory can be registered for RDMA", DOCTOR_NEEDS_AGENT,
	 run_reason, "rdma-memlock"},
	{"rdma-mtu", "RDMA ports carry packets of at least 512 bytes", DOCTOR_NEEDS_AGENT,
	 run_reason, "rdma-mtu-below"},
	{"rdma-iwarp", "No leg has an iWARP device", DOCTOR_NEEDS_AGENT, run_reason, "rdma-iwarp"},
	{"rdma-gone", "No RDMA device was removed under a worker", DOCTOR_NEEDS_AGENT, run_reason,
	 "rdma-device-gone"},
	{"rdma-gpu", "RDMA devices can access GPU memory on hosts with GPUs", DOCTOR_NEEDS_AGENT,
	 run_gpu, NULL},
	{"iommu-mode", "No IOMMU slows the NICs of legs down", DOCTOR_NEEDS_PLAN, run_iommu, NULL},
};

const struct doctor_subject doctor_rdma = DOCTOR_SUBJECT("RDMA between hosts", checks);
