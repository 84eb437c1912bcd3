/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls that a worker may make, by role and transport; all other calls fail with EPERM.
 * The comment of each group explains the need for it.
 */
#include "dataplane/worker/sandbox/worker_sandbox.h"
#include "netcfg/base/os/seccomp.h"
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define CALLS_MAX 160
#define RULES_MAX 32

/* Put the most frequent calls first, because kernels before 5.11 search the list at each call. */
static const int calls_all[] = {
	/* Calls of the loop, the ports and the client of /dev/fuse. */
	SYS_recvmsg,
	SYS_recvmmsg,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_read,
	SYS_writev,
	SYS_epoll_pwait2,
	SYS_epoll_pwait,
	SYS_epoll_ctl,
	SYS_ppoll,
	SYS_write,
	SYS_sendto,
	SYS_recvfrom,
	SYS_close,
	SYS_readv,
	/* Calls that access the state of mounts and exports. */
	SYS_pread64,
	SYS_pwrite64,
	/* Calls for the adoption by the next agent. */
	SYS_dup3,
	/* Calls to open a port whose leg becomes available later. */
	SYS_epoll_create1,
	/* Calls for the worker's sockets, including the additional socket for a peer with much
	 * traffic. The rules below allow only UDP. */
	SYS_bind,
	SYS_connect,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_fstat,
	SYS_newfstatat,
	SYS_setfsuid,
	/* Calls of the C library for memory, time and signals. */
	SYS_munmap,
	SYS_madvise,
	SYS_brk,
	SYS_mremap,
	SYS_futex,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_getrandom,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_restart_syscall,
	SYS_getpid,
	SYS_gettid,
	SYS_sched_yield,
	SYS_lseek,
	SYS_exit,
	SYS_exit_group,
#ifdef __x86_64__ /* Older forms of the calls above, which exist only on x86. */
	SYS_epoll_wait,
	SYS_poll,
	SYS_time,
	SYS_gettimeofday,
#endif
#ifdef __SANITIZE_ADDRESS__ /* Calls for the sanitizer's reports and stacks. */
	SYS_sigaltstack,
	SYS_getrusage,
	SYS_readlinkat,
#ifdef __x86_64__
	SYS_readlink,
#endif
#endif
};

/* Calls of a frontend. Some take paths, but the frontend's root is empty, so they can only name
 * files of the procfs that it has opened. */
static const int calls_descriptors[] = {
	SYS_openat,
};

static const struct seccomp_rule rules_descriptors[] = {
	/* The lock that shows which worker is a mount worker of a mount. A worker may release it,
	 * and another worker may take it, at any time. */
	{SYS_fcntl, 1, UINT32_MAX, F_SETLK},
	{SYS_fcntl, 1, UINT32_MAX, F_GETLK},
};

/* Calls of a compute worker: it reads cached file data and attributes, and transfers data of open
 * files. The I/O helpers make all other calls (fs_helper.h). */
static const int calls_files[] = {
	SYS_io_uring_enter,
	SYS_openat2,
	SYS_name_to_handle_at,
	SYS_listxattr,
	SYS_preadv,
	SYS_preadv2,
	SYS_pwritev2,
	SYS_fsync,
	SYS_fdatasync,
	/* Calls for writing with the identity of the requesting user. */
	SYS_setfsgid,
	SYS_capset,
};

static const struct seccomp_rule rules_files[] = {
	{SYS_openat, 2, O_CREAT | (O_TMPFILE & ~O_DIRECTORY) | O_TRUNC, 0},
	/* The lock that reserves the table of file locks for one worker. */
	{SYS_fcntl, 1, UINT32_MAX, F_SETLK},
};

/* Calls of DPDK's own threads and timers. */
static const int calls_dpdk[] = {
	SYS_timerfd_settime,
	SYS_timerfd_gettime,
	SYS_eventfd2,
	SYS_shutdown,
#ifdef __x86_64__
	/* DPDK's interrupt thread makes a new epoll instance when a device appears or disappears */
	SYS_epoll_create,
#endif
	/* The call by which DPDK finds the IOMMU group of a PCI function that it releases. The
	 * empty root has no other links. */
	SYS_readlinkat,
#ifdef __x86_64__
	SYS_readlink,
#endif
};

static const struct seccomp_rule rules_all[] = {
	/* Forbids executable mappings, because code that is not part of the program must never
	 * run. */
	{SYS_mmap, 2, PROT_EXEC, 0},
	{SYS_mprotect, 2, PROT_EXEC, 0},
	/* Allows no F_SETOWN, because its signals could reach another worker. */
	{SYS_fcntl, 1, UINT32_MAX, F_GETFL},
	{SYS_fcntl, 1, UINT32_MAX, F_GETFD},
	{SYS_fcntl, 1, UINT32_MAX, F_SETFD},
	{SYS_fcntl, 1, UINT32_MAX, F_DUPFD_CLOEXEC},
	/* These read the name and the MAC of an interface, for announcements. */
	{SYS_ioctl, 1, UINT32_MAX, SIOCGIFNAME},
	{SYS_ioctl, 1, UINT32_MAX, SIOCGIFHWADDR},
	{SYS_ioctl, 1, UINT32_MAX, SIOCGIFFLAGS},
	{SYS_prlimit64, 0, UINT32_MAX, 0}, /* Allows only the limits of the process itself. */
};

