/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates the XDP program of an AF_XDP port, instruction by instruction, for one address and
 * port. So no program must be compiled or loaded from a file, and the program needs no lookup of
 * addresses. Tests execute it on their own frames (BPF_PROG_TEST_RUN). This file calls bpf(2)
 * directly, because four commands do not justify libbpf.
 */
#include "dataplane/port/xdp/port_xdp.h"
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSTRUCTIONS_MAX 64
#define IP_AT PORT_L2_ETHER_BYTES

/* Registers of the program. A call clobbers R1 to R5. */
enum { R_RESULT = 0, R_CONTEXT = 1, R_DATA = 2, R_END = 3, R_LIMIT = 4, R_VALUE = 5 };

struct code {
	struct bpf_insn insns[INSTRUCTIONS_MAX];
	unsigned n;
};

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	int r = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : r;
}

static void emit(struct code *c, uint8_t op, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	c->insns[c->n++] = (struct bpf_insn){
		.code = op, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm};
}

/* Emits a jump to the end of the program, which leaves the frame to the kernel. The distance is
 * filled in when the program is complete. */
static void jump(struct code *c, uint8_t op, uint8_t dst, uint8_t src, int32_t imm)
{
	emit(c, op, dst, src, INT16_MAX, imm);
}

static void match_bytes(struct code *c, unsigned bytes)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, R_LIMIT, R_DATA, 0, 0);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, R_LIMIT, 0, 0, (int32_t)bytes);
	jump(c, BPF_JMP | BPF_JGT | BPF_X, R_LIMIT, R_END, 0);
}

/* Emits a check that the n bytes at offset `at` of the frame, masked with `mask`, are `bytes`. n is
 * 1, 2 or 4. */
static void match_masked(struct code *c, unsigned at, const void *bytes, unsigned n, uint32_t mask)
{
	uint8_t size = n == 4 ? BPF_W : n == 2 ? BPF_H : BPF_B;
	uint32_t want = 0;

	/* The program reads words in host byte order. */
	if (n == 4) {
		memcpy(&want, bytes, 4);
	} else if (n == 2) {
		uint16_t half;

		memcpy(&half, bytes, 2);
		want = half;
	} else {
		want = *(const uint8_t *)bytes;
	}
	emit(c, BPF_LDX | BPF_MEM | size, R_VALUE, R_DATA, (int16_t)at, 0);
	if (mask != UINT32_MAX)
		emit(c, BPF_ALU | BPF_AND | BPF_K, R_VALUE, 0, 0, (int32_t)mask);
	jump(c, BPF_JMP32 | BPF_JNE | BPF_K, R_VALUE, 0, (int32_t)want);
}

static void want(struct code *c, unsigned at, const void *bytes, unsigned n)
{
	match_masked(c, at, bytes, n, UINT32_MAX);
}

static void match_byte(struct code *c, unsigned at, uint8_t byte)
{
	want(c, at, &byte, 1);
}

static void match_half(struct code *c, unsigned at, uint16_t host_order)
{
	uint16_t half = htons(host_order);

	want(c, at, &half, sizeof(half));
}

static void match_ethernet(struct code *c, const struct port_l2_local *local, uint16_t type)
{
	want(c, 0, local->mac.bytes, 4);
	want(c, 4, local->mac.bytes + 4, 2);
	match_half(c, ETH_ALEN * 2, type);
}

static void match_ip4(struct code *c, const struct port_l2_local *local)
{
	static const uint8_t not_cut[2];

	match_bytes(c, IP_AT + 20 + 8);
	match_ethernet(c, local, ETHERTYPE_IP);
	match_byte(c, IP_AT, 0x45); /* the IPv4 header has no options */
	match_masked(c, IP_AT + 6, not_cut, 2, htons(IP_MF | IP_OFFMASK));
	match_byte(c, IP_AT + 9, IPPROTO_UDP);
	want(c, IP_AT + 16, local->ip.bytes, 4);
	match_half(c, IP_AT + 20 + 2, local->udp_port);
}

