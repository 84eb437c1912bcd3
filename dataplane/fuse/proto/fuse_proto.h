/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fuse_client and fuse_server agree on: the shape of their messages, and what the mount has
 * negotiated with its kernel. Constants and sizes only; owns nothing, calls nothing.
 *
 * The client owns nodes and open files; the server is told with each request which objects it is
 * about, by handles that the server made and signed and that mean the same object for ever, or
 * nothing any more (ESTALE). So a server that has lost all its memory never serves another file.
 *
 * Request: one rudp request is one FUSE request as the kernel handed it out, in.len bytes from
 * struct fuse_in_header on (so the data of a WRITE is 80 bytes in), then struct fuse_proto_req_tail
 * (aligned to nothing) and its handles, each a byte of length, 1 to FUSE_PROTO_HANDLE_MAX, and the
 * bytes: first that of in.nodeid; then of the second node: newdir of RENAME and RENAME2, oldnodeid
 * of LINK, nodeid_out of COPY_FILE_RANGE. INIT, DESTROY and INTERRUPT have none. Changed on the
 * way:
 *  - `unique` has bit 63 (FUSE_PROTO_UNIQUE_RESEND) set where the request was perhaps sent before,
 *    by this frontend worker or by the one that died before it; else it is clear. The other 63 bits
 *    with the mount's id (struct fuse_hello) name the request for good: a server that has executed
 *    it already answers with what it answered then. At most FUSE_PROTO_CALLS_MAX requests of a
 *    mount are unanswered at a time, so a server that keeps that many last answers per mount
 *    always still has the one that is asked for. Without the bit it need not look. Requests that
 *    the client makes itself have bit 62 set.
 *  - fuse_interrupt_in.unique never has the bit: it names the request as above.
 *  - node numbers mean nothing to the server; file handles (fh, fh_in, fh_out) are the server's.
 *  - FORGET, BATCH_FORGET and what no server serves end at the client, as does the kernel's
 *    RELEASE: the server gets one of the client's own, which may be for many files (RELEASES).
 *
 * Response: the FUSE reply from struct fuse_out_header on, out.len bytes, `unique` as in the
 * request (its bit 63 is ignored), then, where there is something to say and out.error is 0, struct
 * fuse_proto_resp_tail and, in the order of its flags, what they name, then its handles as above.
 * An answer that would have an empty tail may go without. Each struct fuse_entry_out in the answer
 * has nodeid 1 where a handle follows for it, in order, and 0 where none does; generation and
 * timeouts are the client's. INTERRUPT is answered with an empty response.
 *
 * Bulk data go by RDMA where both ends have it. The client asks for it by FUSE_PROTO_RDMA, a
 * request of its own: struct fuse_in_header, then struct fuse_proto_rdma with its halves of queue
 * pairs, a leg each; the answer is struct fuse_proto_rdma with the server's halves of the same
 * legs. An error means that the server has none, or (EBUSY) that it was asked too often. A server
 * loses its half of a pair with a path or a device of its own, of which a client that asks for
 * nothing would not hear: it asks now and then whether the pairs that it has are still there. A
 * READ or WRITE with FUSE_PROTO_REQ_BULK has struct fuse_proto_bulk behind its handles: memory of
 * the client's, and the legs over which it may be reached. Into that of a READ the server writes
 * what was read before it answers; a WRITE comes without its data (in.len is 80), which the server
 * reads from there before it does anything else, and answers EREMOTEIO where it could not: then
 * nothing was begun, and the client sends it by packets. In either answer FUSE_PROTO_RESP_BULK has
 * struct fuse_proto_bulk_done in the tail, behind the attributes and the server: how many bytes are
 * in the client's memory instead of the answer, and which of the legs have failed. The client drops
 * its half of those before it uses the memory, and asks for new ones. A READ that could not be
 * written is answered by packets; one with FUSE_PROTO_REQ_ONLY is not: `again` says that the client
 * is to ask anew.
 *
 * FUSE_PROTO_RDMA_PING asks the server to try one pair: struct fuse_in_header, then the head of
 * struct fuse_proto_ping, with memory of the client's that is used for nothing else meanwhile. The
 * server writes there, or reads from there, `count` times, `depth` at a time, and answers with the
 * same struct: how many were done, and how long each took. It does less than it was asked to where
 * that takes long, tries for one client at a time, and rests three times as long as it worked.
 * A server that wants such a try says so when it is asked after the pair (struct fuse_proto_wish);
 * the client, whose memory it is, then asks for it as it would for itself, or does not.
 *
 * The frontend answers the kernel's INIT itself with the parameters below. The first call of each
 * new session is an INIT request that the frontend composes: major and minor as negotiated, flags
 * and flags2 exactly those in force (a subset of FUSE_PROTO_FLAGS), max_readahead as negotiated.
 * The server prepares its session with it, must turn on nothing else, and answers with
 * struct fuse_proto_server and the root's handle; an error in the answer ends the session. Where
 * the incarnation is another, the client then reopens all that it has open. No other request is
 * sent before those answers have come. DESTROY means that the mount is gone.
 */
