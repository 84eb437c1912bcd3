/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `hostile_clients FROM_A FROM_B SERVER KIND CLIENTS SECONDS`: one host with many clients of a file
 * system server. They do not have the limits of the product's client: they retry at once, keep as
 * many requests in flight as the protocol allows, open files without closing them, and ignore
 * answers. FROM_A and FROM_B are the host's addresses on the two legs (such as 10.99.1.9/24),
 * SERVER is the server's address on the first leg. KIND is a name in the table `kinds`. The program
 * prints "ready" when its clients are connected. At the end or after SIGTERM it prints three
 * numbers per second: answered requests, errors among them, and refusals.
 *
 * The export has a file `data` of at least 64 MiB, a folder `big` with many names and a folder
 * `storm` for new ones.
 */
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/proto/fuse_proto.h"
#include "dataplane/port/port.h"
#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/wire/wire.h"
#include "tests/lib/rudp/rudp_ops.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define UDP_PORT 14000
#define LEGS 2
#define DEPTH_MAX 120 /* most requests of a client at a time; the protocol allows 128 */
#define FILE_BYTES (64U << 20)
#define MSG_BYTES 1024U
#define CLIENTS_MAX 5000U

enum step { STEP_INIT, STEP_LOOKUP, STEP_OPEN, STEP_FLOOD };

struct slot {
	struct client *client;
	uint64_t n; /* requests so far */
	uint8_t msg[MSG_BYTES];
};

struct client {
	struct rudp_session *session;
	enum step step;
	bool up, refused;
	uint64_t unique, fh;
	uint8_t root[1 + FUSE_PROTO_HANDLE_MAX], node[1 + FUSE_PROTO_HANDLE_MAX];
	uint8_t hello[FUSE_HELLO_BYTES];
	struct slot *slots;
};

struct kind {
	const char *name;
	const char *target; /* the object of the requests; NULL: the root */
	bool opens;
	unsigned depth; /* requests of each client at a time; 0: none */
	void (*fill)(struct client *c, struct slot *s);
	const char *export_name; /* NULL: the name of the real export */
	unsigned deaf_ms;	 /* length of the pauses in which the host reads no packets */
	bool bare_hellos;	 /* no clients, only first packets of handshakes */
	unsigned factor;	 /* sessions of each client; 0: one */
};

static struct rudp *rudp;
static struct port ports[LEGS];
static uint64_t now_ns, answered, errors, refusals;
static struct client *clients;
static unsigned n_clients;
static const struct kind *kind;
static struct datagram_addr server;
static volatile sig_atomic_t ended;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void fill_random(void *buf, size_t size)
{
	if (getrandom(buf, size, 0) != (ssize_t)size)
		die("getrandom");
}

/* ------------------------------------------------------------------ requests */

static void request(struct client *c, struct slot *s, uint32_t op, const uint8_t *handle,
		    const void *arg, size_t arg_len, const void *data, size_t data_len)
{
	struct fuse_in_header in = {
		.opcode = op, .unique = c->unique += 2, .nodeid = FUSE_ROOT_ID, .pid = 1};
	struct fuse_proto_req_tail tail = {.n_handles = 1};
	size_t n = sizeof(in);

	memcpy(s->msg + n, arg, arg_len);
	n += arg_len;
	memcpy(s->msg + n, data, data_len);
	n += data_len;
	in.len = (uint32_t)n;
	memcpy(s->msg, &in, sizeof(in));
	if (handle) {
		memcpy(s->msg + n, &tail, sizeof(tail));
		memcpy(s->msg + n + sizeof(tail), handle, 1U + handle[0]);
		n += sizeof(tail) + 1U + handle[0];
	}
	s->n++;
	if (c->session)
		(void)rudp_call_send(c->session, s->msg, n, (uintptr_t)s);
}

