/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs and transfers at the active end, with a device that is late, fails and stays silent: a
 * buffer is returned when the device has finished with it, not earlier, and always. */
#include "dataplane/port/rdma/port_rdma_internal.h"
#include "tests/lib/fuse/verbs_fake.h"
#include <poll.h>
#include <stdio.h>

#define SECOND NSEC_PER_SEC

static uint8_t memory[1 << 20];

static struct world {
	struct launch_config cfg;
	struct port_rdma *r;
	struct port_rdma_pool *pool;
	struct port_rdma_peer *peer;
	uint64_t now_ns;
} w;

static struct counted {
	struct port_rdma_op op;
	unsigned n;
	int status;
} ops[16];

static void op_done(struct port_rdma_op *op, int status)
{
	struct counted *c = (struct counted *)op;

	c->n++;
	c->status = status;
}

static void open_pool(void)
{
	const struct port_rdma_region region = {.base = memory, .bytes = sizeof(memory)};

	if (port_rdma_pool_new(w.r, &region, 1, true, &w.pool) == 0)
		assert_int_equal(port_rdma_peer_new(w.pool, &w.peer), 0);
}

static void open_all(void)
{
	assert_int_equal(port_rdma_open(&w.cfg, &w.r), 0);
	open_pool();
}

static int setup(void **state)
{
	verbs_reset();
	w = (struct world){.now_ns = clock_now_ns()};
	memset(ops, 0, sizeof(ops));
	w.cfg.n_ports = 2;
	for (unsigned i = 0; i < 2; i++) {
		w.cfg.ports[i].rdma = true;
		w.cfg.ports[i].ip.addr =
			(struct ip_addr){.family = AF_INET, .bytes = {10, 0, 0, 1}};
	}
	memcpy(verbs.gid, (uint8_t[16]){[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}, 16);
	return 0;
}

static int teardown(void **state)
{
	port_rdma_stop(w.r);
	w.peer = port_rdma_peer_free(w.peer);
	w.pool = port_rdma_pool_free(w.pool);
	w.r = port_rdma_free(w.r);
	verbs_done();
	return 0;
}

/* Creates a pair on the leg; returns its number. */
static unsigned pair_up(unsigned leg)
{
	struct port_rdma_half ours, theirs = {.link = PORT_RDMA_LINK_ROCE_V2, .mtu = 3, .qpn = 99};

	assert_int_equal(port_rdma_pair(w.peer, leg, leg, &ours), PORT_RDMA_OK);
	assert_int_equal(port_rdma_join(w.peer, leg, &theirs, true), PORT_RDMA_OK);
	return ours.qpn;
}

static void read_begin(unsigned leg, unsigned i, uint32_t bytes)
{
	ops[i].op.done = op_done;
	assert_int_equal(port_rdma_read(w.peer, leg, memory, bytes, 4096, &ops[i].op), 0);
}

static void tick_for(uint64_t ns)
{
	for (uint64_t end = w.now_ns + ns; w.now_ns < end;) {
		w.now_ns += PORT_RDMA_LOOK_NS;
		port_rdma_tick(w.r, w.now_ns);
		port_rdma_poll(w.r);
	}
}

static void transfers_end_once(void **state)
{
	open_all();
	pair_up(0);
	ops[1].op.done = op_done;
	read_begin(0, 0, sizeof(memory));
	assert_int_equal(port_rdma_write(w.peer, 0, memory, 1000, 4096, &ops[1].op), 0);
	assert_true(verbs.n_wrs > 2); /* large ones have several parts */
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].n + ops[1].n, 0);
	verbs_end(0, IBV_WC_SUCCESS);
	assert_int_equal(port_rdma_poll(w.r), 2);
	assert_int_equal(ops[0].n, 1);
	assert_int_equal(ops[0].status, 0);
	assert_int_equal(ops[1].n, 1);
	assert_int_equal(ops[1].status, 0);
	assert_int_equal(port_rdma_read(w.peer, 0, memory, PORT_RDMA_BYTES_MAX + 1, 0, &ops[2].op),
			 -EAGAIN);
}

