/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between fuse_client and fuse_server, and the parameters that the mount negotiates with
 * its kernel. This header has only constants and structures.
 *
 * The client keeps the tables of nodes and open files. Each request carries handles of the objects
 * that it refers to, which the server has made and signed. A handle always stands for the same
 * object; if that object does not exist any more, the request fails with ESTALE. So a server that
 * has lost all its memory never serves a wrong file.
 *
 * Request: one rudp request is one FUSE request as the kernel sent it: in.len bytes from struct
 * fuse_in_header on (the data of a WRITE begins at byte 80). Then follow struct fuse_proto_req_tail
 * (unaligned) and the handles. Each handle is one byte for its length, 1 to FUSE_PROTO_HANDLE_MAX,
 * and then its bytes. The first is the handle of in.nodeid, the second that of the second node, if
 * there is one: newdir of RENAME and RENAME2, oldnodeid of LINK, nodeid_out of COPY_FILE_RANGE.
 * INIT, DESTROY and INTERRUPT have no handles. The client changes these fields:
 *  - `unique` has bit 63 (FUSE_PROTO_UNIQUE_RESEND) set if the request may have been sent before,
 *    by this client or by its predecessor; otherwise the bit is clear. The other 63 bits and the
 *    mount's id (struct fuse_hello) identify the request permanently: a server that has already
 *    executed it repeats its answer. At most FUSE_PROTO_CALLS_MAX requests of a mount are
 *    unanswered at a time, so a server that keeps this many of the latest answers of each mount
 *    always has the answer that a retry needs. If bit 63 is clear, the server need not search for
 *    an answer. Bit 62 is set in requests that the client itself makes.
 *  - fuse_interrupt_in.unique names the request that is interrupted, with bit 63 clear.
 *  - the server ignores node numbers; file handles (fh, fh_in, fh_out) are replaced by the
 *    server's.
 *  - the client does not pass on FORGET, BATCH_FORGET, RELEASE and unsupported requests of the
 *    kernel. Instead of the kernel's RELEASEs it sends its own, each for one or many files
 *    (FUSE_PROTO_FEATURE_RELEASES).
 *
 * Response: the FUSE reply from struct fuse_out_header on, out.len bytes, `unique` as in the
 * request (its bit 63 is ignored). If out.error is 0 and there is more to report, struct
 * fuse_proto_resp_tail follows, then the structs that the flags in the tail name, in the order of
 * the flags, then handles as above. An answer without anything to report has no tail. Each struct
 * fuse_entry_out in the answer has nodeid 1 if the next handle in the tail belongs to it, and 0 if
 * it has no handle; the client sets generation and timeouts. The answer to INTERRUPT is an
 * empty response.
 *
 * Bulk data uses RDMA if both sides support it. The client requests queue pairs with
 * FUSE_PROTO_RDMA, a separate request: struct fuse_in_header, then struct fuse_proto_rdma with its
 * half of one queue pair per leg; the answer is struct fuse_proto_rdma with the server's halves of
 * the same legs. An error means that the server has no RDMA, or (EBUSY) that the client asks too
 * often. A server loses its half of a pair together with a path or a device. An idle client would
 * not notice this, so the client checks its pairs periodically. A READ or WRITE with
 * FUSE_PROTO_REQ_BULK has struct fuse_proto_bulk behind its handles: memory of the client, and the
 * legs that reach it. For a READ, the server writes the data into that memory before it answers. A
 * WRITE arrives without its data (in.len is 80), and the server first reads the data from that
 * memory. If the server cannot read the data, it executes nothing and answers EREMOTEIO, and the
 * client sends the WRITE again in packets. In both answers FUSE_PROTO_RESP_BULK announces struct
 * fuse_proto_bulk_done in the tail, after the structs of the flags before it. It has the number of
 * bytes that are in the client's memory instead of the answer, and the legs that failed. The client
 * drops its half of the failed pairs before it uses the memory, and requests new pairs. If the
 * server cannot write the data of a READ, it answers in packets, except with FUSE_PROTO_REQ_ONLY:
 * then `again` asks the client to retry.
 *
 * FUSE_PROTO_RDMA_PING asks the server to test one pair: struct fuse_in_header, then the head of
 * struct fuse_proto_ping, with memory that the client must not use for anything else meanwhile. The
 * server writes or reads that memory `count` times, `depth` at a time, and answers with the same
 * struct: the number of transfers and the duration of each. If the transfers take long, it does
 * fewer than requested. It tests for one client at a time, and after each test pauses three times
 * as long as the test took. A server that wants such a test includes a request for it when the
 * client checks the pair (struct fuse_proto_ping_order); the client owns the memory, and decides
 * whether to start the test.
 *
 * The client answers the kernel's INIT with the parameters below. The first call of each new
 * session is an INIT request that the client composes: major and minor as negotiated, flags and
 * flags2 exactly those in force (a subset of FUSE_PROTO_FLAGS), max_readahead as negotiated. The
 * server prepares its session with it, must not enable any other flag, and answers with struct
 * fuse_proto_server and the root's handle; an error in the answer ends the session. If the server's
 * incarnation has changed, the client then reopens all its open files. It sends no other request
 * before the answers to these requests have arrived. DESTROY means that the mount has ended.
 */
