/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements client_rdma_rig.h. */
#include "tests/lib/fuse/client_rdma_rig.h"

struct port_rdma *rdma;
uint8_t rdma_data[BYTES], rdma_late[BYTES], rdma_got[BYTES + 64];

int rdma_setup(void **state)
{
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};
	struct rig *g;

	verbs_reset();
	memcpy(verbs.gid, gid, sizeof(gid));
	memset(rdma_data, 'd', sizeof(rdma_data));
	memset(rdma_late, 'L', sizeof(rdma_late));
	rig_setup_rdma(state, 2);
	g = *state;
	n_session_paths = 2;
	g->cfg->rdma_read_min = g->cfg->rdma_write_min = 32 << 10;
	for (unsigned i = 0; i < 2; i++) {
		const struct ip_addr ip = {.family = AF_INET, .bytes = {10, 0, 0, 1}};

		g->cfg->ports[i].ip.addr = session_paths[i].remote.ip = ip;
		session_paths[i].port = i;
		session_paths[i].up = true;
		session_paths[i].mtu = i == 0 ? 1500 : 1111;
	}
	assert_int_equal(port_rdma_open(g->cfg, &rdma), 0);
	fuse_client_set_rdma(g->f, rdma, g->cfg);
	return 0;
}

int rdma_teardown(void **state)
{
	rig_teardown(state);
	rdma = port_rdma_free(rdma);
	verbs_done();
	n_session_paths = 0;
	session_security = RUDP_SECURITY_NONE;
	return 0;
}

uint32_t rdma_theirs[2];

void answer_pairs(struct rig *g, unsigned call, uint8_t status)
{
	struct fuse_proto_rdma p;
	size_t len = calls[call].len - sizeof(struct fuse_in_header);

	assert_int_equal(call_header(call).opcode, FUSE_PROTO_RDMA);
	memset(&p, 0, sizeof(p));
	memcpy(&p, calls[call].msg + sizeof(struct fuse_in_header), len);
	for (unsigned i = 0; i < p.n_legs; i++) {
		if (p.legs[i].status == FUSE_PROTO_RDMA_CHECK) {
			p.legs[i].status = 0;
			continue;
		}
		/* The MTU of the queue pairs is 1024 bytes if that fits the leg together with the
		 * headers, else 512 bytes. */
		assert_int_equal(p.legs[i].mtu, p.legs[i].leg == 0 ? 3 : 2);
		p.legs[i].status = status;
		p.legs[i].qpn = rdma_theirs[p.legs[i].leg] = verbs.n_qps + 1000 + i;
	}
	respond(g, call, 0, &p, len);
}

struct fuse_proto_bulk bulk_of(unsigned call)
{
	struct fuse_proto_req_tail t = call_tail(call);
	const uint8_t *p = calls[call].msg + call_header(call).len + sizeof(t);
	struct fuse_proto_bulk bulk = {.len = 0};

	for (unsigned i = 0; i < t.n_handles; i++)
		p += 1 + p[0];
	if (t.flags & FUSE_PROTO_REQ_BULK) {
		assert_true(p + sizeof(bulk) == calls[call].msg + calls[call].len);
		memcpy(&bulk, p, sizeof(bulk));
	}
	return bulk;
}

unsigned rdma_qps[2];

void pairs_up(struct rig *g)
{
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	rdma_qps[0] = verbs.n_qps - 2;
	rdma_qps[1] = verbs.n_qps - 1;
	answer_pairs(g, 0, 0);
	/* Let the client check its queue pairs if it is time for that. */
	fuse_client_tick(g->f, g->now_ns);
	if (n_calls > 0)
		answer_pairs(g, 0, 0);
	assert_int_equal(n_calls, 0);
}

struct fuse_proto_bulk read_begin(struct rig *g, uint64_t node, uint64_t fh)
{
	const struct fuse_read_in in = {.fh = fh, .size = BYTES};

	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	return bulk_of(n_calls - 1);
}

void answer_call(struct rig *g, unsigned call, uint32_t there, uint8_t failed, const void *body,
		 size_t len)
{
	const struct fuse_proto_bulk_done done = {.len = there, .failed = failed};
	struct tail t = tail_make(FUSE_PROTO_RESP_BULK, 0);

	tail_add(&t, &done, sizeof(done));
	respond_tail(g, call, 0, body, len, &t);
}

void answer_bulk(struct rig *g, uint32_t there, uint8_t failed, const void *body, size_t len)
{
	answer_call(g, n_calls - 1, there, failed, body, len);
}

void expect_rdma_data(struct rig *g, const void *want)
{
	struct fuse_out_header out;

	assert_int_equal(kernel_receive(g, &out, rdma_got, sizeof(rdma_got)), sizeof(out) + BYTES);
	assert_int_equal(out.error, 0);
	assert_memory_equal(rdma_got, want, BYTES);
}

uint64_t rdma_file(struct rig *g, uint64_t *ret_fh)
{
	uint64_t node = lookup(g, "f", "handle");

	*ret_fh = open_file(g, node, 5);
	return node;
}

unsigned call_of(uint32_t opcode)
{
	unsigned i = 0;

	while (i < n_calls && call_header(i).opcode != opcode)
		i++;
	return i;
}

struct fuse_proto_rdma check_begin(struct rig *g)
{
	struct fuse_proto_rdma p;
	size_t len;

	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_PROTO_RDMA);
	len = calls[0].len - sizeof(struct fuse_in_header);
	assert_int_equal(len, offsetof(struct fuse_proto_rdma, legs) + 2 * sizeof(p.legs[0]));
	memset(&p, 0, sizeof(p));
	memcpy(&p, calls[0].msg + sizeof(struct fuse_in_header), len);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p.legs[i].status, FUSE_PROTO_RDMA_CHECK);
		assert_int_equal(p.legs[i].qpn, rdma_theirs[i]);
		p.legs[i].status = 0;
	}
	return p;
}

void check_end(struct rig *g, struct fuse_proto_rdma p, unsigned n_legs)
{
	p.n_legs = n_legs;
	respond(g, 0, 0, &p, offsetof(struct fuse_proto_rdma, legs) + n_legs * sizeof(p.legs[0]));
}