/* Only the byte read back after a write proves that the data arrived. */
static void writes_complete_after_a_read_back(void **state)
{
	open_all();
	pair_up(0);
	ops[0].op.done = op_done;
	assert_int_equal(port_rdma_write(w.peer, 0, memory, 1000, 4096, &ops[0].op), 0);
	assert_int_equal(verbs.n_wrs, 2);
	assert_int_equal(verbs.wrs[0].wr.opcode, IBV_WR_RDMA_WRITE);
	assert_false(verbs.wrs[0].wr.send_flags & IBV_SEND_SIGNALED);
	assert_int_equal(verbs.wrs[1].wr.opcode, IBV_WR_RDMA_READ);
	assert_int_equal(verbs.wrs[1].wr.wr.rdma.remote_addr, 4096 + 999);
}

/* If one part fails the transfer fails once, and its pair accepts no more. */
static void a_failed_part_fails_the_transfer(void **state)
{
	open_all();
	pair_up(0);
	pair_up(1);
	read_begin(0, 0, sizeof(memory));
	verbs_end(0, IBV_WC_RETRY_EXC_ERR);
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].n, 1);
	assert_int_equal(ops[0].status, -EIO);
	assert_int_equal(port_rdma_ready(w.peer), 2);
	assert_int_equal(port_rdma_choose(w.peer, 3), 1);
	assert_int_equal(port_rdma_read(w.peer, 0, memory, 4096, 0, &ops[1].op), -EAGAIN);
	read_begin(1, 1, 4096);
	verbs_end(0, IBV_WC_SUCCESS);
	port_rdma_poll(w.r);
	assert_int_equal(ops[1].status, 0);
	assert_int_equal(ops[0].n, 1);
}

/* The device owns the memory until it completes the requests, or the pair is destroyed. */
static void dropped_pairs_keep_buffers_until_the_device_is_done(void **state)
{
	unsigned qp;

	open_all();
	verbs.flushes = false;
	qp = pair_up(0);
	read_begin(0, 0, 100000);
	port_rdma_drop(w.peer, 0);
	assert_int_equal(ops[0].n, 0);
	assert_int_equal(verbs.qps[qp].state, IBV_QPS_ERR);
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].n, 0);
	/* A new pair of the leg is independent of it. */
	assert_int_not_equal(pair_up(0), qp);
	verbs_end(qp, IBV_WC_WR_FLUSH_ERR);
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].n, 1);
	assert_true(ops[0].status < 0);
	assert_int_equal(port_rdma_ready(w.peer), 1);
	/* A device that reports nothing. */
	read_begin(0, 1, 100000);
	w.now_ns = clock_now_ns(); /* of the call that drops it */
	port_rdma_drop(w.peer, 0);
	port_rdma_tick(w.r, w.now_ns);
	assert_int_equal(ops[1].n, 0);
	tick_for(3 * SECOND);
	assert_int_equal(ops[1].n, 1);
	assert_true(ops[1].status < 0);
	for (unsigned i = 1; i < verbs.n_qps; i++)
		assert_false(verbs.qps[i].alive);
}

/* Completions of a slot's earlier use are ignored. */
static void late_completions_are_ignored(void **state)
{
	struct ibv_wc late;
	unsigned qp;

	open_all();
	qp = pair_up(0);
	read_begin(0, 0, 4096);
	verbs_end(qp, IBV_WC_SUCCESS);
	late = verbs.wcs[0];
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].n, 1);
	read_begin(0, 1, 4096);
	verbs.wcs[verbs.n_wcs++] = late;
	port_rdma_poll(w.r);
	assert_int_equal(ops[1].n, 0);
	verbs_end(qp, IBV_WC_SUCCESS);
	port_rdma_poll(w.r);
	assert_int_equal(ops[1].n, 1);
	assert_int_equal(ops[0].n, 1);
}