#ifndef PLENUM_DATAPLANE_FUSE_PROTO_H
#define PLENUM_DATAPLANE_FUSE_PROTO_H

#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>

#define FUSE_PROTO_MAJOR 7
#define FUSE_PROTO_MINOR_MIN 31 /* Linux 5.4 */
/* The newest minor version of which server_check.c knows all requests. */
#define FUSE_PROTO_MINOR_MAX 38

#define FUSE_PROTO_MAX_WRITE (1U << 20) /* maximum number of bytes of data in a WRITE or READ */
#define FUSE_PROTO_MAX_PAGES 256
#define FUSE_PROTO_MAX_READAHEAD (1U << 20)
/* Maximum number of background requests of a mount. Direct reads and writes count too, so with a
 * small limit programs would wait for each other. */
#define FUSE_PROTO_MAX_BACKGROUND 256
#define FUSE_PROTO_CALLS_MAX 256

/* From include/uapi/linux/fuse.h of Linux 6.9; the kernel headers of Debian 12 do not have them. */
#define FUSE_PROTO_NOTIFY_RESEND 7
#define FUSE_PROTO_UNIQUE_RESEND (1ULL << 63)
#define FUSE_PROTO_HAS_RESEND (1ULL << 39)
#define FUSE_PROTO_DIRECT_IO_MMAP (1ULL << 36) /* Linux 6.6; between kernel and client only */

/*
 * The features that the client requests if the kernel offers them. Remarks for the server:
 *  - DONT_MASK: modes of MKNOD, MKDIR, CREATE arrive unmasked; the server applies the request's
 *    umask unless the parent directory has a default ACL.
 *  - HANDLE_KILLPRIV_V2: the server clears set-id bits and capabilities if the request has
 * FUSE_WRITE_KILL_SUIDGID, FATTR_KILL_SUIDGID or FUSE_OPEN_KILL_SUIDGID. Without it the kernel
 * would ask for security.capability before every write.
 *  - ATOMIC_O_TRUNC: OPEN carries O_TRUNC.
 *  - No POSIX_LOCKS, FLOCK_LOCKS: the server learns by FUSE_PROTO_FEATURE_LOCKS that it manages the
 *    locks of a mount. No WRITEBACK_CACHE.
 *
 * The mount has default_permissions: the client's kernel checks permissions, including ACLs.
 */
#define FUSE_PROTO_FLAGS                                                                           \
	((uint64_t)FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES | \
	 FUSE_DONT_MASK | FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO |     \
	 FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS | FUSE_POSIX_ACL | FUSE_MAX_PAGES |                 \
	 FUSE_CACHE_SYMLINKS | FUSE_HANDLE_KILLPRIV_V2 | FUSE_INIT_EXT | FUSE_PROTO_HAS_RESEND)

/* Offsets of file data in messages, so that a buffer can align the data. */
#define FUSE_PROTO_WRITE_DATA (sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in))
#define FUSE_PROTO_READ_DATA sizeof(struct fuse_out_header)

#define FUSE_PROTO_VERSION 3 /* version of the hello and of all later messages */
/*
 * Flags in `generation` of the entries in an answer; NO_XATTRS also in the last field of attributes
 * (struct fuse_attr) in an answer.
 *  - NO_XATTRS: the file has no extended attributes, except possibly trusted ones.
 *  - LEASED, if leases are in force: for one second after the request was sent, no other client
 *    redirects the name to another file or changes the file.
 *  - EMPTY, in the answer to MKDIR: for one second after the request was sent, no other client
 *    creates a name in the new directory.
 */
