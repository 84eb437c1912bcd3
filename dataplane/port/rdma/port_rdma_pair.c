/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys queue pairs, and transfers data over them.
 */
#include "dataplane/port/rdma/port_rdma_internal.h"
#include <string.h>

#define POLL_BURST 32
#define PSN_MASK 0xffffffU
/* The pair fails after ACK_RETRIES retries, each after 4.096 us times 2 to the power of
 * ACK_TIMEOUT. Seven retries must not be used: soft-RoCE takes 7 as infinite, so a pair without its
 * other side would never fail. */
#define ACK_TIMEOUT 16
#define ACK_RETRIES 6
#define HOPS_MAX 64
/* An MTU that works on every Ethernet leg, and in every InfiniBand partition except those with the
 * smallest MTU. */
#define MTU_LEAST IBV_MTU_512
#define TRAFFIC_CLASS 96 /* DSCP 24 */
/* A read requests at most READS_MAX times READ_BYTES at once. The data of a read arrives as fast as
 * the peer can send it; the reader can only limit the amount by requesting little at a time. This
 * amount is less than a switch and the receive ring of a port can buffer, but more than arrives
 * while the next request is on its way. Measured between emulated hosts, a quarter of it was slower
 * by a third, and four times as much was no faster. */
#define READS_MAX 4
#define READ_BYTES (64U << 10)
#define READ_WRS (PORT_RDMA_BYTES_MAX / READ_BYTES)
_Static_assert(READ_WRS <= RDMA_OP_WRS, "an op has requests for a whole read");
/* A device that has not flushed a failed pair within this time is closed. */
#define DRAIN_NS NSEC_PER_SEC
/* A pair without a completion for this long counts as failed, even if its device still retries. */
#define STALL_NS (4 * NSEC_PER_SEC)
/* Bit in a work request's number: set in all parts of a transfer but the last part, which completes
 * the transfer. */
#define WR_PART (1ULL << 63)

/* ------------------------------------------------------------------ transfers */

/* Makes the number of a work request. It contains the use count of the entry in `ops`, so that late
 * completions of an earlier use can be recognised and ignored. */
static uint64_t wr_id_of(const struct port_rdma *r, uint16_t slot)
{
	return slot | (uint64_t)r->op_uses[slot] << 16;
}

static void op_end(struct port_rdma *r, uint16_t slot, int status)
{
	struct port_rdma_op *op = r->ops[slot];
	struct port_rdma_pair *pair = op->pair;

	r->ops[slot] = NULL;
	r->op_uses[slot]++;
	r->free_ops[r->n_free_ops++] = slot;
	r->devices[pair->device].n_ops--;
	pair->n_ops--;
	pair->bytes -= op->bytes;
	pair->moved_ns = r->now_ns;
	pair->failed |= status < 0;
	op->pair = NULL;
	op->done(op, status);
}

void rdma_pair_end_ops(struct port_rdma_pair *pair)
{
	for (unsigned i = 0; i < RDMA_OPS_MAX && pair->n_ops > 0; i++)
		if (pair->r->ops[i] && pair->r->ops[i]->pair == pair)
			op_end(pair->r, (uint16_t)i, -ECONNABORTED);
}

/* Reads and drops the events of the channel: they only report that completions may be waiting. */
static void channel_drain(struct rdma_device *d)
{
	struct ibv_cq *cq;
	void *user;

	while (ibv_get_cq_event(d->channel, &cq, &user) == 0) {
		ibv_ack_cq_events(cq, 1);
		d->armed = false;
	}
}

static unsigned device_poll(struct port_rdma *r, struct rdma_device *d)
{
	struct ibv_wc wc[POLL_BURST];
	unsigned ended = 0;
	int n;

	do {
		n = ibv_poll_cq(d->cq, POLL_BURST, wc);
		for (int i = 0; i < n; i++) {
			uint16_t slot = (uint16_t)(wc[i].wr_id & 0xffff);

			if (slot >= RDMA_OPS_MAX || !r->ops[slot] ||
			    wc[i].wr_id != wr_id_of(r, slot))
				continue;
			op_end(r, slot, wc[i].status == IBV_WC_SUCCESS ? 0 : -EIO);
			ended++;
		}
	} while (n == POLL_BURST);
	return ended;
}