static void fill_read(struct client *c, struct slot *s, uint32_t bytes)
{
	struct fuse_read_in in = {.fh = c->fh, .size = bytes};

	in.offset = (s->n * 7919 + (uintptr_t)c / 64) % (FILE_BYTES / bytes) * bytes;
	request(c, s, FUSE_READ, c->node, &in, sizeof(in), "", 0);
}

static void fill_read_small(struct client *c, struct slot *s)
{
	fill_read(c, s, 4096);
}

static void fill_read_large(struct client *c, struct slot *s)
{
	fill_read(c, s, 1U << 20);
}

static void fill_meta(struct client *c, struct slot *s)
{
	struct fuse_getattr_in in = {};

	if (s->n % 2)
		request(c, s, FUSE_GETATTR, c->node, &in, sizeof(in), "", 0);
	else
		request(c, s, FUSE_LOOKUP, c->root, "data", 5, "", 0);
}

static void fill_write(struct client *c, struct slot *s)
{
	struct fuse_write_in in = {.fh = c->fh, .size = 512, .offset = (s->n % 4096) * 512};
	static const uint8_t data[512] = {1};

	request(c, s, FUSE_WRITE, c->node, &in, sizeof(in), data, sizeof(data));
}

static void fill_fsync(struct client *c, struct slot *s)
{
	struct fuse_fsync_in in = {.fh = c->fh};

	if (s->n % 2)
		request(c, s, FUSE_FSYNC, c->node, &in, sizeof(in), "", 0);
	else
		fill_write(c, s);
}

static void fill_dir(struct client *c, struct slot *s)
{
	struct fuse_read_in in = {.fh = c->fh, .size = FUSE_PROTO_DIRPLUS_MAX};

	request(c, s, FUSE_READDIRPLUS, c->node, &in, sizeof(in), "", 0);
}

static void fill_names(struct client *c, struct slot *s)
{
	struct fuse_mknod_in in = {.mode = S_IFREG | 0644};
	char name[32];

	snprintf(name, sizeof(name), "n%zu-%zu", (size_t)(c - clients), (size_t)(s - c->slots));
	if (s->n % 2)
		request(c, s, FUSE_UNLINK, c->node, name, strlen(name) + 1, "", 0);
	else
		request(c, s, FUSE_MKNOD, c->node, &in, sizeof(in), name, strlen(name) + 1);
}

/* Fills in lookups of names that exist. Each name is another object. */
static void fill_lookups(struct client *c, struct slot *s)
{
	char name[32];

	snprintf(name, sizeof(name), "f%zu",
		 (size_t)((s->n * 120 + (size_t)(s - c->slots)) % 10000));
	request(c, s, FUSE_LOOKUP, c->node, name, strlen(name) + 1, "", 0);
}

static void fill_open(struct client *c, struct slot *s)
{
	struct fuse_open_in in = {.flags = O_RDONLY};

	request(c, s, FUSE_OPEN, c->node, &in, sizeof(in), "", 0);
}

static const struct kind kinds[] = {
	{.name = "good", .target = "data", .opens = true, .depth = 1, .fill = fill_read_small},
	{.name = "metadata", .target = "data", .depth = DEPTH_MAX, .fill = fill_meta},
	{.name = "lookups", .target = "big", .depth = DEPTH_MAX, .fill = fill_lookups},
	{.name = "listings", .target = "big", .opens = true, .depth = DEPTH_MAX, .fill = fill_dir},
	{.name = "reads",
	 .target = "data",
	 .opens = true,
	 .depth = DEPTH_MAX,
	 .fill = fill_read_small},
	{.name = "large-reads",
	 .target = "data",
	 .opens = true,
	 .depth = DEPTH_MAX,
	 .fill = fill_read_large},
	{.name = "writes", .target = "log", .opens = true, .depth = DEPTH_MAX, .fill = fill_write},
	{.name = "fsyncs", .target = "log", .opens = true, .depth = DEPTH_MAX, .fill = fill_fsync},
	{.name = "names", .target = "storm", .depth = DEPTH_MAX, .fill = fill_names},
	{.name = "files", .target = "data", .depth = DEPTH_MAX, .fill = fill_open},
	{.name = "silent",
	 .target = "data",
	 .opens = true,
	 .depth = 8,
	 .fill = fill_read_large,
	 .deaf_ms = 300},
	{.name = "refused", .export_name = "missing"},
	{.name = "sessions", .factor = 42},
	{.name = "hellos", .bare_hellos = true},
};

