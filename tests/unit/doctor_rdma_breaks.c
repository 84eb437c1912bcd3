/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakages of RDMA between this host, other hosts and the switches between them. */
#include "netcfg/host/inventory_build.h"
#include "tests/unit/doctor_breaks.h"

/* ---- RDMA as reported by workers ---- */

static void worker_says(struct rig *g, size_t leg, const char *key, const char *code)
{
	json_t *worker = json_array_get(json_object_get(g->p.processes, "processes"), 1);

	json_object_set_new(json_array_get(json_object_get(worker, "rdma"), leg), key,
			    json_string(code));
}

static void kinds_differ(struct rig *g)
{
	worker_says(g, 1, "reason", "rdma-kinds-differ");
}

static void servers_are_mixed(struct rig *g)
{
	worker_says(g, 0, "reason", "rdma-mixed");
	worker_says(g, 1, "reason", "rdma-mixed");
}

static void peer_without(struct rig *g)
{
	worker_says(g, 0, "reason", "rdma-peer-without");
}

static void pairs_fail(struct rig *g)
{
	worker_says(g, 1, "reason", "rdma-failed");
}

static void memory_refused(struct rig *g)
{
	worker_says(g, 0, "reason", "rdma-memlock");
}

static void small_packets(struct rig *g)
{
	worker_says(g, 0, "reason", "rdma-mtu-below");
}

static void iwarp(struct rig *g)
{
	worker_says(g, 1, "reason", "rdma-iwarp");
}

static void device_removed(struct rig *g)
{
	worker_says(g, 0, "reason", "rdma-device-gone");
}

static void with_gpu(struct rig *g)
{
	rig_put(g, "/sys/module/nvidia/refcnt", "0\n");
}

static void gpu_refused(struct rig *g)
{
	worker_says(g, 0, "gpu", "gpu-not-supported");
}

static void on_pci(struct rig *g)
{
	inv_text_set(rig_link(g, HOST_VETH1)->pci, INV_TEXT_MAX, "0000:3b:00.1");
	rig_put(g, "/sys/bus/pci/devices/0000:3b:00.1/iommu_group/type", "DMA-FQ\n");
}

static void strict_iommu(struct rig *g)
{
	rig_put(g, "/sys/bus/pci/devices/0000:3b:00.1/iommu_group/type", "DMA\n");
}

/* ---- switches ---- */

static void with_pfc(struct rig *g)
{
	struct inv_dcb *d = inv_dcb_add(g->p.inv);

	d->ifindex = HOST_VETH1;
	inv_text_set(d->pfc, sizeof(d->pfc), "4");
}

static void switch_says(struct rig *g, const char *key, json_t *value)
{
	json_t *leg = json_array_get(json_object_get(g->p.net, "net"), 1);

	json_object_set_new(json_array_get(json_object_get(leg, "neighbours"), 1), key, value);
}

static void switch_pauses_other(struct rig *g)
{
	switch_says(g, "pfc", json_string("3"));
}

static void switch_takes_less(struct rig *g)
{
	switch_says(g, "max_frame_bytes", json_integer(8999));
}

const struct breakage doctor_rdma_breaks[] = {
	{"rdma-cluster", DOCTOR_FAIL, NULL, kinds_differ},
	{"rdma-mixed", DOCTOR_FAIL, NULL, servers_are_mixed},
	{"rdma-peers", DOCTOR_WARN, NULL, peer_without},
	{"rdma-pairs", DOCTOR_WARN, NULL, pairs_fail},
	{"rdma-memory", DOCTOR_WARN, NULL, memory_refused},
	{"rdma-mtu", DOCTOR_WARN, NULL, small_packets},
	{"rdma-iwarp", DOCTOR_WARN, NULL, iwarp},
	{"rdma-gone", DOCTOR_WARN, NULL, device_removed},
	{"rdma-gpu", DOCTOR_WARN, with_gpu, gpu_refused},
	{"iommu-mode", DOCTOR_WARN, on_pci, strict_iommu},
	{"dcb-switch", DOCTOR_WARN, with_pfc, switch_pauses_other},
	{"leg-frames", DOCTOR_WARN, NULL, switch_takes_less},
};
const size_t doctor_n_rdma_breaks = ARRAY_SIZE(doctor_rdma_breaks);