unsigned port_rdma_poll(struct port_rdma *r)
{
	unsigned n = 0;

	for (unsigned i = 0; r && i < r->n_devices; i++) {
		struct rdma_device *d = &r->devices[i];

		if (d->armed)
			channel_drain(d);
		if (d->n_ops > 0)
			n += device_poll(r, d);
	}
	return n;
}

bool port_rdma_arm(struct port_rdma *r)
{
	unsigned ended = 0;

	for (unsigned i = 0; r && i < r->n_devices; i++) {
		struct rdma_device *d = &r->devices[i];

		if (d->n_ops == 0)
			continue;
		if (!d->armed)
			d->armed = ibv_req_notify_cq(d->cq, 0) == 0;
		if (!d->armed)
			return false;	    /* the device raises no events, so the worker must poll
					       it */
		ended += device_poll(r, d); /* completions that arrived before the channel was armed
					       raise no event */
	}
	return ended == 0;
}

static uint32_t local_key(const struct port_rdma_pool *pool, unsigned device, const void *at)
{
	for (unsigned i = 0; i < pool->n_regions; i++)
		if ((const uint8_t *)at >= (const uint8_t *)pool->regions[i].base &&
		    (const uint8_t *)at <
			    (const uint8_t *)pool->regions[i].base + pool->regions[i].bytes)
			return pool->mrs[device][i]->lkey;
	return 0;
}

static struct port_rdma_pair *pair_for_op(struct port_rdma_peer *peer, unsigned leg)
{
	struct port_rdma_pair *pair = peer->pairs[leg];

	if (!pair || !pair->joined || pair->failed || pair->n_ops == RDMA_PAIR_OPS_MAX ||
	    pair->r->n_free_ops == 0 || pair->r->devices[pair->device].n_ops == RDMA_DEVICE_OPS_MAX)
		return NULL;
	return pair;
}

static void op_begin(struct port_rdma_pair *pair, struct port_rdma_op *op, uint32_t bytes)
{
	struct port_rdma *r = pair->r;

	op->slot = r->free_ops[--r->n_free_ops];
	op->pair = pair;
	op->port = (uint8_t)pair->port;
	op->bytes = bytes;
	r->ops[op->slot] = op;
	r->devices[pair->device].n_ops++;
	if (pair->n_ops++ == 0)
		pair->moved_ns = r->now_ns;
	pair->bytes += bytes;
}

/* Ends an op of which the device has accepted no work request. */
static void op_cancel(struct port_rdma_op *op)
{
	struct port_rdma_pair *pair = op->pair;
	struct port_rdma *r = pair->r;

	r->ops[op->slot] = NULL;
	r->op_uses[op->slot]++;
	r->free_ops[r->n_free_ops++] = op->slot;
	r->devices[pair->device].n_ops--;
	pair->n_ops--;
	pair->bytes -= op->bytes;
	pair->failed = true;
	op->pair = NULL;
}

/* Posts the work requests of an op. Returns 0, or a negative errno if none was posted. If only some
 * were posted, returns 0 but makes the pair fail: the device then flushes the posted requests,
 * which completes the op. */
static int op_post(struct port_rdma_op *op, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int e = ibv_post_send(op->pair->qp, wr, &bad);

	if (e == 0)
		return 0;
	/* The whole op is queued; only notifying the kernel failed. */
	if (e == EACCES && !bad && rdma_doorbell_ring(op->pair->qp) == 0)
		return 0;
	if (bad != wr) {
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

		op->pair->failed = true;
		(void)ibv_modify_qp(op->pair->qp, &attr, IBV_QP_STATE);
		return 0;
	}
	op_cancel(op);
	return -EIO;
}