static void silent_pairs_are_dropped(void **state)
{
	open_all();
	pair_up(0);
	tick_for(10 * SECOND); /* an idle pair may be silent */
	assert_int_equal(port_rdma_ready(w.peer), 1);
	read_begin(0, 0, 4096);
	tick_for(3 * SECOND);
	assert_int_equal(ops[0].n, 0);
	tick_for(3 * SECOND);
	assert_int_equal(ops[0].n, 1);
	assert_true(ops[0].status < 0);
	assert_int_equal(port_rdma_ready(w.peer), 0);
}

static void reasons_are_reported(void **state)
{
	struct port_rdma_half half, theirs = {.link = PORT_RDMA_LINK_IB, .mtu = 3};

	w.cfg.ports[1].rdma = false;
	open_all();
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OK);
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_OFF);
	assert_int_equal(port_rdma_pair(w.peer, 1, 1, &half), PORT_RDMA_OFF);
	verbs.state = IBV_PORT_DOWN;
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_PORT_DOWN);
	verbs.state = IBV_PORT_ACTIVE;
	verbs.no_gid = true;
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_NO_GID);
	verbs.no_gid = false;
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_OK);
	assert_int_equal(port_rdma_join(w.peer, 0, &theirs, true), PORT_RDMA_KIND);
	assert_int_equal(port_rdma_ready(w.peer), 0);
	for (unsigned i = 0; i < PORT_RDMA_REASON_MAX; i++)
		assert_true(strlen(port_rdma_reason_code(i)) > 1);
}

/* Small packets cost more than RDMA saves, at either end. */
static void small_packets_are_refused(void **state)
{
	struct port_rdma_half half, theirs = {.link = PORT_RDMA_LINK_ROCE_V2, .mtu = IBV_MTU_256};

	open_all();
	verbs.mtu = IBV_MTU_256;
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_MTU);
	verbs.mtu = IBV_MTU_512;
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_OK);
	assert_int_equal(port_rdma_join(w.peer, 0, &theirs, true), PORT_RDMA_MTU);
	assert_int_equal(port_rdma_ready(w.peer), 0);
	assert_string_equal(port_rdma_reason_code(PORT_RDMA_MTU), "rdma-mtu-below");
	pair_up(0);
}

/* A device has the leg's address for both versions; a peer that offers v1 is refused. */
static void pairs_use_roce_v2(void **state)
{
	struct port_rdma_half half, theirs = {.link = 3 /* RoCE v1 */, .mtu = 3};

	verbs.roce_v1 = true;
	open_all();
	pair_up(0);
	assert_int_equal(verbs.ah.grh.sgid_index, 1);
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_OK);
	assert_int_equal(half.link, PORT_RDMA_LINK_ROCE_V2);
	assert_int_equal(port_rdma_join(w.peer, 0, &theirs, true), PORT_RDMA_KIND);
	verbs.roce_only_v1 = true;
	assert_int_equal(port_rdma_pair(w.peer, 1, 1, &half), PORT_RDMA_NO_GID);
	verbs.roce_only_v1 = false;
	/* The table changes between the two halves. */
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_OK);
	verbs.roce_only_v1 = true;
	theirs.link = half.link;
	assert_int_equal(port_rdma_join(w.peer, 0, &theirs, true), PORT_RDMA_FAILED);
}