#define FUSE_PROTO_NO_XATTRS 1U
#define FUSE_PROTO_LEASED 2U
#define FUSE_PROTO_EMPTY 4U
/*
 * Optional features of both sides. The first unused word of INIT's argument has those that the
 * client supports, and the same word of the answer has those in force. A peer that does not know
 * this word leaves it 0.
 */
#define FUSE_PROTO_FEATURE_DIR_ATTR 1U /* answers may have FUSE_PROTO_RESP_DIR_ATTR */
#define FUSE_PROTO_FEATURE_LEASE 2U    /* entries may be FUSE_PROTO_LEASED */
/* Further file handles follow the argument of a RELEASE or RELEASEDIR: one request can close up to
 * FUSE_PROTO_RELEASES_MAX files and directories. */
#define FUSE_PROTO_FEATURE_RELEASES 4U
#define FUSE_PROTO_FEATURE_END 8U    /* answers may have FUSE_PROTO_RESP_END */
#define FUSE_PROTO_FEATURE_ONLY 16U  /* READs may have FUSE_PROTO_REQ_ONLY */
#define FUSE_PROTO_FEATURE_EMPTY 32U /* entries may be FUSE_PROTO_EMPTY */
/* The server leaves permission checks to the client's kernel. A SETATTR with FATTR_CTIME alone sets
 * the ctime to the current time and changes nothing else. */
#define FUSE_PROTO_FEATURE_TOUCH 64U
/* Mounts whose ids differ only in the last four bits belong to one kernel. They share its caches,
 * so changes by one of them need not be reported to the others. */
#define FUSE_PROTO_FEATURE_MOUNT_WORKERS 128U
/* In the argument of OPENDIR, open_flags is the number of bytes of entries that the server may
 * append to its answer. FUSE_PROTO_RESP_END in the answer means that it has appended all entries of
 * the directory. */
#define FUSE_PROTO_FEATURE_LIST 256U
#define FUSE_PROTO_FEATURE_WRITTEN 512U /* WRITEs may have FUSE_PROTO_REQ_ATTR */
/* Answers may have FUSE_PROTO_RESP_NAMES; requires FUSE_PROTO_FEATURE_LIST. */
#define FUSE_PROTO_FEATURE_NAMES 1024U
/*
 * The server manages the file locks of this mount. The client requests it for such mounts only.
 * Then two more words of INIT's answer have the mount's lock epoch: if it differs from that of the
 * former session, the server has freed all locks of the mount meanwhile. GETLK, SETLK, SETLKW and
 * FLUSH are passed on, with these changes:
 *  - fuse_lk_in.padding has a number of the open file, the same in all sessions and not 0.
 *  - SETLKW is answered at once. EINPROGRESS: the request waits, and the answer to LOCK_WAIT will
 *    name it by its `unique`. It stops waiting when the session ends, and is then sent again.
 *    FUSE_PROTO_LK_CANCEL in lk_flags cancels the waiting request whose `unique` is in `owner`:
 *    ENOENT means that this request does not wait, because its lock was granted.
 *  - FLUSH frees the fcntl locks of its owner on the file. With FUSE_PROTO_FLUSH_OPENER in `unused`
 *    it frees all locks that were made by the open file whose number is in lock_owner.
 *  - FUSE_PROTO_RESP_UNLOCKED in answers to SETLK and FLUSH.
 */
#define FUSE_PROTO_FEATURE_LOCKS 2048U
#define FUSE_PROTO_LK_CANCEL (1U << 31)
#define FUSE_PROTO_FLUSH_OPENER 1U
/* The first of two words in fuse_init_out.unused; the first has the low half. */
#define FUSE_PROTO_INIT_EPOCH 1U
/*
 * With LOCKS: after a reboot of the server's host, the client can reclaim its locks. The word
 * FUSE_PROTO_INIT_RECLAIM of INIT's answer is 1 if it must, with the same lock epoch as before the
 * reboot. Then the client sends no request but those that reopen its files, then, for each lock, a
 * SETLK with FUSE_PROTO_LK_RECLAIM in lk_flags: EAGAIN means that another mount has a conflicting
 * lock. The client then sends a SETLK with FUSE_PROTO_LK_RECLAIMED, which says that the mount has
 * reclaimed all its locks. Until all mounts have done so, for at most 30 seconds, requests for
 * locks wait.
 */
#define FUSE_PROTO_FEATURE_RECLAIM 4096U
#define FUSE_PROTO_LK_RECLAIM (1U << 30)
#define FUSE_PROTO_LK_RECLAIMED (1U << 29)
#define FUSE_PROTO_INIT_RECLAIM 3U /* index of the word in fuse_init_out.unused */
/*
 * Write-back: the server can lease a file to one mount for writing. WRITEs may have
 * FUSE_PROTO_REQ_LEASE and FUSE_PROTO_REQ_HELD. While a mount has the lease, requests of other
 * mounts that would show or change the file wait, until the client returns the lease.
 */
