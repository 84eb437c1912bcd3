/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fuse_front and fuse_back agree on: the shape of their messages, and what the mount has
 * negotiated with its kernel. Constants only; owns nothing, calls nothing.
 *
 * Request: one rudp request is one FUSE request exactly as the kernel handed it out, from
 * struct fuse_in_header on, with nothing before it (so the data of a WRITE is 80 bytes in).
 * Two things are changed on the way:
 *  - `unique` has bit 63 (FUSE_PROTO_UNIQUE_RESEND) set where the request was perhaps sent before,
 *    by this frontend worker or by the one that died before it; else it is clear. The other 63 bits
 *    with the mount's id (struct fuse_hello) name the request for good: a server that has executed
 *    it already answers with what it answered then. At most FUSE_PROTO_CALLS_MAX requests of a
 *    mount are unanswered at a time, so a server that keeps that many last answers per mount
 *    always still has the one that is asked for. Without the bit it need not look.
 *  - fuse_interrupt_in.unique never has the bit: it names the request as above.
 *
 * Response: the FUSE reply from struct fuse_out_header on, `unique` as in the request (its bit 63
 * is ignored), `len` equal to the message's length. Requests to which FUSE knows no reply (FORGET,
 * BATCH_FORGET, INTERRUPT) are rudp calls all the same and are answered with an empty response.
 *
 * The frontend answers the kernel's INIT itself with the parameters below. The first call of each
 * new session is an INIT request that the frontend composes: major and minor as negotiated, flags
 * and flags2 exactly those in force (a subset of FUSE_PROTO_FLAGS), max_readahead as negotiated.
 * The server prepares its session with it, must turn on nothing else, and answers; an error in the
 * answer ends the session. No other request is sent before that answer has come. If the server
 * still knows the mount (same mount id), its nodes, handles and kept answers stay valid: INIT means
 * a new session, not a new mount. DESTROY means that the mount is gone.
 */
#ifndef PLENUM_DATAPLANE_FUSE_PROTO_H
#define PLENUM_DATAPLANE_FUSE_PROTO_H

#include <linux/fuse.h>
#include <stdint.h>

#define FUSE_PROTO_MAJOR 7
#define FUSE_PROTO_MINOR_MIN 31 /* Linux 5.4 */
#define FUSE_PROTO_MINOR_MAX 38 /* the newest that libfuse 3.14 speaks */

#define FUSE_PROTO_MAX_WRITE (1U << 20) /* bytes of data in a WRITE or READ */
#define FUSE_PROTO_MAX_PAGES 256
#define FUSE_PROTO_MAX_READAHEAD (1U << 20)
#define FUSE_PROTO_MAX_BACKGROUND 64
#define FUSE_PROTO_CALLS_MAX 256

/* Not in the kernel headers of Debian 12; include/uapi/linux/fuse.h of Linux 6.9. */
#define FUSE_PROTO_NOTIFY_RESEND 7
#define FUSE_PROTO_UNIQUE_RESEND (1ULL << 63)
#define FUSE_PROTO_HAS_RESEND (1ULL << 39)

/*
 * What is asked for where the kernel offers it. Remarks for the server:
 *  DONT_MASK: modes of MKNOD, MKDIR, CREATE come unmasked; the server applies the request's umask
 *	unless the parent directory has a default ACL.
 *  HANDLE_KILLPRIV_V2: the server clears set-id bits and capabilities when FUSE_WRITE_KILL_SUIDGID,
 *	FATTR_KILL_SUIDGID or FUSE_OPEN_KILL_SUIDGID says so. Without it the kernel would ask for
 *	security.capability before every write.
 *  ATOMIC_O_TRUNC: OPEN carries O_TRUNC.
 *  No POSIX_LOCKS, FLOCK_LOCKS: the client's kernel keeps locks. No WRITEBACK_CACHE.
 * Mounted with default_permissions: the client's kernel checks permissions, ACLs included.
 */
#define FUSE_PROTO_FLAGS                                                                           \
	((uint64_t)FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES | \
	 FUSE_DONT_MASK | FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO |     \
	 FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS | FUSE_POSIX_ACL | FUSE_MAX_PAGES |                 \
	 FUSE_CACHE_SYMLINKS | FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT | FUSE_PROTO_HAS_RESEND)

/* Offsets in messages, for buffers whose file data shall be aligned. */
#define FUSE_PROTO_WRITE_DATA (sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in))
#define FUSE_PROTO_READ_DATA sizeof(struct fuse_out_header)

#endif
