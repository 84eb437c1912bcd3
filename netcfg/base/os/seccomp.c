/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the seccomp filter as a BPF program without a library: it is only a list of comparisons,
 * and a sandboxed process should link as little code as possible.
 */
#include "netcfg/base/os/seccomp.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH_OURS AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_OURS AUDIT_ARCH_AARCH64
#else
#error "seccomp.c: name this architecture's AUDIT_ARCH_*"
#endif

#define PROGRAM_MAX 1024

struct program {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short len;
	bool full;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->len == PROGRAM_MAX) {
		p->full = true;
		return;
	}
	p->code[p->len++] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
}

static void emit_load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Emits a comparison that allows system call nr. Each comparison has its own return instruction,
 * because a BPF jump reaches at most 255 instructions. */
static void emit_allow(struct program *p, int nr)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
	emit(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

#define ARG_CODE 3 /* instructions of emit_arg */

/* Emits a test of one argument. If the argument does not match, the program jumps over the
 * remaining `left` instructions of this call. */
static void emit_arg(struct program *p, const struct seccomp_rule *r, unsigned left)
{
	size_t at = offsetof(struct seccomp_data, args) + r->arg * sizeof(uint64_t);

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		at += sizeof(uint32_t);
	emit_load(p, at);
	emit(p, BPF_ALU | BPF_AND | BPF_K, r->mask, 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, (uint8_t)left);
}

/* Emits a test for one system call, which allows the call if all n rules match. */
static void emit_rules(struct program *p, const struct seccomp_rule *rules, unsigned n)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rules[0].nr, 0, (uint8_t)(n * ARG_CODE + 2));
	for (unsigned i = 0; i < n; i++)
		emit_arg(p, &rules[i], (n - 1 - i) * ARG_CODE + 1);
	emit(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	emit_load(p, offsetof(struct seccomp_data, nr));
}

int seccomp_filter_install(const struct seccomp_filter *f)
{
	struct program p = {.len = 0};
	struct sock_fprog prog;
	long r;

	emit_load(&p, offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, ARCH_OURS, 1, 0);
	emit(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	emit_load(&p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < f->n_nrs; i++)
		emit_allow(&p, f->nrs[i]);
	for (size_t i = 0; i < f->n_rules; i++)
		emit_rules(&p, &f->rules[i], 1);
	for (size_t i = 0; i < f->n_sets; i++)
		emit_rules(&p, f->sets[i], SECCOMP_SET_MAX);
	emit(&p, BPF_RET | BPF_K, f->action, 0, 0);
	if (p.full)
		return -E2BIG;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	prog = (struct sock_fprog){.len = p.len, .filter = p.code};
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (r < 0)
		return -errno;
	return r > 0 ? -ESRCH : 0;
}