/* An IPoIB interface's hardware address identifies its port. */
static void infiniband_uses_lids(void **state)
{
	static const char address[] = "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:2a:3b:4c";
	static const uint8_t gid[16] = {0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 0x2a, 0x3b, 0x4c};
	struct port_rdma_half half, theirs = {.link = PORT_RDMA_LINK_IB, .mtu = 5, .lid = 9};
	uint8_t found[16];

	assert_true(rdma_ipoib_parse(address, found));
	assert_memory_equal(found, gid, sizeof(gid));
	assert_false(rdma_ipoib_parse("52:54:00:12:34:56", found));
	assert_false(rdma_ipoib_parse(
		"80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:2a:3b:4c:5d", found));
	memcpy(verbs.gid, gid, sizeof(gid));
	verbs.ib = true;
	open_all(); /* legs on Ethernet */
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_NO_DEVICE);
	for (unsigned i = 0; i < 2; i++) {
		w.r->legs[i].is_ipoib = true;
		w.r->legs[i].pkey = i ? 0x8001 : 0xffff;
		memcpy(w.r->legs[i].ib_gid, gid, sizeof(gid));
	}
	assert_int_equal(port_rdma_find(w.r, "fake0"), 2);
	open_pool();
	assert_int_equal(port_rdma_pair(w.peer, 1, 1, &half), PORT_RDMA_OK);
	assert_int_equal(half.link, PORT_RDMA_LINK_IB);
	assert_int_equal(half.lid, 5);
	assert_memory_equal(half.gid, gid, sizeof(gid));
	assert_int_equal(verbs.pkey_index, 3);
	memcpy(theirs.gid, gid, sizeof(gid));
	assert_int_equal(port_rdma_join(w.peer, 1, &theirs, true), PORT_RDMA_OK);
	assert_int_equal(verbs.ah.is_global, 0);
	assert_int_equal(verbs.ah.dlid, 9);
	/* Another subnet is behind a router; another link type is refused. */
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_OK);
	assert_int_equal(verbs.pkey_index, 0);
	theirs.gid[7] = 1;
	assert_int_equal(port_rdma_join(w.peer, 0, &theirs, true), PORT_RDMA_OK);
	assert_int_equal(verbs.ah.is_global, 1);
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_OK);
	theirs.link = PORT_RDMA_LINK_ROCE_V2;
	assert_int_equal(port_rdma_join(w.peer, 0, &theirs, true), PORT_RDMA_KIND);
}

/* A leg sends in its interface's partition, or not at all. */
static void partitions_are_kept_apart(void **state)
{
	struct port_rdma_half half;

	verbs.ib = verbs.limited = true;
	verbs.gid[0] = 0xfe;
	open_all();
	for (unsigned i = 0; i < 2; i++) {
		w.r->legs[i].is_ipoib = true;
		w.r->legs[i].pkey = i ? 0x8001 : 0x8002;
		memcpy(w.r->legs[i].ib_gid, verbs.gid, sizeof(verbs.gid));
	}
	assert_int_equal(port_rdma_find(w.r, "fake0"), 1);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_NO_GID);
	open_pool();
	assert_int_equal(port_rdma_pair(w.peer, 1, 1, &half), PORT_RDMA_OK);
	assert_int_equal(verbs.pkey_index, 3);
	/* It returns to a worker without file access. */
	verbs_remove();
	tick_for(SECOND);
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_GONE);
	verbs.no_pkeys = true;
	verbs.pkey_index = 0;
	verbs_come();
	assert_int_equal(port_rdma_find(w.r, "fake0"), 1);
	assert_int_equal(port_rdma_pair(w.peer, 1, 1, &half), PORT_RDMA_OK);
	assert_int_equal(verbs.pkey_index, 3);
}

static void a_device_without_roce_v2_is_reported(void **state)
{
	verbs.roce_v1 = verbs.roce_only_v1 = true;
	open_all();
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_NO_GID);
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_NO_GID);
	/* Versions may be added later, like devices; the code that looks for them uses this reason.
	 */
	assert_string_equal(port_rdma_reason_code(PORT_RDMA_NO_GID), LAUNCH_RDMA_NO_GID);
	verbs.roce_only_v1 = false;
	assert_int_equal(port_rdma_find(w.r, "fake0"), 2);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OK);
}

