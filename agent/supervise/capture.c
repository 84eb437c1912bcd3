/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the capture rings of workers, validates their records and writes them as pcapng. The
 * supervisor only passes the rings to the workers. */
#include "agent/supervise/capture.h"
#include "netcfg/base/os/memfd.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define CAPTURE_LEAVE_NS NSEC_PER_SEC /* how long a worker may take to stop writing to its ring */
#define NO_INTERFACE UINT32_MAX

struct ring { /* the packet ring of one worker process */
	uint32_t worker_id;
	pid_t pid;
	bool replaced; /* the process now has another ring, and no longer writes to this ring
			*/
	/* asked: a bit for each port that the worker was asked to capture; ports: the bits of the
	 * ports that it does capture */
	uint32_t asked, ports;
	struct packet_reader reader;
	uint32_t interfaces[LAUNCH_PORTS_MAX];
	uint64_t delivered[LAUNCH_PORTS_MAX];
	uint64_t since_ns; /* wall clock time at which the ring was made */
	uint64_t end;	   /* records from this offset on are ignored; UINT64_MAX: no record is */
	struct ring *next;
};

struct capture {
	struct capture_setup setup;
	struct loop_source *timer;
	uint64_t id; /* 0: no capture is running */
	struct privsep_capture what;
	char by[96], host[PLENUM_NAME_MAX];
	/* begun_ns: start of the capture; wall_ns: a packet's time plus wall_ns is wall clock
	 * time */
	uint64_t begun_ns, wall_ns;
	/* packets, bytes: what the client has fetched; dropped: packets that did not fit into rings
	 * which no longer exist */
	uint64_t packets, bytes, dropped;
	uint32_t n_interfaces;
	bool has_section;
	uint64_t ending_ns; /* time at which the capture began to end; 0: it is running */
	struct ring *rings;
};

static uint64_t wall_now_ns(const struct capture *c)
{
	return clock_now_ns() + c->wall_ns;
}

static uint64_t wall_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec - clock_now_ns();
}

static void ring_free(struct ring *r)
{
	munmap(r->reader.ring, packet_ring_size(r->reader.bytes));
	free(r);
}

static void end(struct capture *c)
{
	for (struct ring *r = c->rings, *next; r; r = next) {
		next = r->next;
		sup_capture(c->setup.sup, r->worker_id, NULL, -1);
		ring_free(r);
	}
	c->rings = NULL;
	c->id = 0;
	loop_timer_disarm(c->timer);
}

/* Ends the capture: its client no longer fetches packets, and no other client can fetch them. */
static int on_timer(void *user)
{
	struct capture *c = user;

	if (c->id)
		events_add(c->setup.events, LOG_LEVEL_INFO, "capture",
			   "the capture by %s has ended: its client stopped fetching packets",
			   c->by);
	end(c);
	return 0;
}

