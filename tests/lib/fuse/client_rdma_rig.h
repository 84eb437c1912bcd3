/* SPDX-License-Identifier: BSD-3-Clause */
/* A client with RDMA on two legs. The test acts as the server: it answers the requests for queue
 * pairs and the requests that use them. */
#ifndef PLENUM_TESTS_CLIENT_RDMA_RIG_H
#define PLENUM_TESTS_CLIENT_RDMA_RIG_H

#include "tests/lib/fuse/client_rig.h"
#include "tests/lib/fuse/verbs_fake.h"

#define BYTES (128U << 10)
#define LEGS 3

extern struct port_rdma *rdma;
extern uint8_t rdma_data[BYTES], rdma_late[BYTES], rdma_got[BYTES + 64];

int rdma_setup(void **state);
int rdma_teardown(void **state);

/* The numbers of the server's queue pairs, as in its answers. */
extern uint32_t rdma_theirs[2];

/* Answers a request for queue pairs with the status for each leg. If the client only checks a pair,
 * the answer says that the pair exists. */
void answer_pairs(struct rig *g, unsigned call, uint8_t status);
struct fuse_proto_bulk bulk_of(unsigned call);

/* The number of the client's newest queue pair on each leg. */
extern unsigned rdma_qps[2];

void pairs_up(struct rig *g);

/* Begins a READ for which the client offers memory on both legs. Returns the offer. */
struct fuse_proto_bulk read_begin(struct rig *g, uint64_t node, uint64_t fh);
void answer_call(struct rig *g, unsigned call, uint32_t there, uint8_t failed, const void *body,
		 size_t len);
void answer_bulk(struct rig *g, uint32_t there, uint8_t failed, const void *body, size_t len);
void expect_rdma_data(struct rig *g, const void *want);
uint64_t rdma_file(struct rig *g, uint64_t *ret_fh);
unsigned call_of(uint32_t opcode);

/* Advances the time to the client's next check of its queue pairs, and asserts that the check has
 * the numbers of the server's pairs. Returns the answer that confirms them. */
struct fuse_proto_rdma check_begin(struct rig *g);
void check_end(struct rig *g, struct fuse_proto_rdma p, unsigned n_legs);

#endif