static void iwarp_is_refused(void **state)
{
	verbs.iwarp = true;
	w.cfg.ports[1].ifindex = 7;
	open_all();
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_NO_DEVICE);
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_IWARP);
	assert_false(port_rdma_any(w.r));
}

/* OFED's driver reports its version; only an OFED driver that is too old is refused. */
static void old_drivers_are_refused(void **state)
{
	static const struct {
		const char *module, *version;
		enum port_rdma_reason reason;
	} drivers[] = {
		{"mlx5_core", "4.5-1.0.1\n", PORT_RDMA_OLD},
		{"mlx5_core", "4.6-1.0.1\n", PORT_RDMA_OK},
		{"mlx5_core", "4.6-1.0.0.9\n", PORT_RDMA_OLD},
		{"mlx5_core", "24.10-1.1.4\n", PORT_RDMA_OK},
		{"mlx5_core", "", PORT_RDMA_OK},
		{"irdma", "1.0\n", PORT_RDMA_OK},
	};
	char dir[] = "/tmp/plenum-driver.XXXXXX", path[512];

	assert_non_null(mkdtemp(dir));
	snprintf(verbs.device.ibdev_path, sizeof(verbs.device.ibdev_path), "%s", dir);
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		snprintf(path, sizeof(path),
			 "mkdir -p %s/device/driver %s/%s && printf '%s' >%s/%s/version && "
			 "ln -sfn ../../%s %s/device/driver/module",
			 dir, dir, drivers[i].module, drivers[i].version, dir, drivers[i].module,
			 drivers[i].module, dir);
		assert_int_equal(system(path), 0);
		assert_int_equal(port_rdma_open(&w.cfg, &w.r), 0);
		assert_int_equal(port_rdma_reason(w.r, 0), drivers[i].reason);
		assert_int_equal(port_rdma_any(w.r), drivers[i].reason == PORT_RDMA_OK);
		w.r = port_rdma_free(w.r);
	}
	snprintf(path, sizeof(path), "rm -r %s", dir);
	assert_int_equal(system(path), 0);
}

static void without_devices_rdma_is_off(void **state)
{
	verbs.has_device = false;
	open_all();
	assert_null(w.pool);
	assert_false(port_rdma_any(w.r));
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_NO_DEVICE);
	w.r = port_rdma_free(w.r);
	w.cfg.ports[0].rdma = w.cfg.ports[1].rdma = false;
	assert_int_equal(port_rdma_open(&w.cfg, &w.r), 0);
	assert_null(w.r);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OFF);
}

static void devices_added_later_are_used(void **state)
{
	const struct launch_port third = {.rdma = true, .ip.addr = w.cfg.ports[0].ip.addr};
	struct port_rdma_half half;

	verbs.has_device = false;
	open_all();
	assert_int_equal(port_rdma_find(w.r, "fake0"), -ENOENT);
	verbs_come();
	assert_int_equal(port_rdma_find(w.r, "other0"), -ENOENT);
	verbs.no_gid = true;
	assert_int_equal(port_rdma_find(w.r, "fake0"), -ENOENT);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_NO_DEVICE);
	verbs.no_gid = false;
	assert_int_equal(port_rdma_find(w.r, "fake0"), 2);
	assert_true(port_rdma_any(w.r));
	assert_int_equal(port_rdma_find(w.r, "fake0"), -ENOENT); /* all legs have it */
	port_rdma_leg_add(w.r, &third);
	assert_int_equal(port_rdma_reason(w.r, 2), PORT_RDMA_NO_DEVICE);
	open_pool();
	assert_int_equal(port_rdma_pair(w.peer, 2, 2, &half), PORT_RDMA_NO_DEVICE);
	pair_up(1);
}

/* The process with file access finds that the driver of a new device is too old; another device may
 * replace it. */