static void match_ip6(struct code *c, const struct port_l2_local *local)
{
	static const uint8_t version = 0x60;

	match_bytes(c, IP_AT + 40 + 8);
	match_ethernet(c, local, ETHERTYPE_IPV6);
	match_masked(c, IP_AT, &version, 1, 0xf0);
	/* UDP follows the IPv6 header directly, so there is no extension header. A fragment would
	 * have one. */
	match_byte(c, IP_AT + 6, IPPROTO_UDP);
	for (unsigned i = 0; i < 16; i += 4)
		want(c, IP_AT + 24 + i, local->ip.bytes + i, 4);
	match_half(c, IP_AT + 40 + 2, local->udp_port);
}

static void make(struct code *c, const struct port_l2_local *local, int map)
{
	c->n = 0;
	emit(c, BPF_LDX | BPF_MEM | BPF_W, R_DATA, R_CONTEXT, offsetof(struct xdp_md, data), 0);
	emit(c, BPF_LDX | BPF_MEM | BPF_W, R_END, R_CONTEXT, offsetof(struct xdp_md, data_end), 0);
	if (local->ip.family == AF_INET6)
		match_ip6(c, local);
	/* Emit `return bpf_redirect_map(map, rx_queue_index, XDP_PASS)`: a frame of a queue without
	 * a socket stays with the kernel. */
	else
		match_ip4(c, local);
	emit(c, BPF_LDX | BPF_MEM | BPF_W, 2, R_CONTEXT, offsetof(struct xdp_md, rx_queue_index),
	     0);
	emit(c, BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
	emit(c, 0, 0, 0, 0, 0);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS);
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	for (unsigned i = 0; i < c->n; i++)
		if (c->insns[i].off == INT16_MAX)
			c->insns[i].off = (int16_t)(c->n - i - 1);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, XDP_PASS);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Clears the whole union by memset(), because an initialiser would clear only one member, and the
 * kernel refuses nonzero bytes that it does not know. */
static void attr_init(union bpf_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
}

int port_xdp_map_new(unsigned n_queues)
{
	static const char name[] = "plenum_queues";
	union bpf_attr attr;

	attr_init(&attr);
	attr.map_type = BPF_MAP_TYPE_XSKMAP;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(int);
	attr.max_entries = n_queues;
	memcpy(attr.map_name, name, sizeof(name));
	return bpf(BPF_MAP_CREATE, &attr);
}

int port_xdp_map_set(int map, unsigned queue, int socket)
{
	union bpf_attr attr;

	attr_init(&attr);
	attr.map_fd = (uint32_t)map;
	attr.key = (uint64_t)(uintptr_t)&queue;
	attr.value = (uint64_t)(uintptr_t)&socket;
	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

int port_xdp_program_load(const struct port_l2_local *local, int map)
{
	static const char license[] = "Dual BSD/GPL", name[] = "plenum_port";
	union bpf_attr attr;
	struct code c;

	make(&c, local, map);
	attr_init(&attr);
	attr.prog_type = BPF_PROG_TYPE_XDP;
	attr.expected_attach_type = BPF_XDP;
	attr.insns = (uint64_t)(uintptr_t)c.insns;
	attr.insn_cnt = c.n;
	attr.license = (uint64_t)(uintptr_t)license;
	memcpy(attr.prog_name, name, sizeof(name));
	return bpf(BPF_PROG_LOAD, &attr);
}

int port_xdp_link_new(int program, uint32_t ifindex, enum port_xdp_mode mode)
{
	union bpf_attr attr;

	attr_init(&attr);
	attr.link_create.prog_fd = (uint32_t)program;
	attr.link_create.target_ifindex = ifindex;
	attr.link_create.attach_type = BPF_XDP;
	attr.link_create.flags = mode == PORT_XDP_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	return bpf(BPF_LINK_CREATE, &attr);
}