#ifndef PLENUM_DATAPLANE_FUSE_PROTO_H
#define PLENUM_DATAPLANE_FUSE_PROTO_H

#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>

#define FUSE_PROTO_MAJOR 7
#define FUSE_PROTO_MINOR_MIN 31 /* Linux 5.4 */
#define FUSE_PROTO_MINOR_MAX 38 /* the newest whose every request the server's check knows */

#define FUSE_PROTO_MAX_WRITE (1U << 20) /* bytes of data in a WRITE or READ */
#define FUSE_PROTO_MAX_PAGES 256
#define FUSE_PROTO_MAX_READAHEAD (1U << 20)
/* Direct reads and writes count, too: with fewer, many programs would wait for each other. */
#define FUSE_PROTO_MAX_BACKGROUND 256
#define FUSE_PROTO_CALLS_MAX 256

/* Not in the kernel headers of Debian 12; include/uapi/linux/fuse.h of Linux 6.9. */
#define FUSE_PROTO_NOTIFY_RESEND 7
#define FUSE_PROTO_UNIQUE_RESEND (1ULL << 63)
#define FUSE_PROTO_HAS_RESEND (1ULL << 39)
#define FUSE_PROTO_DIRECT_IO_MMAP (1ULL << 36) /* of Linux 6.6; between kernel and client only */

/*
 * What is asked for where the kernel offers it. Remarks for the server:
 *  DONT_MASK: modes of MKNOD, MKDIR, CREATE come unmasked; the server applies the request's umask
 *	unless the parent directory has a default ACL.
 *  HANDLE_KILLPRIV_V2: the server clears set-id bits and capabilities when FUSE_WRITE_KILL_SUIDGID,
 *	FATTR_KILL_SUIDGID or FUSE_OPEN_KILL_SUIDGID says so. Without it the kernel would ask for
 *	security.capability before every write.
 *  ATOMIC_O_TRUNC: OPEN carries O_TRUNC.
 *  No POSIX_LOCKS, FLOCK_LOCKS: locks end at the client. No WRITEBACK_CACHE.
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

#define FUSE_PROTO_VERSION 3 /* of the hello and of all that follows it */
/*
 * In the generation of an answer's entries; the first also in the last field of its attributes.
 * BARE: the file has no extended attributes but perhaps trusted ones. LEASED, where leases are in
 * force: for a second from when the request was sent nobody else makes the name show another file,
 * or changes this one. EMPTY, in the answer to MKDIR: for a second from then nobody else makes
 * a name in the folder that was made.
 */
#define FUSE_PROTO_BARE 1U
#define FUSE_PROTO_LEASED 2U
#define FUSE_PROTO_EMPTY 4U
/*
 * What both ends know beyond the version: the first unused word of INIT's argument says what the
 * client does, that of its answer what of this is in force. A peer that does not know the word
 * leaves it 0.
 */
#define FUSE_PROTO_FEATURE_FOLDER 1U /* answers come with FUSE_PROTO_RESP_FOLDER */
#define FUSE_PROTO_FEATURE_LEASE 2U  /* entries may be FUSE_PROTO_LEASED */
/* Behind the argument of a RELEASE or RELEASEDIR stand the file handles of up to
 * FUSE_PROTO_RELEASES_MAX - 1 more files that are closed, of either kind. */
#define FUSE_PROTO_FEATURE_RELEASES 4U
#define FUSE_PROTO_FEATURE_END 8U    /* answers come with FUSE_PROTO_RESP_END */
#define FUSE_PROTO_FEATURE_ONLY 16U  /* READs may have FUSE_PROTO_REQ_ONLY */
#define FUSE_PROTO_FEATURE_EMPTY 32U /* entries may be FUSE_PROTO_EMPTY */
/* The server leaves it to the client's kernel who may do what, and a SETATTR of FATTR_CTIME alone
 * makes the time of the last change that of the moment, and nothing else. */
#define FUSE_PROTO_FEATURE_TOUCH 64U
/* Mounts whose ids differ in the last four bits alone are one kernel's: what one of them changes or
 * believes, the others do. */
#define FUSE_PROTO_FEATURE_LANES 128U
/* In OPENDIR's argument, open_flags is how many bytes of entries may stand behind that of its
 * answer, which are then all that there are: FUSE_PROTO_RESP_END says that they are there. */