static void devices_added_later_may_be_refused(void **state)
{
	verbs.has_device = false;
	w.cfg.ports[1].rdma = false;
	open_all();
	port_rdma_refuse(w.r, 0, PORT_RDMA_OLD);
	port_rdma_refuse(w.r, 1, PORT_RDMA_OLD);
	port_rdma_refuse(w.r, 2, PORT_RDMA_OLD);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OLD);
	assert_string_equal(port_rdma_reason_code(PORT_RDMA_OLD), "rdma-driver-old");
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_OFF);
	verbs_come();
	assert_int_equal(port_rdma_find(w.r, "fake0"), 1);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OK);
	port_rdma_refuse(w.r, 0, PORT_RDMA_OLD); /* it has one */
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OK);
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Device events are processed in the next tick, not at the next check; they are read then, because
 * an unread event would keep waking the worker. */
static void device_events_are_processed_at_once(void **state)
{
	uint32_t changes;
	int fd;

	open_all();
	assert_int_equal(port_rdma_event_fds(w.r, &fd, 1), 1);
	tick_for(SECOND);
	changes = port_rdma_changes(w.r);
	verbs_tell(IBV_EVENT_GID_CHANGE);
	assert_true(is_readable(fd));
	port_rdma_look(w.r);
	w.now_ns++;
	assert_int_equal(port_rdma_tick(w.r, w.now_ns), w.now_ns); /* something to do */
	assert_int_equal(port_rdma_changes(w.r), changes + 1);
	assert_false(is_readable(fd));
	assert_true(port_rdma_tick(w.r, w.now_ns) > w.now_ns);
	verbs_tell(IBV_EVENT_DEVICE_FATAL);
	port_rdma_look(w.r);
	port_rdma_tick(w.r, ++w.now_ns);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_GONE);
	assert_int_equal(port_rdma_event_fds(w.r, &fd, 1), 0);
}

static void gids_change(void)
{
	verbs_tell(IBV_EVENT_GID_CHANGE);
	port_rdma_look(w.r);
	port_rdma_tick(w.r, ++w.now_ns);
	port_rdma_poll(w.r);
	port_rdma_tick(w.r, w.now_ns += PORT_RDMA_LOOK_NS);
}

/* Packets sent with the old GID index would be dropped: the pairs are dropped at once. */
static void pairs_are_dropped_with_their_gids(void **state)
{
	open_all();
	port_rdma_tick(w.r, w.now_ns);
	pair_up(0);
	read_begin(0, 0, 4096);
	gids_change(); /* of others */
	assert_int_equal(port_rdma_ready(w.peer), 1);
	assert_int_equal(ops[0].n, 0);
	verbs.gid_moved = 4;
	gids_change();
	assert_int_equal(port_rdma_ready(w.peer), 0);
	assert_int_equal(ops[0].n, 1);
	assert_true(ops[0].status < 0);
	pair_up(0);
	assert_int_equal(verbs.ah.grh.sgid_index, 5);
	gids_change();
	assert_int_equal(port_rdma_ready(w.peer), 1);
	verbs.no_gid = true;
	gids_change();
	assert_int_equal(port_rdma_ready(w.peer), 0);
}

/* The same legs and memory use it again; transfers in progress have ended. */
static void returning_devices_are_used_again(void **state)
{
	open_all();
	for (unsigned i = 0; i < 3; i++) {
		pair_up(0);
		read_begin(0, i, 4096);
		verbs_remove();
		tick_for(SECOND);
		assert_int_equal(ops[i].n, 1);
		assert_true(ops[i].status < 0);
		assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_GONE);
		assert_false(port_rdma_any(w.r));
		assert_int_equal(port_rdma_ready(w.peer), 0);
		verbs_come();
		assert_int_equal(port_rdma_find(w.r, "fake0"), 2);
		assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_OK);
	}
	pair_up(0);
	read_begin(0, 4, 4096);
	verbs_end(0, IBV_WC_SUCCESS);
	port_rdma_poll(w.r);
	assert_int_equal(ops[4].status, 0);
	/* Without memory it is unusable, with that reason. */
	verbs_remove();
	tick_for(SECOND);
	verbs_come();
	verbs.no_memory = true;
	assert_int_equal(port_rdma_find(w.r, "fake0"), 2);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_MEMLOCK);
}