#define FUSE_PROTO_FEATURE_WRITE_BACK 8192U
#define FUSE_PROTO_FEATURES                                                                      \
	(FUSE_PROTO_FEATURE_DIR_ATTR | FUSE_PROTO_FEATURE_LEASE | FUSE_PROTO_FEATURE_RELEASES |  \
	 FUSE_PROTO_FEATURE_END | FUSE_PROTO_FEATURE_ONLY | FUSE_PROTO_FEATURE_EMPTY |           \
	 FUSE_PROTO_FEATURE_TOUCH | FUSE_PROTO_FEATURE_MOUNT_WORKERS | FUSE_PROTO_FEATURE_LIST | \
	 FUSE_PROTO_FEATURE_WRITTEN | FUSE_PROTO_FEATURE_NAMES | FUSE_PROTO_FEATURE_LOCKS |      \
	 FUSE_PROTO_FEATURE_RECLAIM | FUSE_PROTO_FEATURE_WRITE_BACK)
#define FUSE_PROTO_RELEASES_MAX 64
#define FUSE_PROTO_HANDLE_MAX 96
#define FUSE_PROTO_REQ_HANDLES_MAX 2

enum {
	/* OPEN, OPENDIR: the client has this file open already, but the server does not know that
	 * any more. The server ignores O_TRUNC, and grants a permission that was granted before. It
	 * also opens an unlinked file, which would otherwise fail with ESTALE. */
	FUSE_PROTO_REQ_REOPEN = 1,
	FUSE_PROTO_REQ_BULK = 2, /* READ, WRITE: struct fuse_proto_bulk follows the handles */
	FUSE_PROTO_REQ_ONLY = 4, /* READ: the server must fail the request instead of sending the
				    data in packets */
	FUSE_PROTO_REQ_ATTR = 8, /* WRITE: the answer must have FUSE_PROTO_RESP_ATTR */
	/* WRITE: the client asks for the lease of the file for writing. `padding` in the answer has
	 * the lease's number; 0: the client has no lease. */
	FUSE_PROTO_REQ_LEASE = 16,
	/* WRITE: data that the client has acknowledged to programs under the lease whose number is
	 * in `padding`. If the mount has lost this lease, the server writes nothing and answers
	 * ESTALE. Without data, the WRITE returns the lease; number 0: whatever its number is. The
	 * client has no unanswered WRITE of held data then. */
	FUSE_PROTO_REQ_HELD = 32,
};

struct fuse_proto_req_tail {
	uint16_t flags; /* FUSE_PROTO_REQ_* */
	uint8_t n_handles;
	uint8_t pad[5];
};

enum {
	FUSE_PROTO_RESP_ATTR = 1,     /* struct fuse_attr of the opened file (OPEN), or of the file
					 after the write (WRITE); absent if it is not available */
	FUSE_PROTO_RESP_SERVER = 2,   /* struct fuse_proto_server; INIT only */
	FUSE_PROTO_RESP_DIR_ATTR = 4, /* struct fuse_attr of the directory in which the request has
					 created or removed a name */
	FUSE_PROTO_RESP_BULK = 8,     /* struct fuse_proto_bulk_done; only if the request had
					 REQ_BULK */
	FUSE_PROTO_RESP_END = 16,   /* READDIR, READDIRPLUS: there are no more entries; OPENDIR: all
				       entries of the directory follow struct fuse_open_out, in the
				       format of READDIRPLUS */
	FUSE_PROTO_RESP_NAMES = 32, /* OPENDIR, with END: for one second after the request was sent,
				       no other client creates, renames or removes a name in the
				       directory */
	FUSE_PROTO_RESP_UNLOCKED = 64, /* the mount has no lock on the file any more, and does not
					  wait for one */
};

struct fuse_proto_resp_tail {
	uint16_t flags; /* FUSE_PROTO_RESP_* */
	uint16_t n_handles;
	uint32_t pad;
};

struct fuse_proto_server {
	uint64_t incarnation; /* a random number of the server's process, which also changes when
				 the server closes the mount's files. If it has changed, no file of
				 the client is open at the server */
	uint64_t verifier;    /* changes when acknowledged but unsynced data may be lost */
};