int port_rdma_write(struct port_rdma_peer *peer, unsigned leg, const void *from, uint32_t bytes,
		    uint64_t at, struct port_rdma_op *op)
{
	struct port_rdma_pair *pair = pair_for_op(peer, leg);
	struct ibv_sge data, last;
	struct ibv_send_wr back, wr;
	uint32_t key;

	if (!pair)
		return -EAGAIN;
	op_begin(pair, op, bytes);
	key = local_key(peer->pool, pair->device, from);
	data = (struct ibv_sge){.addr = (uintptr_t)from, .length = bytes, .lkey = key};
	last = (struct ibv_sge){.addr = (uintptr_t)from + bytes - 1, .length = 1, .lkey = key};
	/* Reading a byte back makes sure that the data written before it is in the peer's
	 * memory. */
	back = (struct ibv_send_wr){.wr_id = wr_id_of(pair->r, op->slot),
				    .sg_list = &last,
				    .num_sge = 1,
				    .opcode = IBV_WR_RDMA_READ,
				    .send_flags = IBV_SEND_SIGNALED,
				    .wr.rdma = {.remote_addr = at + bytes - 1, .rkey = pair->key}};
	wr = (struct ibv_send_wr){.wr_id = wr_id_of(pair->r, op->slot) | WR_PART,
				  .next = &back,
				  .sg_list = &data,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = {.remote_addr = at, .rkey = pair->key}};
	return op_post(op, &wr);
}

int port_rdma_read(struct port_rdma_peer *peer, unsigned leg, void *to, uint32_t bytes, uint64_t at,
		   struct port_rdma_op *op)
{
	struct port_rdma_pair *pair = pair_for_op(peer, leg);
	struct ibv_send_wr wrs[READ_WRS];
	struct ibv_sge parts[READ_WRS];
	uint32_t done = 0, key, n;

	if (!pair || bytes == 0 || bytes > PORT_RDMA_BYTES_MAX)
		return -EAGAIN;
	op_begin(pair, op, bytes);
	key = local_key(peer->pool, pair->device, to);
	for (n = 0; done < bytes; n++) {
		uint32_t len = MIN_OF(bytes - done, READ_BYTES);

		parts[n] =
			(struct ibv_sge){.addr = (uintptr_t)to + done, .length = len, .lkey = key};
		wrs[n] = (struct ibv_send_wr){
			.wr_id = wr_id_of(pair->r, op->slot) | WR_PART,
			.next = &wrs[n + 1],
			.sg_list = &parts[n],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.wr.rdma = {.remote_addr = at + done, .rkey = pair->key}};
		done += len;
	}
	wrs[n - 1].next = NULL;
	wrs[n - 1].wr_id &= ~WR_PART;
	wrs[n - 1].send_flags = IBV_SEND_SIGNALED;
	return op_post(op, wrs);
}

/* ------------------------------------------------------------------ destroying pairs */

static void pair_free(struct port_rdma_pair *pair)
{
	if (pair->qp)
		(void)ibv_destroy_qp(pair->qp);
	pair->qp = NULL;
	rdma_pair_end_ops(pair);
	free(pair);
}

/* Drops a pair. Its ops in flight end when the device reports their completions, because the device
 * may access their memory until then. */
static void pair_drop(struct port_rdma_pair *pair)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct port_rdma *r = pair->r;

	if (pair->n_ops == 0) {
		pair_free(pair);
		return;
	}
	(void)ibv_modify_qp(pair->qp, &attr, IBV_QP_STATE);
	pair->failed = true;
	pair->dropped_ns = clock_now_ns();
	pair->next = r->dying;
	r->dying = pair;
}

static bool pair_is_over(const struct port_rdma_pair *pair)
{
	return pair->failed || (pair->n_ops > 0 && pair->r->now_ns > pair->moved_ns + STALL_NS);
}

static void failed_drop(struct port_rdma *r)
{
	for (struct port_rdma_pool *pool = r->pools; pool; pool = pool->next)
		for (struct port_rdma_peer *peer = pool->peers; peer; peer = peer->next)
			for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
				if (peer->pairs[i] && pair_is_over(peer->pairs[i]))
					port_rdma_drop(peer, i);
}

