/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data via RDMA (server_rdma.c, server_fetch.c) and RDMA tests (server_ping.c). */
#ifndef PLENUM_SERVER_RDMA_H
#define PLENUM_SERVER_RDMA_H

#include "dataplane/fuse/server/objects/server_types.h"

/* server_rdma.c */
void server_rdma_done(struct fuse_server *srv);
/* Handles FUSE_PROTO_RDMA: creates or checks queue pairs and replies. */
void server_rdma_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* Tries again to send the replies that wait until a queue pair is less busy. */
void server_rdma_run(struct fuse_server *srv);
/* Sends the len bytes at server_req_data() as the reply to a READ, via RDMA if the client has
 * offered memory for that. */
void server_rdma_reply(struct server_req *q, size_t len);
/* Returns a bit for each leg that the client has offered for the request but that does not work; 0
 * if it has offered none, or all work. */
uint8_t server_rdma_failed(const struct server_req *q);
/* Returns the leg whose working queue pair has the least load, among the legs in the bit mask
 * `legs` without those in `not`; -1 if there is none. */
int server_rdma_choose(struct fuse_server_client *c, uint8_t legs, uint8_t not );
/* Returns whether the queue pair of any of these legs works, even if it is busy. */
bool server_rdma_works(const struct fuse_server_client *c, uint8_t legs);
uint8_t server_rdma_legs_failed(const struct fuse_server_client *c, uint8_t legs);
void server_rdma_client_gone(struct fuse_server_client *c);

/* server_ping.c */
/* Handles FUSE_PROTO_RDMA_PING: starts a test or refuses it. */
void server_ping_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* Returns whether the caller must poll without sleeping, because a running test measures times. A
 * test runs for at most PING_WORK_NS. */
bool server_ping_spins(const struct fuse_server *srv, uint64_t now_ns);
/* Call when the client no longer waits for the test's reply. */
void server_ping_call_gone(struct fuse_server *srv, const struct rudp_call *call);
void server_ping_client_gone(struct fuse_server_client *c);
/* Writes the test that an operator has ordered for this client and leg, as struct
 * fuse_proto_ping_order; zeros if no test is ordered. Call it when the client checks the pair of
 * the leg. */
void server_ping_order_get(const struct fuse_server_client *c, unsigned leg, uint8_t ret[16]);

#endif