#define FUSE_PROTO_FEATURE_LIST 256U
#define FUSE_PROTO_FEATURE_WRITTEN 512U /* WRITEs may have FUSE_PROTO_REQ_ATTR */
#define FUSE_PROTO_FEATURE_NAMES 1024U	/* with LIST: answers may have FUSE_PROTO_RESP_NAMES */
#define FUSE_PROTO_FEATURES                                                                   \
	(FUSE_PROTO_FEATURE_FOLDER | FUSE_PROTO_FEATURE_LEASE | FUSE_PROTO_FEATURE_RELEASES | \
	 FUSE_PROTO_FEATURE_END | FUSE_PROTO_FEATURE_ONLY | FUSE_PROTO_FEATURE_EMPTY |        \
	 FUSE_PROTO_FEATURE_TOUCH | FUSE_PROTO_FEATURE_LANES | FUSE_PROTO_FEATURE_LIST |      \
	 FUSE_PROTO_FEATURE_WRITTEN | FUSE_PROTO_FEATURE_NAMES)
#define FUSE_PROTO_RELEASES_MAX 64
#define FUSE_PROTO_HANDLE_MAX 96
#define FUSE_PROTO_REQ_HANDLES_MAX 2

enum {
	/* OPEN, OPENDIR: the client has this file open already, the server has forgotten it. No
	 * O_TRUNC; no ESTALE for a file without a name; no permission refused that was given. */
	FUSE_PROTO_REQ_REOPEN = 1,
	FUSE_PROTO_REQ_BULK = 2, /* READ, WRITE: struct fuse_proto_bulk follows the handles */
	FUSE_PROTO_REQ_ONLY = 4, /* and the data go by no other way */
	FUSE_PROTO_REQ_ATTR = 8, /* WRITE: the answer is to have FUSE_PROTO_RESP_ATTR */
};

struct fuse_proto_req_tail {
	uint16_t flags; /* FUSE_PROTO_REQ_* */
	uint8_t n_handles;
	uint8_t pad[5];
};

enum {
	FUSE_PROTO_RESP_ATTR = 1,   /* struct fuse_attr; OPEN: of the file as it was opened; WRITE:
				     * as it was after that; left out where it is not to be had */
	FUSE_PROTO_RESP_SERVER = 2, /* struct fuse_proto_server; INIT only */
	FUSE_PROTO_RESP_FOLDER = 4, /* struct fuse_attr of the folder where a name was made or
				     * removed, as it was after that */
	FUSE_PROTO_RESP_BULK = 8,   /* struct fuse_proto_bulk_done; where REQ_BULK was */
	FUSE_PROTO_RESP_END = 16,   /* READDIR, READDIRPLUS: there were no more entries; OPENDIR:
				     * behind its struct stand all, as of READDIRPLUS; no data */
	FUSE_PROTO_RESP_NAMES = 32, /* OPENDIR, with END: for a second from when the request was
				     * sent nobody else makes, moves or removes a name there */
};

struct fuse_proto_resp_tail {
	uint16_t flags; /* FUSE_PROTO_RESP_* */
	uint16_t n_handles;
	uint32_t pad;
};

struct fuse_proto_server {
	uint64_t incarnation; /* random for each life of the server: another one has no file open */
	uint64_t verifier;    /* another one: data that it acknowledged unsynced may be lost */
};

#define FUSE_PROTO_RDMA 0x504c0001U /* opcode; no kernel's */
#define FUSE_PROTO_RDMA_VERSION 2
#define FUSE_PROTO_RDMA_LEGS_MAX 8
#define FUSE_PROTO_RDMA_CHECK 1 /* a leg's status in the question: of a pair that there is */

struct fuse_proto_rdma_leg {
	uint8_t leg;	/* its number, the client's choice, below FUSE_PROTO_RDMA_LEGS_MAX */
	uint8_t status; /* 0, or FUSE_PROTO_RDMA_CHECK; answer: 0, or there is no pair */
	uint8_t link;	/* 1 InfiniBand, 2 RoCE v2, 3 RoCE v1; answer: the server's */
	uint8_t mtu;	/* 1: 256 bytes, each next one twice the last; 0: no pair is wanted, only
			 * whether the links are alike, and the status says whether they are not */
	uint16_t lid;
	uint16_t pad;
	uint32_t qpn, psn; /* the sender's; CHECK: the server's, and nothing else of the leg */
	uint32_t key;	   /* of the client's memory */
	uint8_t gid[16];   /* answer to CHECK: struct fuse_proto_wish */
	uint8_t to[16];	   /* the server's address that it is to lead to; IPv4 mapped into IPv6 */
};