#define FUSE_PROTO_RDMA 0x504c0001U /* an opcode that no kernel uses */
#define FUSE_PROTO_RDMA_VERSION 2
#define FUSE_PROTO_RDMA_LEGS_MAX 8
/* Value of fuse_proto_rdma_leg.status in a request that only checks the existing pair. */
#define FUSE_PROTO_RDMA_CHECK 1

struct fuse_proto_rdma_leg {
	uint8_t leg;	/* index of the leg, chosen by the client, below FUSE_PROTO_RDMA_LEGS_MAX */
	uint8_t status; /* in the request: 0, or FUSE_PROTO_RDMA_CHECK; in the answer: 0, or the
			   reason why there is no pair */
	uint8_t link;	/* link type of the sender: 1 InfiniBand, 2 RoCE v2; 3 is reserved */
	uint8_t mtu;	/* packet size: 1 is 256 bytes, each further step doubles it. 0: do not make
			   a pair, only compare the link types; status in the answer then shows
			   whether they differ */
	uint16_t lid;
	uint16_t pad;
	uint32_t qpn, psn; /* the sender's queue pair number and first packet sequence number; in a
			      check, qpn is the server's number, and all other members are 0 */
	uint32_t key;	   /* RDMA key of the client's memory */
	uint8_t gid[16];   /* in the answer to a check: contains struct fuse_proto_ping_order */
	uint8_t to[16];	   /* the server's address to which the client connects the pair; IPv4
			      addresses are mapped into IPv6 */
};

struct fuse_proto_rdma {
	uint32_t version; /* FUSE_PROTO_RDMA_VERSION */
	uint32_t n_legs;
	/* only the first n_legs of them are sent */
	struct fuse_proto_rdma_leg legs[FUSE_PROTO_RDMA_LEGS_MAX];
};

struct fuse_proto_bulk {
	uint64_t addr;
	uint32_t len;
	uint8_t legs; /* bit mask of the legs by which the server can reach the memory */
	uint8_t pad[3];
};

struct fuse_proto_bulk_done {
	uint32_t len;	/* number of bytes of data in the client's memory; 0: the data is in the
			   answer; always 0 for a WRITE */
	uint8_t failed; /* bit mask of the legs that failed */
	uint8_t again;	/* READ: 1: nothing was read, because no leg can transfer the data now: the
			   client must retry */
	uint8_t pad[2];
};

/* The message is struct fuse_in_header alone. The server answers it when waiting SETLKW requests of
 * the mount were granted their locks: struct fuse_out_header, then the `unique` of up to
 * FUSE_PROTO_LOCK_WAIT_MAX of them. A session has at most one such message in flight. */
#define FUSE_PROTO_LOCK_WAIT 0x504c0005U /* an opcode that no kernel uses */
#define FUSE_PROTO_LOCK_WAIT_MAX 32U

#define FUSE_PROTO_RDMA_PING 0x504c0003U /* an opcode that no kernel uses */
#define FUSE_PROTO_PING_VERSION 1
#define FUSE_PROTO_PING_COUNT_MAX 64
#define FUSE_PROTO_PING_DEPTH_MAX 4

enum fuse_proto_ping_what {
	/* The server writes to the client's memory, as for a READ request. */
	FUSE_PROTO_PING_WRITE = 1,
	FUSE_PROTO_PING_READ, /* the server reads the client's memory, as for a WRITE request */
	FUSE_PROTO_PING_WHAT_MAX
};

enum fuse_proto_ping_status {
	FUSE_PROTO_PING_DONE,
	FUSE_PROTO_PING_BUSY,	/* the pair or the server is busy: the client must retry later */
	FUSE_PROTO_PING_FAILED, /* the pair does not exist or has failed: the client must drop its
				   side */
	FUSE_PROTO_PING_STATUS_MAX
};

struct fuse_proto_ping {
	uint32_t version; /* FUSE_PROTO_PING_VERSION */
	uint8_t leg;
	uint8_t what;	/* enum fuse_proto_ping_what */
	uint8_t depth;	/* 1 to FUSE_PROTO_PING_DEPTH_MAX */
	uint8_t status; /* set in the answer: enum fuse_proto_ping_status */
	uint32_t count; /* count of transfers, 1 to FUSE_PROTO_PING_COUNT_MAX; in the answer: count
			   of completed transfers */
	uint32_t len;	/* bytes of each transfer, 1 to FUSE_PROTO_MAX_WRITE */
	uint64_t addr;
	uint64_t took_ns; /* set in the answer: duration of all transfers together */
	uint32_t each_ns[FUSE_PROTO_PING_COUNT_MAX]; /* present only in the answer: `count`
							durations */
};