int capture_new(const struct capture_setup *setup, struct capture **ret)
{
	struct capture *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->setup = *setup;
	r = loop_add_timer(setup->loop, NSEC_PER_SEC / 10, on_timer, c, &c->timer);
	if (r < 0) {
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	end(c);
	loop_source_free(c->timer);
	free(c);
	return NULL;
}

/* ---- selection of workers ---- */

/* Returns the captured ports of a running process as a bit mask, or 0 if no port is captured. */
static uint32_t ports_of(const struct capture *c, const struct sup_worker *w)
{
	uint32_t ports = 0;

	if (!w->started || (c->what.worker != PRIVSEP_CAPTURE_ALL && c->what.worker != w->id))
		return 0;
	for (uint32_t i = 0; i < w->started->n_ports; i++)
		if (!c->what.leg[0] || strcmp(c->what.leg, w->started->ports[i].leg) == 0)
			ports |= 1U << i;
	return ports;
}

static size_t count_workers(struct capture *c)
{
	size_t n = 0;

	for (const struct sup_worker *w = sup_first(c->setup.sup); w; w = w->next) {
		if (!ports_of(c, w))
			continue;
		memcpy(c->host, w->started->host, sizeof(c->host));
		n++;
	}
	return n;
}

/* Returns each worker's equal share of the requested buffer, rounded down to a power of two. */
static uint64_t ring_bytes(struct capture *c)
{
	size_t n = count_workers(c);
	uint64_t share = (uint64_t)c->what.buffer_bytes / MAX_OF(n, (size_t)1);
	uint64_t bytes = PACKET_RING_BYTES_MIN * 4;

	while (bytes * 2 <= share && bytes < PACKET_RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

static bool is_of(const struct ring *r, const struct sup_worker *w)
{
	return r->worker_id == w->id && r->pid == w->pid;
}

/* Returns the ring of a worker, or NULL if it has none. */
static struct ring *ring_of(const struct capture *c, const struct sup_worker *w)
{
	struct ring *r = c->rings;

	while (r && (r->replaced || !is_of(r, w)))
		r = r->next;
	return r;
}

static void put_interfaces(struct capture *c, struct ring *r, const struct launch_config *cfg,
			   struct pcapng *out)
{
	static const char *const roles[LAUNCH_ROLE_MAX] = {"frontend", "compute", "drives"};
	enum pcapng_link link = cfg->transport == LAUNCH_UDP ? PCAPNG_IP : PCAPNG_ETHERNET;
	char name[PLENUM_NAME_MAX + 16], about[256], ip[IP_ADDR_STR_MAX];

	for (uint32_t i = 0; i < cfg->n_ports; i++) {
		const struct launch_port *p = &cfg->ports[i];

		r->interfaces[i] = NO_INTERFACE;
		if (!(r->ports >> i & 1))
			continue;
		r->interfaces[i] = c->n_interfaces++;
		snprintf(name, sizeof(name), "%s/%u", p->leg, cfg->worker_id);
		snprintf(about, sizeof(about),
			 "worker %u (%s), pid %d: leg %s, %s port %u by %.80s", cfg->worker_id,
			 roles[cfg->role], (int)r->pid, p->leg,
			 ip_addr_format(&p->ip.addr, ip, sizeof(ip)), p->udp_port,
			 p->device[0] ? p->device : p->ifname);
		pcapng_put_interface(out, link, c->what.snap_bytes, name, about);
	}
}

static int add_ring(struct capture *c, const struct sup_worker *w, struct pcapng *out)
{
	const struct launch_capture lc = {.ring_bytes = ring_bytes(c),
					  .snap_bytes = c->what.snap_bytes,
					  .ports = ports_of(c, w),
					  .keys = c->what.keys};
	size_t size = packet_ring_size(lc.ring_bytes);
	autoclose int fd = memfd_new_shared("plenum-capture", size);
	struct ring *r = fd < 0 ? NULL : calloc(1, sizeof(*r));
	void *memory = MAP_FAILED;
	int e = fd < 0 ? fd : -ENOMEM;

	if (r)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		e = sup_capture(c->setup.sup, w->id, &lc, fd);
	if (e < 0) {
		if (memory != MAP_FAILED)
			munmap(memory, size);
		free(r);
		return e;
	}
	*r = (struct ring){.worker_id = w->id,
			   .pid = w->pid,
			   .asked = lc.ports,
			   .ports = lc.ports,
			   .since_ns = wall_now_ns(c),
			   .end = UINT64_MAX,
			   .next = c->rings};
	packet_reader_init(&r->reader, memory, lc.ring_bytes, lc.snap_bytes);
	put_interfaces(c, r, w->started, out);
	c->rings = r;
	return 0;
}

/* Adds a ring for each worker that started or got a leg since the last capture_take(). The next
 * capture_take() retries a failure. */
static void add_rings(struct capture *c, struct pcapng *out)
{
	for (const struct sup_worker *w = sup_first(c->setup.sup); w; w = w->next) {
		struct ring *r = ring_of(c, w);

		if (!ports_of(c, w) || w->state != SUP_UP || (r && r->asked == ports_of(c, w)))
			continue;
		if (add_ring(c, w, out) == 0 && r)
			r->replaced = true;
	}
}

/* ---- reading the rings ---- */

static void put_statistics(struct capture *c, const struct ring *r, struct pcapng *out)
{
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++) {
		struct pcapng_statistics s = {.interface = r->interfaces[i],
					      .begin_ns = r->since_ns,
					      .end_ns = wall_now_ns(c),
					      .delivered = r->delivered[i]};

		if (!(r->ports >> i & 1))
			continue;
		packet_reader_count(&r->reader, i, &s.packets, &s.dropped);
		pcapng_put_statistics(out, &s);
	}
}

/* Returns how many packets of the captured ports did not fit into the ring. */
static uint64_t dropped_by(const struct ring *r)
{
	uint64_t packets, dropped, sum = 0;

	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++) {
		if (!(r->ports >> i & 1))
			continue;
		packet_reader_count(&r->reader, i, &packets, &dropped);
		sum += dropped;
	}
	return sum;
}

static void drop_ring(struct capture *c, struct ring *r, struct pcapng *out)
{
	struct ring **at = &c->rings;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	put_statistics(c, r, out);
	c->dropped += dropped_by(r);
	ring_free(r);
}

/* Returns whether a process may still write to the ring. */
static bool may_still_write(const struct capture *c, const struct ring *r)
{
	for (const struct sup_worker *w = sup_first(c->setup.sup); w; w = w->next)
		if (is_of(r, w))
			return !r->replaced || packet_reader_joined(&r->reader);
	return false;
}

/* Reads the next record of a ring. Returns false if there is none, or if it is later than until_ns.
 * A ring with a malformed record is no longer read. */
static bool next_of(struct capture *c, struct ring *r, uint64_t until_ns, struct packet_record *ret)
{
	bool listens = r->ports && r->reader.tail < r->end;
	int e = listens ? packet_reader_next(&r->reader, ret) : 0;

	if (e > 0 &&
	    (!(r->ports >> ret->port & 1) || (ret->direction == PACKET_KEY && !c->what.keys)))
		e = -EBADMSG;
	if (e < 0) {
		events_add(
			c->setup.events, LOG_LEVEL_WARNING, "capture",
			"worker %u wrote a malformed capture record; the capture skips this worker",
			r->worker_id);
		/* Makes the worker stop capturing, unless it has exited or writes to another ring
		 * now. */
		if (may_still_write(c, r) && !r->replaced)
			sup_capture(c->setup.sup, r->worker_id, NULL, -1);
		r->ports = 0;
	}
	return e > 0 && ret->time_ns <= until_ns;
}

static struct ring *oldest(struct capture *c, uint64_t until_ns, struct packet_record *ret)
{
	struct ring *found = NULL;
	struct packet_record rec;

	for (struct ring *r = c->rings; r; r = r->next)
		if (next_of(c, r, until_ns, &rec) && (!found || rec.time_ns < ret->time_ns)) {
			found = r;
			*ret = rec;
		}
	return found;
}

/* Adds one line with the session, the key number, the cipher and the cipher key. All values are
 * printed as numbers, so that a worker cannot put text of its choice into the file. */
static void put_key(struct ring *r, const struct packet_record *rec, struct pcapng *out)
{
	struct packet_key key;
	char line[2 * sizeof(key.key) + 64];
	int n;

	packet_reader_take(&r->reader, rec, (uint8_t *)&key);
	n = snprintf(line, sizeof(line), "%016" PRIx64 " %" PRIu64 " %" PRIu32 " ", key.session,
		     key.phase, key.cipher);
	for (size_t i = 0; i < sizeof(key.key); i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%02x", key.key[i]);
	snprintf(line + n, sizeof(line) - (size_t)n, "\n");
	pcapng_put_secrets(out, line);
	explicit_bzero(line, sizeof(line));
	explicit_bzero(&key, sizeof(key));
}

static void put_packets(struct capture *c, uint64_t until_ns, struct pcapng *out)
{
	struct packet_record rec;
	struct ring *r;

	while (out->len < CAPTURE_CHUNK_BYTES && (r = oldest(c, until_ns, &rec))) {
		const struct pcapng_packet pkt = {.interface = r->interfaces[rec.port],
						  .time_ns = rec.time_ns + c->wall_ns,
						  .wire_bytes = rec.wire_bytes,
						  .kept_bytes = rec.kept_bytes,
						  .inbound = rec.direction == PACKET_IN};
		uint8_t *to;

		if (rec.direction == PACKET_KEY) {
			put_key(r, &rec, out);
			continue;
		}
		to = pcapng_put_packet(out, &pkt);
		if (!to)
			return;
		packet_reader_take(&r->reader, &rec, to);
		r->delivered[rec.port]++;
		c->packets++;
		c->bytes += rec.kept_bytes;
	}
}

/* Drops the rings of processes that have exited. All records of such a process are older than its
 * exit; a record with a later time is invalid and is dropped with the ring. */
static void drop_ended(struct capture *c, uint64_t until_ns, struct pcapng *out)
{
	struct packet_record rec;
	struct ring *next;

	for (struct ring *r = c->rings; r; r = next) {
		next = r->next;
		if (!may_still_write(c, r) && !next_of(c, r, until_ns, &rec))
			drop_ring(c, r, out);
	}
}

/* ---- the client's requests ---- */

static void put_section(struct capture *c, struct pcapng *out)
{
	char comment[256];

	snprintf(comment, sizeof(comment),
		 "captured on %s for %s; at most %u bytes of each packet are kept. Protocol: "
		 "plenum-protocol(7)",
		 c->host, c->by, c->what.snap_bytes);
	pcapng_put_section(out, "plenum " PLENUM_VERSION, comment);
	c->has_section = true;
}

int capture_begin(struct capture *c, const struct privsep_capture *what, const char *by,
		  uint64_t *ret_id, struct reason *why)
{
	if (c->id) {
		reason_set_text(
			why, "a capture by %s has been running for %.0f s; wait until it has ended",
			c->by, (double)(clock_now_ns() - c->begun_ns) / NSEC_PER_SEC);
		return -EBUSY;
	}
	c->what = *what;
	if (count_workers(c) == 0) {
		if (what->leg[0])
			reason_set_text(why, "no running worker has leg %s; see 'plenum net show'",
					what->leg);
		else
			reason_set_text(why,
					"no running worker has the ID %u; see 'plenum processes'",
					what->worker);
		return -ENOENT;
	}
	while (!c->id)
		if (getrandom(&c->id, sizeof(c->id), 0) != sizeof(c->id))
			return -EIO;
	snprintf(c->by, sizeof(c->by), "%s", by);
	c->begun_ns = clock_now_ns();
	c->wall_ns = wall_offset_ns();
	c->packets = c->bytes = c->dropped = 0;
	c->n_interfaces = 0;
	c->has_section = false;
	c->ending_ns = 0;
	loop_timer_arm(c->timer, c->setup.idle_limit_ns);
	*ret_id = c->id;
	return 0;
}

/* Returns whether all workers have stopped writing packets to the rings. */
static bool all_left(const struct capture *c)
{
	for (const struct ring *r = c->rings; r; r = r->next)
		if (packet_reader_joined(&r->reader) && r->ports)
			return false;
	return true;
}

/* Ends the capture: makes the workers stop writing, and reads the rest of the rings. Returns
 * whether all rings are empty. It does not wait for a worker that does not respond, and it stops
 * reading the ring of a worker that keeps writing. */
static bool finish(struct capture *c, struct pcapng *out)
{
	uint64_t now_ns = clock_now_ns();

	if (!c->ending_ns) {
		c->ending_ns = now_ns;
		for (const struct ring *r = c->rings; r; r = r->next)
			sup_capture(c->setup.sup, r->worker_id, NULL, -1);
		return false;
	}
	if (!all_left(c) && now_ns - c->ending_ns < CAPTURE_LEAVE_NS)
		return false;
	/* A ring holds at most `bytes` bytes. Reading ends after that many, even if a worker keeps
	 * writing. */
	for (struct ring *r = c->rings; r; r = r->next)
		r->end = MIN_OF(r->end, r->reader.tail + r->reader.bytes);
	if (out->len >= CAPTURE_CHUNK_BYTES)
		return false;
	put_packets(c, now_ns, out);
	while (c->rings)
		drop_ring(c, c->rings, out);
	end(c);
	return true;
}

int capture_take(struct capture *c, uint64_t id, bool last, struct pcapng *ret, bool *ret_more)
{
	struct pcapng out = {0};
	uint64_t until_ns = clock_now_ns();

	if (!id || id != c->id)
		return -ENOENT;
	loop_timer_arm(c->timer, c->setup.idle_limit_ns);
	if (!c->has_section)
		put_section(c, &out);
	if (!last && !c->ending_ns) /* another client may be ending the capture */
		add_rings(c, &out);
	put_packets(c, until_ns, &out);
	drop_ended(c, until_ns, &out);
	*ret_more = !last || !finish(c, &out);
	if (out.out_of_memory) {
		pcapng_done(&out);
		return -ENOMEM;
	}
	*ret = out;
	return 0;
}

/* ---- the list of captures ---- */

bool capture_has_keys(const struct capture *c, uint64_t id)
{
	return id && id == c->id && c->what.keys;
}

const char *capture_of_other(const struct capture *c, uint64_t id, const char *by)
{
	return id && id == c->id && !c->ending_ns && strcmp(c->by, by) != 0 ? c->by : NULL;
}

static json_t *workers_to_json(const struct capture *c)
{
	json_t *list = json_array();

	for (const struct sup_worker *w = sup_first(c->setup.sup); w; w = w->next)
		if (ring_of(c, w))
			json_array_append_new(list, json_integer(w->id));
	return list;
}

static json_t *capture_to_json(const struct capture *c)
{
	uint64_t dropped = c->dropped;
	char number[17];

	for (const struct ring *r = c->rings; r; r = r->next)
		dropped += dropped_by(r);
	snprintf(number, sizeof(number), "%016" PRIx64, c->id);
	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:I, s:b, s:I, s:I, s:I}", "capture",
			 number, "state", c->ending_ns ? "ending" : "running", "by", c->by,
			 "since_s", (json_int_t)((clock_now_ns() - c->begun_ns) / NSEC_PER_SEC),
			 "leg", c->what.leg, "worker",
			 c->what.worker == PRIVSEP_CAPTURE_ALL ? json_null()
							       : json_integer(c->what.worker),
			 "workers", workers_to_json(c), "snap", (json_int_t)c->what.snap_bytes,
			 "keys", c->what.keys != 0, "packets", (json_int_t)c->packets, "bytes",
			 (json_int_t)c->bytes, "dropped", (json_int_t)dropped);
}

json_t *capture_list(const struct capture *c)
{
	json_t *list = json_array();

	if (c->id)
		json_array_append_new(list, capture_to_json(c));
	return json_pack("{s:o}", "captures", list);
}