void rdma_pairs_reap(struct port_rdma *r, uint64_t now_ns)
{
	struct port_rdma_pair **p = &r->dying;

	failed_drop(r);
	while (*p) {
		struct port_rdma_pair *pair = *p;

		if (pair->n_ops > 0 && now_ns < pair->dropped_ns + DRAIN_NS) {
			p = &pair->next;
			continue;
		}
		*p = pair->next;
		pair_free(pair);
		p = &r->dying; /* start again, because the completions may have dropped other
				  pairs */
	}
}

void rdma_pairs_of_device(struct port_rdma *r, unsigned device)
{
	for (struct port_rdma_pool *pool = r->pools; pool; pool = pool->next)
		for (struct port_rdma_peer *peer = pool->peers; peer; peer = peer->next)
			for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
				if (peer->pairs[i] && peer->pairs[i]->device == device)
					port_rdma_drop(peer, i);
	for (struct port_rdma_pair *pair = r->dying; pair; pair = pair->next)
		if (pair->device == device)
			pair->dropped_ns = 0;
	rdma_pairs_reap(r, clock_now_ns());
}

void port_rdma_drop(struct port_rdma_peer *peer, unsigned leg)
{
	struct port_rdma_pair *pair = peer->pairs[leg];

	peer->pairs[leg] = NULL;
	if (pair)
		pair_drop(pair);
}

void port_rdma_drop_all(struct port_rdma_peer *peer)
{
	for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
		port_rdma_drop(peer, i);
}

void port_rdma_drop_port(struct port_rdma_peer *peer, unsigned port)
{
	for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
		if (peer->pairs[i] && peer->pairs[i]->port == port)
			port_rdma_drop(peer, i);
}

/* ------------------------------------------------------------------ peers and their pairs */

int port_rdma_peer_new(struct port_rdma_pool *pool, struct port_rdma_peer **ret)
{
	struct port_rdma_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return -ENOMEM;
	peer->pool = pool;
	peer->next = pool->peers;
	pool->peers = peer;
	*ret = peer;
	return 0;
}

struct port_rdma_peer *port_rdma_peer_free(struct port_rdma_peer *peer)
{
	struct port_rdma_peer **p;

	if (!peer)
		return NULL;
	port_rdma_drop_all(peer);
	for (p = &peer->pool->peers; *p != peer; p = &(*p)->next)
		;
	*p = peer->next;
	free(peer);
	return NULL;
}

static struct ibv_qp *qp_new(struct port_rdma_peer *peer, unsigned device,
			     const struct rdma_leg *leg)
{
	struct ibv_qp_init_attr init = {
		.send_cq = peer->pool->r->devices[device].cq,
		.recv_cq = peer->pool->r->devices[device].cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = RDMA_PAIR_WRS,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = leg->port_num,
				   .pkey_index = leg->pkey_index,
				   .qp_access_flags =
					   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	struct ibv_qp *qp = ibv_create_qp(peer->pool->pds[device], &init);

	if (!qp)
		return NULL;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	    0)
		return qp;
	(void)ibv_destroy_qp(qp);
	return NULL;
}

static uint8_t link_of(const struct ibv_gid_entry *gid)
{
	return gid->gid_type == IBV_GID_TYPE_IB ? PORT_RDMA_LINK_IB : PORT_RDMA_LINK_ROCE_V2;
}

enum port_rdma_reason port_rdma_pair(struct port_rdma_peer *peer, unsigned leg, unsigned port,
				     struct port_rdma_half *ret)
{
	struct port_rdma *r = peer->pool->r;
	struct port_rdma_pair *pair;
	struct ibv_gid_entry gid;
	struct ibv_port_attr attr;
	unsigned device;

