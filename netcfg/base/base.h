/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Language helpers that every folder may use: cleanup attributes, array length, enums with one
 * string table each, limits that several components share, clocks. The functions keep no state. Of
 * netcfg, the data plane uses only this folder.
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

/* Clang reports its sanitizers by __has_feature, gcc by macros; one macro here covers both. A
 * sandboxed process must allow the system calls of the sanitizer's runtime. */
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

/* Maximum length of a host, network, leg, label, mount or export name, including the final NUL. */
#define PLENUM_NAME_MAX 64
/* Abstract socket that an agent binds so that its network namespace has only one agent; see
 * agent/base/host_lock.h. */
#define PLENUM_HOST_LOCK "plenum/plenumd"
/* Maximum number of legs of a host, and of ports of a worker. Sessions store a set of paths as bits
 * of one byte, so it cannot exceed 8. */
#define PLENUM_LEGS_MAX 8
/* Largest MTU that AF_XDP carries: the frame and the kernel's headroom must fit one page. */
#define PLENUM_AF_XDP_MTU_MAX 3498
/* Name of the DPDK device by which a worker uses AF_XDP on a kernel interface. */
#define PLENUM_DEVICE_AF_XDP "af_xdp"
#define PLENUM_DEVICE_AF_PACKET "af_packet"

/* DPDK ports with at most this MTU use the larger default size for their rings, because their
 * packet buffers are small. */
#define PLENUM_DPDK_SHORT_MTU 1900
/* Hugepage memory in MiB that DPDK needs in each worker, and for each port of a worker. */
#define PLENUM_DPDK_MIB 16
static inline uint32_t plenum_dpdk_port_mib(uint32_t mtu)
{
	return mtu <= PLENUM_DPDK_SHORT_MTU ? 8 : 20;
}

/* Declare local variables that are released at the end of their scope: `autofree char *s`,
 * `autoclose int fd = -1`. */
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

/* Moves a descriptor or a pointer out of an autoclose or autofree variable, which does not own it
 * afterwards. */
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

/* Monotonic time in ns: it never goes backwards and is unrelated to wall-clock time. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Returns the time since the host's start, with the time in which the host was suspended. */
static inline uint64_t clock_boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
