/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the client end of the file system protocol: each record is a request from the kernel, the
 * server's answer to its oldest or newest call, or the end of a session, a server or a worker,
 * while this file plays rudp. Input: records of an operation byte, two bytes of length (little
 * endian) and as many bytes. Node and file numbers start the same in each run, so that inputs can
 * name them: 1 << 32 | 2 is the first node, 1 << 32 the first file.
 *
 * A successor adopts the mount's state, and a mount worker shares memory with its owner: the bytes
 * of OP_WORKER change that memory as a compromised or faulty process could. They are changes of a
 * place, an offset (4 bytes), a length and as many bytes.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"
#include "dataplane/fuse/client/workers/client_workers.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define OP_MASK 0x07
/* Of OP_WORKER: its successor owns a mount with mount workers, or is the first of them; it does not
 * die at all. */
#define OP_OWNS 0x08
#define OP_MOUNT_WORKER 0x10
#define OP_LIVES 0x20
#define OP_FIX 0x80 /* correct the message's length field, otherwise little code is reached */
#define CALLS_MAX 64
#define RECORDS_MAX 256

enum op {
	OP_WORKER, /* dies, and a successor takes over */
	OP_KERNEL,
	OP_KERNEL_2, /* twice as likely */
	OP_ANSWER,
	OP_ANSWER_NEW, /* to the newest call */
	OP_RESET,
	OP_TIME,
	OP_SESSION,
};

enum place {
	PLACE_HEAD,
	PLACE_RELEASED, /* chunks of nodes */
	PLACE_FILES,
	PLACE_NODES,
	PLACE_AREA,
	PLACE_AREA_REQUEST,
	PLACE_READS,
	PLACE_READS_REQUEST,
	PLACE_MORE,
	PLACE_COMMON,
	PLACE_OWN_HEAD, /* a mount worker's own */
	PLACE_OWN_FILES,
	PLACE_OWN_NODES,
	PLACE_MAX
};
#define PLACE_BYTES 65536U /* at most that much of a place is changed */
#define PATCH_HEAD 6
#define RECORDS_OF_STATE_MAX 4096U

struct rudp_session {
	bool up;
};

static struct rudp_session session;
static struct {
	uint64_t cookie;
	const uint8_t *msg;
	size_t len;
} calls[CALLS_MAX];
static unsigned n_calls;
static volatile uint8_t sink;

int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret)
{
	*ret = &session;
	return 0;
}

static uint64_t call_take(unsigned i);
static struct fuse_client *client_now;

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	s->up = false;
	while (n_calls > 0)
		fuse_client_response(client_now, call_take(0), -ECANCELED, NULL, 0, now_ns);
}

enum rudp_security rudp_session_security(const struct rudp_session *s)
{
	return RUDP_SECURITY_NONE;
}

unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max)
{
	return 0;
}

const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from)
{
	return "";
}

bool rudp_session_is_up(const struct rudp_session *s)
{
	return s->up;
}

/* Reads all of the message, as sending it would. */
int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie)
{
	const uint8_t *bytes = msg;

	if (n_calls == CALLS_MAX)
		return -ENOBUFS;
	for (size_t i = 0; i < len; i++)
		sink = bytes[i];
	calls[n_calls].cookie = cookie;
	calls[n_calls].msg = msg;
	calls[n_calls++].len = len;
	return 0;
}

static uint64_t call_take(unsigned i)
{
	uint64_t cookie = calls[i].cookie;

	memmove(&calls[i], &calls[i + 1], (--n_calls - i) * sizeof(calls[0]));
	return cookie;
}

struct rig {
	int kernel, dev;
	struct launch_config cfg;
	struct launch_stats stats;
	struct fuse_client *client;
	unsigned index; /* of the mount; LAUNCH_MOUNTS_MAX: that of another worker */
	bool patched;
	uint64_t now_ns;
};

static void do_answer(struct rig *g, bool newest, const uint8_t *data, size_t len)
{
	uint64_t cookie;
	void *buf;

	if (n_calls == 0)
		return;
	cookie = call_take(newest ? n_calls - 1 : 0);
	buf = fuse_client_buf_get(g->client, cookie, len);
	if (!buf) /* for ever: rudp would keep asking; here the session ends */
		fuse_client_response(g->client, cookie, -ECONNRESET, NULL, 0, g->now_ns);
	else
		fuse_client_response(g->client, cookie, 0, memcpy(buf, data, len), len, g->now_ns);
}