/* ------------------------------------------------------------------ answers */

static void session_init(struct client *c)
{
	struct fuse_init_in in = {
		.major = FUSE_PROTO_MAJOR,
		.minor = FUSE_PROTO_MINOR_MAX,
		.max_readahead = FUSE_PROTO_MAX_READAHEAD,
		.flags = (uint32_t)FUSE_PROTO_FLAGS,
		.flags2 = (uint32_t)(FUSE_PROTO_FLAGS >> 32),
	};

	c->step = STEP_INIT;
	request(c, &c->slots[0], FUSE_INIT, NULL, &in, sizeof(in), "", 0);
}

static void flood(struct client *c)
{
	c->step = STEP_FLOOD;
	c->up = true;
	for (unsigned i = 0; i < kind->depth; i++)
		kind->fill(c, &c->slots[i]);
}

static void target_open(struct client *c)
{
	bool dir = kind->fill == fill_dir;
	struct fuse_open_in in = {.flags = dir ? O_RDONLY | O_DIRECTORY : O_RDWR};

	c->step = STEP_OPEN;
	if (kind->opens)
		request(c, &c->slots[0], dir ? FUSE_OPENDIR : FUSE_OPEN, c->node, &in, sizeof(in),
			"", 0);
	else
		flood(c);
}

/* Copies the first handle in the tail of an answer. */
static void handle_take(const uint8_t *buf, size_t len, size_t before, uint8_t *ret)
{
	const struct fuse_out_header *out = (const void *)buf;
	size_t at = out->len + sizeof(struct fuse_proto_resp_tail) + before;

	if (at < len && buf[at] <= FUSE_PROTO_HANDLE_MAX && at + 1 + buf[at] <= len)
		memcpy(ret, buf + at, 1U + buf[at]);
}

static void step_next(struct client *c, const uint8_t *buf, size_t len)
{
	const struct fuse_out_header *out = (const void *)buf;

	if (out->error < 0) {
		fprintf(stderr, "step %d: %s\n", (int)c->step, strerror(-out->error));
		return;
	}
	switch (c->step) {
	case STEP_INIT:
		handle_take(buf, len, sizeof(struct fuse_proto_server), c->root);
		memcpy(c->node, c->root, sizeof(c->node));
		c->step = STEP_LOOKUP;
		if (kind->target)
			request(c, &c->slots[0], FUSE_LOOKUP, c->root, kind->target,
				strlen(kind->target) + 1, "", 0);
		else
			target_open(c);
		break;
	case STEP_LOOKUP:
		handle_take(buf, len, 0, c->node);
		target_open(c);
		break;
	case STEP_OPEN:
		memcpy(&c->fh, out + 1, sizeof(c->fh));
		flood(c);
		break;
	default:
		break;
	}
}

static void on_response(void *user, struct rudp_session *session, uint64_t cookie, int status,
			void *buf, size_t len)
{
	struct slot *s = (struct slot *)(uintptr_t)cookie;
	struct client *c = s->client;
	const struct fuse_out_header *out = buf;

	if (status == 0 && len >= sizeof(*out) && c->step < STEP_FLOOD)
		step_next(c, buf, len);
	else if (status == 0 && len >= sizeof(*out)) {
		answered++;
		errors += out->error < 0;
		kind->fill(c, s);
	}
	free(buf);
}

static void session_open(struct client *c)
{
	c->up = c->refused = false;
	if (rudp_connect(rudp, &server, 1, c->hello, sizeof(c->hello), c, now_ns, &c->session) < 0)
		c->session = NULL;
}

