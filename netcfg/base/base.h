/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Language helpers that every folder may use: cleanup attributes, array length, enums with one
 * string table each, limits shared by all, clocks. Owns no state; every function is pure or a thin
 * call of the C library. The dataplane uses no other part of netcfg than this folder.
 */
#ifndef PLENUM_NETCFG_BASE_H
#define PLENUM_NETCFG_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Clang reports its sanitizers by __has_feature, gcc by macros: both mean the same here. A
 * sandboxed process must keep the system calls of the sanitizer's runtime. */
#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PLENUM_CLEANUP(fn) __attribute__((cleanup(fn)))
#define PLENUM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PLENUM_LIKELY(x) __builtin_expect(!!(x), 1)
#define PLENUM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL

/* Longest host, network, leg, label, mount and export name, with the final NUL. */
#define PLENUM_NAME_MAX 64
/* Abstract socket that the agent of a network namespace holds, see agent/base/host_lock.h. */
#define PLENUM_HOST_LOCK "plenum/plenumd"
/* Legs of a host, and so ports of a worker. A session stores its paths as bits of one byte. */
#define PLENUM_LEGS_MAX 8
/* Largest MTU that AF_XDP carries: frame and kernel headroom must fit one page. */
#define PLENUM_AF_XDP_MTU_MAX 3498
/* Device name of a worker's AF_XDP port on a kernel interface. */
#define PLENUM_DEVICE_AF_XDP "af_xdp"
#define PLENUM_DEVICE_AF_PACKET "af_packet"

/* DPDK ports with an MTU up to this use their rings' larger default sizes. */
#define PLENUM_DPDK_SHORT_MTU 1900
/* Hugepage memory in MiB that DPDK itself needs in a worker, and that each of its ports needs. */
#define PLENUM_DPDK_MIB 16
static inline uint32_t plenum_dpdk_port_mib(uint32_t mtu)
{
	return mtu <= PLENUM_DPDK_SHORT_MTU ? 8 : 20;
}

/* Locals: `autofree char *s`, `autoclose int fd = -1`. */
static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define autofree PLENUM_CLEANUP(cleanup_free)
#define autoclose PLENUM_CLEANUP(cleanup_close)

/* Moves an fd or pointer out of an auto variable, which then no longer owns it. */
#define fd_take(fd)                   \
	({                            \
		int fd_taken_ = (fd); \
		(fd) = -1;            \
		fd_taken_;            \
	})
#define ptr_take(p)                             \
	({                                      \
		__typeof__(p) ptr_taken_ = (p); \
		(p) = NULL;                     \
		ptr_taken_;                     \
	})

/* Monotonic time in ns. Never goes back, is not wall-clock time. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
