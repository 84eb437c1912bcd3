/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of RDMA as workers have it. Apart from doctor_vfs.c, which looks at devices: what becomes
 * of them between two hosts the workers alone know, and each says it leg by leg.
 */
#include "agent/ctl/doctor/doctor.h"
#include "netcfg/base/version.h"

#include <string.h>

/* What a worker's code of plenumd(8) means for the host. A check has the row that it names. */
static const struct row {
	const char *code;
	enum doctor_state state;
	const char *says, *remedy;
} rows[] = {
	{"rdma-kinds-differ", DOCTOR_FAIL,
	 "a peer has RDMA of another kind (InfiniBand, Ethernet, or another version of RoCE)",
	 "have all hosts of a cluster on one kind of fabric: plenum rdma devices on both; write "
	 "one roce-mode for all; or plenum net set LEG --rdma-off"},
	{"rdma-mixed", DOCTOR_FAIL,
	 "servers have RDMA by InfiniBand and by Ethernet, and none of them is had it with",
	 "have all servers of a cluster on one kind of fabric: plenum rdma devices on each; or "
	 "plenum net set LEG --rdma-off on the legs of one kind"},
	{"rdma-memlock", DOCTOR_WARN, "the worker's memory cannot be registered",
	 "prlimit --memlock=unlimited --pid PID, of the worker; LimitMEMLOCK=infinity in "
	 "plenumd.service for the next one"},
	{"rdma-failed", DOCTOR_WARN, "queue pairs with a peer fail",
	 "plenum rdma ping PEER; let UDP port 4791 pass, and look at flow control and MTU of the "
	 "leg's switch"},
	{"rdma-peer-without", DOCTOR_WARN, "a server has no RDMA for it",
	 "plenum doctor and plenum rdma devices on the servers of this host's mounts"},
	{"rdma-iwarp", DOCTOR_WARN, "its device is an iWARP one, which is not supported",
	 "plenum net set LEG --rdma-off; or have the NIC do RoCE (irdma: devlink dev param set "
	 "PCI name enable_roce value true cmode runtime)"},
	{"rdma-mtu-below", DOCTOR_WARN,
	 "its port carries packets of less than 512 bytes of RDMA data",
	 "raise the MTU of the leg, or of the InfiniBand partition in the subnet manager"},
	{"rdma-device-gone", DOCTOR_WARN, "its device was removed",
	 "plenum rdma devices; dmesg; rdma link show"},
};

/* The nth leg of all workers, with its leg, reason and gpu; NULL: there are no more. */
static const json_t *leg_at(const struct doctor_picture *p, size_t n, json_int_t *ret_worker)
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

static void run_reason(const struct doctor_picture *p, const struct doctor_check *c,
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
		doctor_say(r, row->state,
			   "bulk data of worker %" JSON_INTEGER_FORMAT
			   " do not go by RDMA of leg %.63s: %s",
			   worker, text_of(leg, "leg"), row->says);
		doctor_advise(r, "%s", row->remedy);
	}
	doctor_say(r, DOCTOR_PASS, "no worker says so");
}

/* ---- memory of GPUs ---- */

static const char *gpu_driver(const struct doctor_picture *p)
{
	static const char *const drivers[] = {"nvidia", "amdgpu", "xe"};

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (doctor_exists(p, "/sys/module/%s", drivers[i]))
			return drivers[i];
	return NULL;
}

/* Only who has GPUs misses anything. */
static void run_gpu(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	const char *driver = gpu_driver(p);
	const json_t *leg;
	json_int_t worker;

	if (!driver) {
		doctor_say(r, DOCTOR_PASS, "no driver of a GPU is loaded");
		return;
	}
	for (size_t i = 0; (leg = leg_at(p, i, &worker)); i++) {
		if (strcmp(text_of(leg, "gpu"), "gpu-not-supported") != 0)
			continue;
		doctor_say(r, DOCTOR_WARN,
			   "%s is loaded, and the RDMA device of leg %.63s takes no memory of "
			   "GPUs: its driver, or this kernel, knows no dma-buf",
			   driver, text_of(leg, "leg"));
		doctor_advise(r, "%s",
			      strcmp(driver, "nvidia") == 0
				      ? "modprobe nvidia-peermem, or run Linux 5.12 or later with "
					"an RDMA driver that takes dma-bufs (mlx5)"
				      : "run Linux 5.12 or later with an RDMA driver that takes "
					"dma-bufs (mlx5)");
	}
	doctor_say(r, DOCTOR_PASS, "no leg's RDMA device refuses memory of GPUs (%s)", driver);
}

/* ---- the IOMMU ---- */

/* What is sent and received is mapped anew each time, and the IOMMU told of it at once. */
static void run_iommu(const struct doctor_picture *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	char mode[32], kernel[64];

	/* Before, the lazy mode had the same name. */
	if (doctor_read(p, kernel, sizeof(kernel), "/proc/sys/kernel/osrelease") >= 0 &&
	    version_is_older(kernel, "5.15")) {
		doctor_say(r, DOCTOR_UNKNOWN, "Linux before 5.15 does not tell strict from lazy");
		return;
	}
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);

		if (!l || !l->pci[0] ||
		    doctor_read(p, mode, sizeof(mode), "/sys/bus/pci/devices/%s/iommu_group/type",
				l->pci) < 0 ||
		    strcmp(mode, "DMA") != 0)
			continue;
		doctor_say(r, DOCTOR_WARN,
			   "%s is behind an IOMMU in strict mode: each packet costs a call to it",
			   l->name);
		doctor_advise(r, "boot with iommu=pt, or iommu.strict=0");
	}
	doctor_say(r, DOCTOR_PASS, "no leg's NIC is behind an IOMMU in strict mode");
}

static const struct doctor_check checks[] = {
	{"rdma-cluster", "The RDMA of all hosts is of one kind", DOCTOR_WANTS_AGENT, run_reason,
	 "rdma-kinds-differ"},
	{"rdma-mixed", "No servers have InfiniBand where others have Ethernet", DOCTOR_WANTS_AGENT,
	 run_reason, "rdma-mixed"},
	{"rdma-peers", "The servers of mounts have RDMA where this host has it", DOCTOR_WANTS_AGENT,
	 run_reason, "rdma-peer-without"},
	{"rdma-pairs", "Queue pairs with other hosts work", DOCTOR_WANTS_AGENT, run_reason,
	 "rdma-failed"},
	{"rdma-memory", "The memory of workers can be registered", DOCTOR_WANTS_AGENT, run_reason,
	 "rdma-memlock"},
	{"rdma-mtu", "RDMA ports carry packets that are worth it", DOCTOR_WANTS_AGENT, run_reason,
	 "rdma-mtu-below"},
	{"rdma-iwarp", "No leg's RDMA is iWARP", DOCTOR_WANTS_AGENT, run_reason, "rdma-iwarp"},
	{"rdma-gone", "No RDMA device was removed under a worker", DOCTOR_WANTS_AGENT, run_reason,
	 "rdma-device-gone"},
	{"rdma-gpu", "RDMA devices take memory of GPUs, where there are any", DOCTOR_WANTS_AGENT,
	 run_gpu, NULL},
	{"iommu-mode", "No IOMMU slows the NICs of legs", DOCTOR_WANTS_PLAN, run_iommu, NULL},
};

const struct doctor_subject doctor_rdma = DOCTOR_SUBJECT("RDMA between hosts", checks);