struct fuse_proto_rdma {
	uint32_t version; /* FUSE_PROTO_RDMA_VERSION */
	uint32_t n_legs;
	struct fuse_proto_rdma_leg legs[FUSE_PROTO_RDMA_LEGS_MAX]; /* n_legs are sent */
};

struct fuse_proto_bulk {
	uint64_t addr;
	uint32_t len;
	uint8_t legs; /* a bit each */
	uint8_t pad[3];
};

struct fuse_proto_bulk_done {
	uint32_t len;	/* 0: it is in the answer; WRITE: 0 */
	uint8_t failed; /* legs, a bit each */
	uint8_t again;	/* 1: READ: nothing was read, since no leg took it */
	uint8_t pad[2];
};

#define FUSE_PROTO_RDMA_PING 0x504c0003U /* opcode; no kernel's */
#define FUSE_PROTO_PING_VERSION 1
#define FUSE_PROTO_PING_COUNT_MAX 64
#define FUSE_PROTO_PING_DEPTH_MAX 4

enum fuse_proto_ping_what {
	FUSE_PROTO_PING_WRITE = 1, /* as for a READ: the server writes into the client's memory */
	FUSE_PROTO_PING_READ,	   /* as for a WRITE */
	FUSE_PROTO_PING_WHAT_MAX
};

enum fuse_proto_ping_status {
	FUSE_PROTO_PING_DONE,
	FUSE_PROTO_PING_BUSY,	/* the pair or the server has enough to do: ask again later */
	FUSE_PROTO_PING_FAILED, /* there is no pair, or it has failed: the client drops its half */
	FUSE_PROTO_PING_STATUS_MAX
};

struct fuse_proto_ping {
	uint32_t version; /* FUSE_PROTO_PING_VERSION */
	uint8_t leg;
	uint8_t what;	/* enum fuse_proto_ping_what */
	uint8_t depth;	/* 1 to FUSE_PROTO_PING_DEPTH_MAX */
	uint8_t status; /* answer: enum fuse_proto_ping_status */
	uint32_t count; /* 1 to FUSE_PROTO_PING_COUNT_MAX; answer: how many were done */
	uint32_t len;	/* of each, 1 to FUSE_PROTO_MAX_WRITE */
	uint64_t addr;
	uint64_t took_ns;			     /* answer: of all together */
	uint32_t each_ns[FUSE_PROTO_PING_COUNT_MAX]; /* answer alone: `count` of them */
};

/* Of a pair that works: that the client should have it tried. Zeros: nothing is wished. */
struct fuse_proto_wish {
	uint8_t what;  /* enum fuse_proto_ping_what */
	uint8_t depth; /* 1 to FUSE_PROTO_PING_DEPTH_MAX */
	uint8_t pad[2];
	uint32_t count; /* 1 to FUSE_PROTO_WISH_COUNT_MAX, in as many requests as it takes */
	uint32_t len;	/* of each, 1 to FUSE_PROTO_MAX_WRITE */
	uint32_t pad2;
};
#define FUSE_PROTO_WISH_COUNT_MAX 4096

_Static_assert(offsetof(struct fuse_proto_ping, each_ns) == 32, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_wish) == 16, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_rdma_leg) == 52, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_bulk) == 16, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_bulk_done) == 8, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_req_tail) == 8, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_resp_tail) == 8, "as on the wire");
_Static_assert(sizeof(struct fuse_proto_server) == 16, "as on the wire");

/* The longest tail of a request. */
#define FUSE_PROTO_REQ_TAIL_MAX                                      \
	(sizeof(struct fuse_proto_req_tail) +                        \
	 FUSE_PROTO_REQ_HANDLES_MAX * (1U + FUSE_PROTO_HANDLE_MAX) + \
	 sizeof(struct fuse_proto_bulk))
/* What READDIRPLUS may ask for: the client lowers its kernel's wish, so that the handles fit. */
#define FUSE_PROTO_DIRPLUS_MAX (256U << 10)
/* Entries in an answer to OPENDIR: those of a hundred files. */
#define FUSE_PROTO_LIST_MAX (24U << 10)
/* The shortest entry of a READDIRPLUS answer. */
#define FUSE_PROTO_DIRPLUS_ENTRY FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + 1U)
#define FUSE_PROTO_RESP_SMALL 512U /* more than the largest answer of fixed size */
#define FUSE_PROTO_XATTR_MAX 65536U
#define FUSE_PROTO_LINK_MAX 4096U

/* The longest answer, from struct fuse_out_header on, its tail included, to a request whose `size`
 * field, where it has one, is that. */
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
	case FUSE_OPENDIR: /* the size of the list */
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