/* Allow sockets for UDP and no other protocol: a datagram socket with IPPROTO_ICMP could send echo
 * requests. */
#define DATAGRAMS(family, protocol)                                                    \
	{                                                                              \
		{SYS_socket, 0, UINT32_MAX, family}, {SYS_socket, 1, 0xf, SOCK_DGRAM}, \
		{                                                                      \
			SYS_socket, 2, UINT32_MAX, protocol                            \
		}                                                                      \
	}
static const struct seccomp_rule sets_all[][SECCOMP_SET_MAX] = {
	{{SYS_fcntl, 1, UINT32_MAX, F_SETFL}, {SYS_fcntl, 2, O_ASYNC, 0}},
	DATAGRAMS(AF_INET, 0),
	DATAGRAMS(AF_INET, IPPROTO_UDP),
	DATAGRAMS(AF_INET6, 0),
	DATAGRAMS(AF_INET6, IPPROTO_UDP),
};

static const struct seccomp_rule rules_dpdk[] = {
	{SYS_ioctl, 1, 0xff00, ';' << 8}, /* VFIO: to enable and disable interrupts */
};

/* Rules for the RDMA library, which lists the kernel's RDMA devices by netlink. Netlink messages
 * that change a device fail, because they need privileges that a worker does not have. */
static const struct seccomp_rule set_rdma[SECCOMP_SET_MAX] = {
	{SYS_socket, 0, UINT32_MAX, AF_NETLINK},
	{SYS_socket, 2, UINT32_MAX, NETLINK_RDMA},
};

static const struct seccomp_rule rules_rdma[] = {
	/* Verbs, for queue pairs and for the doorbell of soft-RoCE. */
	{SYS_ioctl, 1, 0xff00, 0x1b << 8},
};

struct calls {
	int nrs[CALLS_MAX];
	size_t n;
	struct seccomp_rule rules[RULES_MAX];
	size_t n_rules;
};

static void calls_add(struct calls *c, const int *nrs, size_t n)
{
	memcpy(c->nrs + c->n, nrs, n * sizeof(nrs[0]));
	c->n += n;
}

static void rules_add(struct calls *c, const struct seccomp_rule *rules, size_t n)
{
	memcpy(c->rules + c->n_rules, rules, n * sizeof(rules[0]));
	c->n_rules += n;
}

_Static_assert(ARRAY_SIZE(calls_all) + ARRAY_SIZE(calls_files) + ARRAY_SIZE(calls_dpdk) <=
		       CALLS_MAX,
	       "the lists fit into the filter");
_Static_assert(ARRAY_SIZE(rules_all) + ARRAY_SIZE(rules_files) + ARRAY_SIZE(rules_descriptors) +
			       ARRAY_SIZE(rules_dpdk) + ARRAY_SIZE(rules_rdma) + 1 <=
		       RULES_MAX,
	       "the rules fit into the filter");

int sandbox_seal(enum sandbox_kind kind, bool dpdk, bool rdma, struct reason *why)
{
	/* Allow the signals of abort() and of assertions, but no signals to other processes. */
	const struct seccomp_rule to_self = {SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()};
	struct calls c = {.n = 0};
	struct seccomp_rule sets[ARRAY_SIZE(sets_all) + 1][SECCOMP_SET_MAX];
	struct seccomp_filter f;
	int e;

	memcpy(sets, sets_all, sizeof(sets_all));
	memcpy(sets + ARRAY_SIZE(sets_all), set_rdma, sizeof(set_rdma));
	calls_add(&c, calls_all, ARRAY_SIZE(calls_all));
	rules_add(&c, rules_all, ARRAY_SIZE(rules_all));
	rules_add(&c, &to_self, 1);
	if (kind == SANDBOX_FILES) {
		calls_add(&c, calls_files, ARRAY_SIZE(calls_files));
		rules_add(&c, rules_files, ARRAY_SIZE(rules_files));
	} else {
		calls_add(&c, calls_descriptors, ARRAY_SIZE(calls_descriptors));
		rules_add(&c, rules_descriptors, ARRAY_SIZE(rules_descriptors));
	}
	if (dpdk) {
		calls_add(&c, calls_dpdk, ARRAY_SIZE(calls_dpdk));
		rules_add(&c, rules_dpdk, ARRAY_SIZE(rules_dpdk));
	}
	if (rdma)
		rules_add(&c, rules_rdma, ARRAY_SIZE(rules_rdma));
	f = (struct seccomp_filter){.nrs = c.nrs,
				    .n_nrs = c.n,
				    .rules = c.rules,
				    .n_rules = c.n_rules,
				    .sets = sets,
				    .n_sets = ARRAY_SIZE(sets_all) + rdma,
				    .action = SECCOMP_RET_ERRNO | EPERM};
	e = seccomp_filter_install(&f);
	if (e < 0)
		reason_set_text(why, "cannot confine the worker: seccomp filter: %s", strerror(-e));
	return e;
}