	if (port_rdma_reason(r, port) != PORT_RDMA_OK)
		return port_rdma_reason(r, port);
	device = (unsigned)r->legs[port].device;
	if (!peer->pool->mrs[device][0])
		return PORT_RDMA_MEMLOCK;
	if (ibv_query_port(r->devices[device].context, r->legs[port].port_num, &attr) != 0 ||
	    attr.state != IBV_PORT_ACTIVE)
		return PORT_RDMA_PORT_DOWN;
	if (attr.active_mtu < MTU_LEAST)
		return PORT_RDMA_MTU;
	if (rdma_gid_get(r, port, &gid) < 0)
		return PORT_RDMA_NO_GID;
	port_rdma_drop(peer, leg);
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return PORT_RDMA_FAILED;
	*pair = (struct port_rdma_pair){.r = r,
					.qp = qp_new(peer, device, &r->legs[port]),
					.device = device,
					.port = port,
					.link = link_of(&gid),
					.psn = r->next_psn & PSN_MASK};
	if (!pair->qp) {
		free(pair);
		return PORT_RDMA_FAILED;
	}
	r->next_psn += 0x10001;
	peer->pairs[leg] = pair;
	*ret = (struct port_rdma_half){.link = pair->link,
				       .mtu = (uint8_t)attr.active_mtu,
				       .lid = attr.lid,
				       .qpn = pair->qp->qp_num,
				       .psn = pair->psn,
				       .key = peer->pool->mrs[device][0]->rkey};
	memcpy(ret->gid, gid.gid.raw, sizeof(ret->gid));
	return PORT_RDMA_OK;
}

/* Returns whether the pair's packets carry the global routing header. With RoCE they always do.
 * With InfiniBand they do only if the port requires it or the peer is in another subnet, because
 * LIDs suffice within a subnet. */
static bool is_global(const struct port_rdma_pair *pair, const struct port_rdma_half *theirs,
		      const struct ibv_gid_entry *ours, const struct ibv_port_attr *port)
{
	return pair->link != PORT_RDMA_LINK_IB || port->flags & IBV_QPF_GRH_REQUIRED ||
	       memcmp(theirs->gid, ours->gid.raw, sizeof(theirs->gid) / 2) != 0;
}

/* Moves the pair to the state "ready to receive". For parameters that must be equal on both sides,
 * both compute the same values. */
static bool pair_receives(struct port_rdma_pair *pair, const struct port_rdma_half *theirs,
			  const struct ibv_gid_entry *gid, const struct ibv_port_attr *port)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)MIN_OF((uint8_t)port->active_mtu, theirs->mtu),
		.dest_qp_num = theirs->qpn,
		.rq_psn = theirs->psn & PSN_MASK,
		.max_dest_rd_atomic = READS_MAX,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = is_global(pair, theirs, gid, port),
			    .port_num = pair->r->legs[pair->port].port_num,
			    .dlid = theirs->lid,
			    .grh = {.sgid_index = (uint8_t)gid->gid_index,
				    .hop_limit = HOPS_MAX,
				    .traffic_class = TRAFFIC_CLASS}},
	};

	memcpy(attr.ah_attr.grh.dgid.raw, theirs->gid, sizeof(theirs->gid));
	return ibv_modify_qp(pair->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER) == 0;
}

