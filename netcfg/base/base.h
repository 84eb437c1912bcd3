/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few language helpers that every folder may use: cleanup attributes, array length,
 * one string table per enum, and clocks. Owns no state; every function here is pure
 * or a thin call of the C library. Together with addr.h and log.h this is all of netcfg
 * that the dataplane may include.
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

/* As gcc says it: a process that gives up its system calls keeps those of the sanitizer. */
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
/* Legs of a host, so ports of a worker: the paths of a session have a bit each in one byte. */
#define PLENUM_LEGS_MAX 8
/* Of IP packets by AF_XDP: a frame and the kernel's room around it have to fit a page. */
#define PLENUM_AF_XDP_MTU_MAX 3498
/* What a worker's port on an interface of the kernel is called. */
#define PLENUM_DEVICE_AF_XDP "af_xdp"
#define PLENUM_DEVICE_AF_PACKET "af_packet"

/* A frame of an MTU up to this is short to DPDK, and rings have many of them. */
#define PLENUM_DPDK_SHORT_MTU 1900
/* What DPDK itself takes of a worker's memory, in MiB, and each port that it drives. */
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

/* Hands an fd or pointer out of an auto variable: the variable no longer owns it. */
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