static void on_event(void *user, struct rudp_session *session, enum rudp_event e, unsigned path,
		     int code)
{
	struct client *c = rudp_session_user(session);

	if (e == RUDP_SESSION_UP)
		session_init(c);
	if (e == RUDP_SESSION_REFUSED) {
		refusals++;
		c->refused = true;
	}
	if (e == RUDP_SESSION_CLOSED)
		c->session = NULL;
}

/* ------------------------------------------------------------------ the host */

static int on_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	return ports[port].ops->tx(&ports[port], dst, pkt);
}

static void on_flush(void *user)
{
	for (unsigned i = 0; i < LEGS; i++) {
		if (rudp_tx_wants_stamp(rudp))
			rudp_tx_stamp(rudp, i, clock_now_ns());
		ports[i].ops->flush(&ports[i]);
	}
}

static const struct rudp_ops ops = {
	.tx = on_tx,
	.tx_flush = on_flush,
	.buf_get = rudp_ops_buf_get,
	.buf_put = rudp_ops_buf_put,
	.request = NULL,
	.call_gone = rudp_ops_call_gone,
	.response = on_response,
	.sent = rudp_ops_sent,
	.accept = rudp_ops_accept,
	.event = on_event,
};

static void host_up(char *const from[LEGS])
{
	struct launch_config cfg = {
		.n_ports = LEGS, .spin_us = 1000, .log_level = 4, .transport = LAUNCH_UDP};
	struct rudp_config rc = {.epoch = 1, .n_ports = LEGS, .ops = &ops, .limits.sessions = 8192};
	struct reason why = {.code = ""};

	fill_random(&rc.identity, sizeof(rc.identity));
	fill_random(&rc.seed, sizeof(rc.seed));
	for (unsigned i = 0; i < LEGS; i++) {
		struct launch_port *p = &cfg.ports[i];

		if (ip_prefix_parse(from[i], &p->ip) < 0)
			die(from[i]);
		p->udp_port = UDP_PORT;
		p->mtu = 1500;
		if (port_ops_get(cfg.transport, &ports[i].ops, &why) < 0 ||
		    ports[i].ops->open(&ports[i], &cfg, i, &why) < 0)
			die(why.text);
		rc.ports[i] = (struct rudp_port_info){
			.local = {.ip = p->ip.addr, .port = UDP_PORT},
			.prefix_len = 24,
			.mtu = 1500,
			.up = true,
		};
	}
	if (rudp_new(&rc, clock_now_ns(), &rudp) < 0)
		die("rudp_new");
}

static void clients_up(void)
{
	clients = calloc(n_clients, sizeof(*clients));
	for (unsigned i = 0; clients && i < n_clients; i++) {
		struct client *c = &clients[i];
		struct fuse_hello h = {.export_name = "scratch"};

		if (kind->export_name)
			snprintf(h.export_name, sizeof(h.export_name), "%s", kind->export_name);
		snprintf(h.client_host, sizeof(h.client_host), "host-9");
		snprintf(h.server_host, sizeof(h.server_host), "host-2");
		fill_random(h.mount_id, sizeof(h.mount_id));
		fuse_hello_put(c->hello, &h);
		c->slots = calloc(MAX_OF(kind->depth, 1U), sizeof(*c->slots));
		if (!c->slots)
			die("memory");
		for (unsigned k = 0; k < MAX_OF(kind->depth, 1U); k++)
			c->slots[k].client = c;
		session_open(c);
	}
}

/* Sends HELLOs, each for a new session; the server must answer each of them. */
static void hellos_send(void)
{
	for (unsigned i = 0; i < 64; i++) {
		struct wire_common c = {.type = WIRE_HELLO};
		struct wire_hello h = {};
		struct datagram pkt = {.payload = NULL};

		fill_random(&h.client_number, sizeof(h.client_number));
		pkt.hdr_len = (uint16_t)wire_put_hello(pkt.hdr, &c, &h);
		if (ports[0].ops->tx(&ports[0], &server, &pkt) == 0)
			answered++;
	}
	ports[0].ops->flush(&ports[0]);
}