static bool pair_sends(struct port_rdma_pair *pair)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = ACK_RETRIES,
		.rnr_retry = 0,
		.sq_psn = pair->psn,
		.max_rd_atomic = READS_MAX,
	};

	return ibv_modify_qp(pair->qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

enum port_rdma_reason port_rdma_join(struct port_rdma_peer *peer, unsigned leg,
				     const struct port_rdma_half *theirs, bool active)
{
	struct port_rdma_pair *pair = peer->pairs[leg];
	struct port_rdma *r = peer->pool->r;
	struct ibv_port_attr port;
	struct ibv_gid_entry gid;

	if (!pair)
		return PORT_RDMA_FAILED;
	if (theirs->link != pair->link) {
		port_rdma_drop(peer, leg);
		return PORT_RDMA_KIND;
	}
	if (theirs->mtu >= IBV_MTU_256 && theirs->mtu < MTU_LEAST) {
		port_rdma_drop(peer, leg);
		return PORT_RDMA_MTU;
	}
	if (rdma_gid_get(r, pair->port, &gid) < 0 || link_of(&gid) != pair->link ||
	    theirs->mtu < IBV_MTU_256 || theirs->mtu > IBV_MTU_4096 ||
	    ibv_query_port(r->devices[pair->device].context, r->legs[pair->port].port_num, &port) !=
		    0 ||
	    !pair_receives(pair, theirs, &gid, &port) || (active && !pair_sends(pair))) {
		port_rdma_drop(peer, leg);
		return PORT_RDMA_FAILED;
	}
	pair->key = theirs->key;
	pair->gid_index = gid.gid_index;
	pair->joined = true;
	return PORT_RDMA_OK;
}

/* Drops pairs whose GID has changed. Soft-RoCE looks up the GID by its table index for each packet.
 * So after a change it would send with another GID, or with none, until the pair fails some seconds
 * later. */
void rdma_pairs_check_gids(struct port_rdma *r, unsigned device)
{
	struct ibv_gid_entry gids[PORT_RDMA_LEGS_MAX];
	uint8_t known = 0;

	for (unsigned i = 0; i < r->n_legs; i++)
		if (r->legs[i].device == (int)device && rdma_gid_get(r, i, &gids[i]) == 0)
			known |= (uint8_t)(1U << i);
	for (struct port_rdma_pool *pool = r->pools; pool; pool = pool->next)
		for (struct port_rdma_peer *peer = pool->peers; peer; peer = peer->next)
			for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++) {
				struct port_rdma_pair *pair = peer->pairs[i];

				if (pair && pair->joined && pair->device == device &&
				    !(known & 1U << pair->port &&
				      gids[pair->port].gid_index == pair->gid_index))
					pair->failed = true;
			}
}

unsigned port_rdma_pairs(const struct port_rdma *r, unsigned port)
{
	unsigned n = 0;

	for (const struct port_rdma_pool *pool = r ? r->pools : NULL; pool; pool = pool->next)
		for (const struct port_rdma_peer *peer = pool->peers; peer; peer = peer->next)
			for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
				n += peer->pairs[i] && peer->pairs[i]->port == port &&
				     peer->pairs[i]->joined && !peer->pairs[i]->failed;
	return n;
}

uint8_t port_rdma_ready(const struct port_rdma_peer *peer)
{
	uint8_t mask = 0;

	for (unsigned i = 0; peer && i < PORT_RDMA_LEGS_MAX; i++)
		if (peer->pairs[i] && peer->pairs[i]->joined && !peer->pairs[i]->failed)
			mask |= (uint8_t)(1U << i);
	return mask;
}

int port_rdma_leg(const struct port_rdma_peer *peer, unsigned port)
{
	const uint8_t ready = port_rdma_ready(peer);

	for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
		if (ready & 1U << i && peer->pairs[i]->port == port)
			return (int)i;
	return -1;
}

bool port_rdma_has(const struct port_rdma_peer *peer, unsigned leg, uint32_t qpn)
{
	return leg < PORT_RDMA_LEGS_MAX && port_rdma_ready(peer) & 1U << leg &&
	       peer->pairs[leg]->qp->qp_num == qpn;
}

int port_rdma_choose(struct port_rdma_peer *peer, uint8_t mask)
{
	uint64_t least = UINT64_MAX;
	int best = -1;

	for (unsigned k = 1; k <= PORT_RDMA_LEGS_MAX; k++) {
		unsigned leg = (peer->last + k) % PORT_RDMA_LEGS_MAX;

		if (!(mask & 1U << leg) || !pair_for_op(peer, leg) ||
		    peer->pairs[leg]->bytes >= least)
			continue;
		least = peer->pairs[leg]->bytes;
		best = (int)leg;
	}
	if (best >= 0)
		peer->last = (unsigned)best;
	return best;
}