/* Replies to the kernel have a form that it accepts. */
static void kernel_drain(struct rig *g)
{
	static uint8_t msg[RUDP_MSG_BYTES_MAX];
	struct fuse_out_header out;
	ssize_t n;

	while ((n = recv(g->kernel, msg, sizeof(msg), MSG_DONTWAIT)) > 0) {
		if ((size_t)n < sizeof(out))
			abort();
		memcpy(&out, msg, sizeof(out));
		/* It rejects what a faulty process has left as a reply to be repeated. */
		if (!g->patched &&
		    (out.len != (size_t)n || out.error <= -512 ||
		     (out.unique != 0 && (out.error > 0 || (out.error < 0 && n != sizeof(out))))))
			abort();
	}
}

static void do_kernel(struct rig *g, const uint8_t *data, size_t len)
{
	if (len > 0 && send(g->kernel, data, len, MSG_DONTWAIT) < 0)
		return;
	(void)fuse_client_pull(g->client, true, g->now_ns);
}

static uint64_t clock_never_ns(void)
{
	return 0;
}

static void client_start(struct rig *g)
{
	n_calls = 0;
	session.up = true;
	if (fuse_client_new(&g->cfg, g->index, -1, NULL, &g->stats, g->now_ns, &g->client) < 0)
		abort();
	g->client->clock_ns = clock_never_ns; /* the result must be the same each time */
	client_now = g->client;
}

/* ------------------------------------------------------------------ its memory */

/* A place of the mount's own state, or of a mount worker's, from `from` on in the file. */
static void table_patch(int fd, enum place place, uint32_t at, const uint8_t *data, size_t len)
{
	static const uint64_t places[] = {
		[PLACE_HEAD] = 0,
		[PLACE_RELEASED] = offsetof(struct client_head, released),
		[PLACE_FILES] = CLIENT_STATE_HEAD_BYTES,
		[PLACE_NODES] = CLIENT_STATE_HEAD_BYTES + CLIENT_STATE_FILES_BYTES,
	};
	const bool is_own = place >= PLACE_OWN_HEAD;
	const uint64_t from = is_own ? mount_worker_state_at(1) : 0;
	const uint64_t place_at = places[!is_own		    ? place
					 : place == PLACE_OWN_HEAD  ? PLACE_HEAD
					 : place == PLACE_OWN_FILES ? PLACE_FILES
								    : PLACE_NODES];

	if (pwrite(fd, data, len, (off_t)(from + place_at + at % PLACE_BYTES)) != (ssize_t)len)
		abort();
}

/* Memory that mount workers share. */
static void shared_patch(int fd, enum place place, uint32_t at, const uint8_t *data, size_t len)
{
	struct mount_worker_area *area = mount_worker_map(fd, 1);
	struct mount_worker_reads *reads = mount_worker_reads_map(fd, 1);
	struct mount_worker_more *more = mount_worker_more_map(fd, 1);
	struct mount_worker_common *common = mount_worker_common_map(fd);
	uint8_t *to;
	size_t size;

	if (!area || !reads || !more || !common)
		abort();
	switch (place) {
	case PLACE_AREA:
		to = (uint8_t *)area;
		size = sizeof(*area);
		break;
	case PLACE_READS:
		to = (uint8_t *)reads;
		size = sizeof(*reads);
		break;
	case PLACE_MORE:
		to = (uint8_t *)more;
		size = sizeof(*more);
		break;
	case PLACE_COMMON:
		to = (uint8_t *)common;
		size = sizeof(*common);
		break;
	case PLACE_AREA_REQUEST: /* two of them */
		to = mount_worker_buf(area, at >> 16 & 1);
		size = 4096;
		break;
	default:
		to = mount_worker_reads_buf(reads, at >> 16 & 1);
		size = 4096;
		break;
	}
	at = at % (uint32_t)size;
	memcpy(to + at, data, MIN_OF(len, size - at));
	mount_worker_unmap(area);
	mount_worker_reads_unmap(reads);
	mount_worker_more_unmap(more);
	mount_worker_common_unmap(common);
}

/* All records below these numbers are looked at, and take memory. */
static void counts_limit(int fd)
{
	static const struct {
		off_t at;
		uint32_t max;
	} counts[] = {{offsetof(struct client_head, n_nodes), CLIENT_NODES_MAX},
		      {offsetof(struct client_head, n_files), CLIENT_FILES_MAX}};

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
		const off_t at = counts[i / 2].at + (i % 2 ? (off_t)mount_worker_state_at(1) : 0);
		uint32_t n;

		if (pread(fd, &n, sizeof(n), at) != sizeof(n) || n > counts[i / 2].max)
			continue;
		n %= RECORDS_OF_STATE_MAX;
		if (pwrite(fd, &n, sizeof(n), at) != sizeof(n))
			abort();
	}
}