static bool receive(void)
{
	struct port_rx pkts[PORT_BURST_MAX];
	bool any = false;

	for (unsigned i = 0; i < LEGS; i++) {
		int n = ports[i].ops->rx(&ports[i], pkts, PORT_BURST_MAX);

		now_ns = clock_now_ns();
		for (int k = 0; k < n; k++) {
			rudp_rx_waited(rudp,
				       pkts[k].waited_ns == UINT64_MAX ? 0 : pkts[k].waited_ns);
			(void)rudp_rx(rudp, i, &pkts[k].src, pkts[k].data, pkts[k].len, now_ns);
		}
		any |= n > 0;
	}
	return any;
}

/* Connects each refused client again at once, as another session. */
static void refused_again(void)
{
	for (unsigned i = 0; i < n_clients; i++) {
		struct client *c = &clients[i];

		if (!c->refused)
			continue;
		if (c->session)
			rudp_session_close(c->session, now_ns);
		session_open(c);
	}
}

/* Waits for packets, at most a millisecond because of rudp's timers. */
static void packets_wait(void)
{
	struct pollfd fds[LEGS];
	bool armed = true;

	for (unsigned i = 0; i < LEGS; i++) {
		fds[i] = (struct pollfd){.fd = ports[i].ops->fd(&ports[i]), .events = POLLIN};
		armed &= ports[i].ops->arm(&ports[i]);
	}
	if (armed)
		poll(fds, LEGS, 1);
}

static void turn(void)
{
	bool any;

	if (kind->bare_hellos)
		hellos_send();
	any = receive();
	refused_again();
	now_ns = clock_now_ns();
	(void)rudp_poll(rudp, now_ns);
	if (!any && !kind->bare_hellos)
		packets_wait();
}

static bool is_ready(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_clients; i++)
		n += clients[i].up || clients[i].refused;
	return n == n_clients;
}

static void on_term(int sig)
{
	ended = 1;
}

static void attack(double seconds)
{
	uint64_t end = now_ns + 10 * NSEC_PER_SEC, deaf_ns, since_ns;
	double took_s;

	while (!is_ready() && now_ns < end)
		turn();
	puts("ready");
	fflush(stdout);
	answered = errors = refusals = 0;
	since_ns = now_ns;
	end = now_ns + (uint64_t)(seconds * 1e9);
	deaf_ns = now_ns + 50 * NSEC_PER_MSEC;
	while (now_ns < end && !ended) {
		turn();
		if (kind->deaf_ms && now_ns > deaf_ns) {
			poll(NULL, 0, (int)kind->deaf_ms);
			deaf_ns = clock_now_ns() + 50 * NSEC_PER_MSEC;
		}
	}
	took_s = MAX_OF((double)(now_ns - since_ns) / NSEC_PER_SEC, 1e-3);
	printf("%.0f answered/s, %.0f errors/s, %.0f refusals/s\n", (double)answered / took_s,
	       (double)errors / took_s, (double)refusals / took_s);
}

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr, "hostile_clients: see the comment in its source\n");
		return 2;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, argv[4]) == 0)
			kind = &kinds[i];
	n_clients = (unsigned)atoi(argv[5]) * (kind && kind->factor ? kind->factor : 1);
	if (!kind || n_clients > CLIENTS_MAX || ip_addr_parse(argv[3], &server.ip) < 0) {
		fprintf(stderr, "hostile_clients: bad kind, number of clients or server\n");
		return 2;
	}
	signal(SIGTERM, on_term);
	server.port = UDP_PORT;
	host_up(argv + 1);
	now_ns = clock_now_ns();
	n_clients = kind->bare_hellos ? 0 : n_clients;
	clients_up();
	attack(atof(argv[6]));
	return 0;
}
