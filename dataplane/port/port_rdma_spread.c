/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One transfer over two legs at once, so that a single program's large request has the speed of
 * both: each takes as much as lets them end together. Apart from the pairs because these know
 * nothing of each other.
 */
#include "dataplane/port/port_rdma_internal.h"

/* A part of less gains nothing: the pair has its own round trip. */
#define PART_LEAST (128U << 10)
#define PART_ALIGN (16U << 10)
/* A leg that has so much to do has it without parts of everything. */
#define BUSY_BYTES (1U << 20)

static void part_done(struct port_rdma_op *op, int status)
{
	struct port_rdma_part *part = (struct port_rdma_part *)op;
	struct port_rdma_spread *s = part->of;

	part->failed = status < 0;
	if (status < 0)
		s->status = status;
	if (--s->n_left == 0)
		s->done(s, s->status);
}

/* How much of it the first leg takes, which has least to do. */
static uint32_t first_bytes(const struct port_rdma_peer *peer, int first, int second,
			    uint32_t bytes)
{
	uint64_t busy = peer->pairs[first]->bytes, more = peer->pairs[second]->bytes - busy;
	uint32_t take;

	if (busy >= BUSY_BYTES || more >= bytes)
		return bytes;
	take = (uint32_t)(bytes + more) / 2;
	take = (take + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
	return bytes - MIN_OF(take, bytes) < PART_LEAST ? bytes : take;
}

/* Room for both parts, where both legs have one device: one alone would be begun for nothing. */
static bool both_fit(const struct port_rdma_peer *peer, int first, int second)
{
	const struct port_rdma_pair *a = peer->pairs[first], *b = peer->pairs[second];

	return a->r->n_free_ops >= 2 && (a->device != b->device ||
					 a->r->devices[a->device].n_ops + 2 <= RDMA_DEVICE_OPS_MAX);
}

static int part_begin(struct port_rdma_peer *peer, struct port_rdma_spread *s,
		      const struct port_rdma_move *m, int leg, uint32_t from, uint32_t bytes)
{
	struct port_rdma_part *part = &s->parts[s->n_parts];
	uint8_t *here = (uint8_t *)m->here + from;
	uint64_t there = m->there + from;
	int r;

	*part = (struct port_rdma_part){.op.done = part_done, .of = s, .leg = (uint8_t)leg};
	r = m->is_write ? port_rdma_write(peer, (unsigned)leg, here, bytes, there, &part->op)
			: port_rdma_read(peer, (unsigned)leg, here, bytes, there, &part->op);
	if (r < 0)
		return r;
	s->n_parts++;
	s->n_left++;
	return 0;
}

int port_rdma_spread(struct port_rdma_peer *peer, uint8_t legs, const struct port_rdma_move *m,
		     struct port_rdma_spread *s)
{
	int first = port_rdma_choose(peer, legs), second = -1, r;
	uint32_t bytes = m->bytes;

	s->n_parts = s->n_left = 0;
	s->status = 0;
	if (first < 0)
		return -EAGAIN;
	if (bytes >= 2 * PART_LEAST)
		second = port_rdma_choose(peer, legs & (uint8_t) ~(1U << first));
	if (second >= 0 && both_fit(peer, first, second))
		bytes = first_bytes(peer, first, second, bytes);
	r = part_begin(peer, s, m, first, 0, bytes);
	if (r < 0 || bytes == m->bytes)
		return r;
	r = part_begin(peer, s, m, second, bytes, m->bytes - bytes);
	if (r < 0)
		r = part_begin(peer, s, m, first, bytes, m->bytes - bytes);
	s->status = r; /* what is under way is waited for, and then all is done anew */
	return 0;
}

uint8_t port_rdma_spread_failed(const struct port_rdma_spread *s)
{
	uint8_t failed = 0;

	for (unsigned i = 0; i < s->n_parts; i++)
		failed |= (uint8_t)(s->parts[i].failed << s->parts[i].leg);
	return failed;
}