static void patches_do(struct rig *g, const uint8_t *data, size_t size)
{
	const int fd = g->cfg.mounts[0].state_fd;

	while (size >= PATCH_HEAD) {
		const enum place place = data[0] % PLACE_MAX;
		const uint32_t at = data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16 |
				    (uint32_t)data[4] << 24;
		const size_t len = MIN_OF((size_t)data[5], size - PATCH_HEAD);

		if (place >= PLACE_AREA && place <= PLACE_COMMON)
			shared_patch(fd, place, at, data + PATCH_HEAD, len);
		else
			table_patch(fd, place, at, data + PATCH_HEAD, len);
		g->patched = true;
		data += PATCH_HEAD + len;
		size -= PATCH_HEAD + len;
	}
	if (g->patched)
		counts_limit(fd);
}

/* A successor finds the same state, but for what the bytes change. */
static void do_worker(struct rig *g, uint8_t op, const uint8_t *data, size_t len)
{
	uint32_t n_slots = 0;

	if (op & OP_LIVES) {
		patches_do(g, data, len);
		return;
	}

	for (unsigned i = 0; i < CLIENT_SLOTS; i++)
		n_slots += g->client->slots[i].state != CLIENT_SLOT_FREE;
	if (n_slots != g->client->n_used)
		abort();
	fuse_client_free(g->client);
	patches_do(g, data, len);
	g->index = op & OP_MOUNT_WORKER ? LAUNCH_MOUNTS_MAX : 0;
	g->cfg.mounts[0].has_mount_workers = op & (OP_OWNS | OP_MOUNT_WORKER);
	g->cfg.shared[0] = g->cfg.mounts[0];
	g->cfg.shared[0].mount_worker = 1;
	client_start(g);
}

static void do_record(struct rig *g, uint8_t op, uint8_t *data, size_t len)
{
	uint32_t len32 = (uint32_t)len;

	if ((op & OP_FIX) && len >= sizeof(len32))
		memcpy(data, &len32, sizeof(len32));
	switch ((enum op)(op & OP_MASK)) {
	case OP_WORKER:
		do_worker(g, op, data, len);
		break;
	case OP_KERNEL:
	case OP_KERNEL_2:
		do_kernel(g, data, len);
		break;
	case OP_ANSWER:
	case OP_ANSWER_NEW:
		do_answer(g, (op & OP_MASK) == OP_ANSWER_NEW, data, len);
		break;
	case OP_RESET:
		for (unsigned n = n_calls; n > 0; n--)
			fuse_client_response(g->client, call_take(0), -ECONNRESET, NULL, 0,
					     g->now_ns);
		break;
	case OP_TIME:
		g->now_ns += len * NSEC_PER_MSEC;
		break;
	case OP_SESSION:
		session.up = !session.up;
		fuse_client_event(g->client, session.up ? RUDP_SESSION_UP : RUDP_SESSION_LOST, 0,
				  g->now_ns);
		break;
	}
	(void)fuse_client_tick(g->client, g->now_ns);
	if (g->index == 0)
		(void)fuse_client_find_orphan(g->client, g->now_ns);
	else
		(void)fuse_client_is_finished(g->client);
	kernel_drain(g);
}

static struct rig *rig_get(void)
{
	static struct rig g;
	int sv[2];

	if (g.kernel > 0)
		return &g;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		abort();
	g.kernel = sv[0];
	g.dev = sv[1];
	g.cfg.n_mounts = 1;
	g.cfg.mounts[0].fuse_fd = g.dev;
	g.cfg.mounts[0].soft_s = 2;
	g.cfg.mounts[0].n_addrs = 1;
	g.cfg.mounts[0].state_fd = memfd_create("state", MFD_CLOEXEC);
	g.cfg.mounts[0].bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return &g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig *g = rig_get();
	uint8_t *copy;

	g->now_ns = NSEC_PER_SEC;
	if (ftruncate(g->cfg.mounts[0].state_fd, 0) < 0)
		abort();
	g->index = 0;
	g->patched = g->cfg.mounts[0].has_mount_workers = false;
	client_start(g);
	g->client->state.head->reuse = 0;
	for (unsigned n = 0; size >= 3 && n < RECORDS_MAX; n++) {
		size_t len = data[1] | (size_t)data[2] << 8;

		len = MIN_OF(len, size - 3);
		copy = malloc(len ? len : 1); /* exactly as long: detects an overrun */
		if (!copy)
			abort();
		memcpy(copy, data + 3, len);
		do_record(g, data[0], copy, len);
		free(copy);
		data += 3 + len;
		size -= 3 + len;
	}
	do_worker(g, 0, NULL, 0);
	g->client = fuse_client_free(g->client);
	do { /* the next input starts clean */
	} while (recv(g->dev, &(uint8_t){0}, 1, MSG_DONTWAIT) >= 0 ||
		 recv(g->kernel, &(uint8_t){0}, 1, MSG_DONTWAIT) >= 0);
	return 0;
}