/* GPU memory is registered like any other if the device supports it; else with the reason. */
static void gpu_memory_is_registered(void **state)
{
	const struct port_rdma_region region = {.base = memory,
						.bytes = sizeof(memory),
						.is_dmabuf = true,
						.dmabuf_fd = 77,
						.dmabuf_at = 4096};
	struct port_rdma_pool *pool;

	assert_int_equal(port_rdma_open(&w.cfg, &w.r), 0);
	assert_int_equal(port_rdma_gpu(w.r, 0), PORT_RDMA_GPU_UNSUPPORTED);
	assert_int_equal(port_rdma_pool_new(w.r, &region, 1, true, &pool), -EOPNOTSUPP);
	w.r = port_rdma_free(w.r);
	verbs.dmabuf = true;
	assert_int_equal(port_rdma_open(&w.cfg, &w.r), 0);
	assert_int_equal(port_rdma_gpu(w.r, 1), PORT_RDMA_GPU_DMABUF);
	assert_int_equal(port_rdma_gpu(w.r, 5), PORT_RDMA_GPU_NO_DEVICE);
	assert_int_equal(port_rdma_pool_new(w.r, &region, 1, true, &w.pool), 0);
	assert_int_equal(verbs.dmabuf_fd, 77);
	assert_int_equal(port_rdma_peer_new(w.pool, &w.peer), 0);
	pair_up(0);
	read_begin(0, 0, 4096);
	verbs_end(0, IBV_WC_SUCCESS);
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].status, 0);
}

static void failed_registrations_are_retried(void **state)
{
	struct port_rdma_half half;
	uint32_t changes;

	verbs.no_memory = true;
	open_all();
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_MEMLOCK);
	assert_int_equal(port_rdma_pair(w.peer, 0, 0, &half), PORT_RDMA_MEMLOCK);
	tick_for(40 * SECOND);
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_MEMLOCK);
	changes = port_rdma_changes(w.r);
	/* The limit is raised: no restart is needed. */
	verbs.no_memory = false;
	tick_for(20 * SECOND);
	assert_int_equal(port_rdma_reason(w.r, 0), PORT_RDMA_OK);
	assert_int_equal(port_rdma_reason(w.r, 1), PORT_RDMA_OK);
	assert_int_not_equal(port_rdma_changes(w.r), changes);
	pair_up(0);
	read_begin(0, 0, 4096);
	verbs_end(0, IBV_WC_SUCCESS);
	port_rdma_poll(w.r);
	assert_int_equal(ops[0].status, 0);
	/* It is reported once. */
	changes = port_rdma_changes(w.r);
	tick_for(40 * SECOND);
	assert_int_equal(port_rdma_changes(w.r), changes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(transfers_end_once),
		TEST(writes_complete_after_a_read_back),
		TEST(a_failed_part_fails_the_transfer),
		TEST(dropped_pairs_keep_buffers_until_the_device_is_done),
		TEST(late_completions_are_ignored),
		TEST(silent_pairs_are_dropped),
		TEST(reasons_are_reported),
		TEST(small_packets_are_refused),
		TEST(without_devices_rdma_is_off),
		TEST(pairs_use_roce_v2),
		TEST(infiniband_uses_lids),
		TEST(partitions_are_kept_apart),
		TEST(a_device_without_roce_v2_is_reported),
		TEST(iwarp_is_refused),
		TEST(old_drivers_are_refused),
		TEST(devices_added_later_are_used),
		TEST(devices_added_later_may_be_refused),
		TEST(pairs_are_dropped_with_their_gids),
		TEST(device_events_are_processed_at_once),
		TEST(returning_devices_are_used_again),
		TEST(gpu_memory_is_registered),
		TEST(failed_registrations_are_retried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