/* A test that the server asks the client to start on a pair that works. All zeros: the server asks
 * for none. */
struct fuse_proto_ping_order {
	uint8_t what;  /* enum fuse_proto_ping_what */
	uint8_t depth; /* 1 to FUSE_PROTO_PING_DEPTH_MAX */
	uint8_t pad[2];
	/* Count of transfers, 1 to fuse_proto_ping_order_count_max; the client makes several
	 * requests, each with at most fuse_proto_ping_count_max transfers. */
	uint32_t count;
	uint32_t len; /* bytes of each transfer, 1 to FUSE_PROTO_MAX_WRITE */
	uint32_t pad2;
};
#define FUSE_PROTO_PING_ORDER_COUNT_MAX 4096

_Static_assert(offsetof(struct fuse_proto_ping, each_ns) == 32, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_ping_order) == 16, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_rdma_leg) == 52, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_bulk) == 16, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_bulk_done) == 8, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_req_tail) == 8, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_resp_tail) == 8, "layout on the wire");
_Static_assert(sizeof(struct fuse_proto_server) == 16, "layout on the wire");

/* Maximum length of the tail of a request. */
#define FUSE_PROTO_REQ_TAIL_MAX                                      \
	(sizeof(struct fuse_proto_req_tail) +                        \
	 FUSE_PROTO_REQ_HANDLES_MAX * (1U + FUSE_PROTO_HANDLE_MAX) + \
	 sizeof(struct fuse_proto_bulk))
/* Limit of the `size` field of READDIRPLUS. The client reduces the size that the kernel requests,
 * so that the handles also fit into the answer. */
#define FUSE_PROTO_DIRPLUS_MAX (256U << 10)
/* Limit for the entries in an answer to OPENDIR; about a hundred files fit. */
#define FUSE_PROTO_LIST_MAX (24U << 10)
/* Minimum length of an entry in a READDIRPLUS answer. */
#define FUSE_PROTO_DIRPLUS_ENTRY FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + 1U)
#define FUSE_PROTO_RESP_SMALL 512U /* larger than any answer of fixed size */
#define FUSE_PROTO_XATTR_MAX 65536U
#define FUSE_PROTO_LINK_MAX 4096U

/* Returns the maximum length, from struct fuse_out_header on and with the tail, of the answer to a
 * request with this `size` field (0 if the opcode has none). */
static inline uint32_t fuse_proto_resp_max(uint32_t opcode, uint32_t size)
{
	uint32_t n = 0;

	switch (opcode) {
	case FUSE_READ:
		n = size < FUSE_PROTO_MAX_WRITE ? size : FUSE_PROTO_MAX_WRITE;
		n += (uint32_t)(sizeof(struct fuse_proto_resp_tail) +
				sizeof(struct fuse_proto_bulk_done));
		break;
	case FUSE_READDIR:
		n = size < FUSE_PROTO_MAX_WRITE ? size : FUSE_PROTO_MAX_WRITE;
		break;
	case FUSE_READDIRPLUS:
		n = size < FUSE_PROTO_DIRPLUS_MAX ? size : FUSE_PROTO_DIRPLUS_MAX;
		n += (uint32_t)sizeof(struct fuse_proto_resp_tail) +
		     n / (uint32_t)FUSE_PROTO_DIRPLUS_ENTRY * (1U + FUSE_PROTO_HANDLE_MAX);
		break;
	case FUSE_OPENDIR: /* here `size` is the number of bytes of entries that the request asks
			      for */
		n = size < FUSE_PROTO_LIST_MAX ? size : FUSE_PROTO_LIST_MAX;
		n += (uint32_t)(sizeof(struct fuse_open_out) +
				sizeof(struct fuse_proto_resp_tail)) +
		     n / (uint32_t)FUSE_PROTO_DIRPLUS_ENTRY * (1U + FUSE_PROTO_HANDLE_MAX);
		break;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		n = size < FUSE_PROTO_XATTR_MAX ? size : FUSE_PROTO_XATTR_MAX;
		break;
	case FUSE_READLINK:
		n = FUSE_PROTO_LINK_MAX;
		break;
	default:
		break;
	}
	n += (uint32_t)sizeof(struct fuse_out_header);
	return n > FUSE_PROTO_RESP_SMALL ? n : FUSE_PROTO_RESP_SMALL;
}

#endif
