/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum capture`: polls the agent for captured packets and writes them to a file until a limit is
 * reached. On every exit the command asks the agent to end the capture; the agent also ends it if
 * the polls stop.
 */
#include "agent/ctl/ctl.h"

#include "netcfg/base/file.h"
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define SECONDS_DEFAULT 60
#define MIB_DEFAULT 256
#define PAUSE_MS 100 /* pause between polls if the last poll returned little */
#define LEAVE_MS 2   /* time in which workers stop capturing */
/* Limit for the end of a capture, which takes the agent about a second. */
#define END_LIMIT_NS (30 * NSEC_PER_SEC)
#define BUSY_BYTES (256U << 10)
#define BLOCK_STATISTICS 5U
#define BLOCK_PACKET 6U
#define BLOCK_SECRETS 10U
#define ISB_IFRECV 4U
#define ISB_IFDROP 5U

struct capture {
	const struct ctl_args *args;
	unsigned long seconds, packets_max, mib, snap, buffer, worker;
	int fd, keys_fd;	  /* keys_fd -1: cipher keys were not requested */
	char number[CTL_ID_SIZE]; /* number that the agent gave to this capture */
	uint64_t begun_ns, bytes, packets, seen, dropped, keys;
	bool full;		   /* the limit of packets or bytes was reached */
	bool made_file, made_keys; /* this command has created the files */
};

static volatile sig_atomic_t interrupted;

/* A second signal ends the program at once, and the remaining packets are lost. */
static void on_signal(int signo)
{
	if (interrupted)
		_exit(128 + signo);
	interrupted = 1;
}

/* ---- arguments ---- */

static int take_options(const struct ctl_args *a, struct capture *c)
{
	const struct {
		const char *option, *text;
		unsigned long min, max, *to;
	} numbers[] = {
		{"--seconds", a->seconds, 1, 86400, &c->seconds},
		{"--packets", a->packets, 1, UINT32_MAX, &c->packets_max},
		{"--size", a->size, 1, 1UL << 20, &c->mib},
		{"--snap", a->snap && strcmp(a->snap, "full") == 0 ? "65535" : a->snap, 64, 65535,
		 &c->snap},
		{"--buffer", a->buffer, 1, 1024, &c->buffer},
		{"--worker", a->worker, 0, UINT32_MAX - 1UL, &c->worker},
	};
	int r = CTL_OK;

	*c = (struct capture){.args = a,
			      .seconds = SECONDS_DEFAULT,
			      .mib = MIB_DEFAULT,
			      .fd = STDOUT_FILENO,
			      .keys_fd = -1};
	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == CTL_OK; i++)
		r = ctl_take_number(numbers[i].option, numbers[i].text, numbers[i].min,
				    numbers[i].max, numbers[i].to);
	return r;
}

static bool is_file(int fd, const struct stat *st)
{
	struct stat of;

	return fstat(fd, &of) == 0 && of.st_dev == st->st_dev && of.st_ino == st->st_ino;
}

/* Opens or creates a file. *ret_made: whether it was created. */
static int open_output(const char *file, int flags, bool *ret_made)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0600);

	*ret_made = fd >= 0;
	return fd >= 0 || errno != EEXIST
		       ? fd
		       : open(file, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
}

/* Removes empty files that were created for a capture which did not begin. */
static void remove_made(const struct capture *c)
{
	if (c->made_file)
		unlink(c->args->write);
	if (c->made_keys)
		unlink(c->args->keys);
}

/* Makes the file readable by its owner only, even if it existed with another mode. */
static int open_keys(struct capture *c)
{
	const char *file = c->args->keys;
	struct stat st;

	if (!file)
		return CTL_OK;
	c->keys_fd = open_output(file, O_NOFOLLOW, &c->made_keys);
	if (c->keys_fd >= 0 && fstat(c->keys_fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && !is_file(c->fd, &st) && fchmod(c->keys_fd, 0600) == 0)
		return CTL_OK;
	ctl_complain("%s: %s", file,
		     c->keys_fd < 0 ? strerror(errno)
				    : "write the keys to a separate file that only you can read");
	return CTL_IO;
}

/* Does not truncate the file yet, because another running capture may be writing to it. */
static int open_file(struct capture *c)
{
	const char *file = c->args->write;

	if (file && strcmp(file, "-") != 0) {
		c->fd = open_output(file, 0, &c->made_file);
		if (c->fd >= 0)
			return CTL_OK;
		ctl_complain("%s: %s", file, strerror(errno));
		return CTL_IO;
	}
	if (!isatty(STDOUT_FILENO))
		return CTL_OK;
	ctl_complain("cannot write packets to a terminal; use -w FILE, or 'plenum capture | tshark "
		     "-r -'");
	return CTL_USAGE;
}

/* ---- the agent ---- */

static int begin(struct capture *c)
{
	struct ctl_request rq = {.resource = RESOURCE_CAPTURE_BEGIN};
	json_t *body = json_object(), *answer = NULL;
	autofree char *text = NULL;
	int r;

	if (c->args->leg)
		json_object_set_new(body, "leg", json_string(c->args->leg));
	if (c->args->worker)
		json_object_set_new(body, "worker", json_integer((json_int_t)c->worker));
	if (c->snap)
		json_object_set_new(body, "snap", json_integer((json_int_t)c->snap));
	if (c->buffer)
		json_object_set_new(body, "buffer", json_integer((json_int_t)c->buffer << 20));
	if (c->keys_fd >= 0)
		json_object_set_new(body, "keys", json_true());
	text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	if (!text)
		return ctl_put_text(NULL);
	rq.body = text;
	r = ctl_ask_json(c->args, &rq, &answer);
	if (r != CTL_OK)
		return r;
	r = ctl_take_id(answer, "capture", c->number);
	json_decref(answer);
	c->begun_ns = clock_now_ns();
	return r;
}

/* Truncates the output files. The capture is running, so no other capture writes to them. A pipe
 * cannot be truncated. */
static int empty_files(const struct capture *c)
{
	struct stat st;

	if (c->keys_fd >= 0 && ftruncate(c->keys_fd, 0) < 0) {
		ctl_complain("%s: %s", c->args->keys, strerror(errno));
		return CTL_IO;
	}
	if (c->fd == STDOUT_FILENO || fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    ftruncate(c->fd, 0) == 0)
		return CTL_OK;
	ctl_complain("%s: %s", c->args->write, strerror(errno));
	return CTL_IO;
}

static uint32_t get32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Counts the drops in an interface statistics block. Its options begin after the interface and the
 * time. */
static void count_statistics(struct capture *c, const char *block, uint32_t len)
{
	uint32_t at = 20;

	while (at + 16 <= len) {
		uint16_t code, bytes;
		uint64_t n;

		memcpy(&code, block + at, sizeof(code));
		memcpy(&bytes, block + at + 2, sizeof(bytes));
		memcpy(&n, block + at + 4, sizeof(n));
		if (code == ISB_IFRECV)
			c->seen += n;
		else if (code == ISB_IFDROP)
			c->dropped += n;
		at += 4 + ((bytes + 3U) & ~3U);
	}
}

/* Writes the cipher keys of a secrets block to the file for keys. They are never written to the
 * capture. */
static int put_keys(struct capture *c, const char *block, uint32_t len)
{
	uint32_t bytes = len >= 20 ? get32(block + 12) : UINT32_MAX;
	int r;

	if (c->keys_fd < 0 || bytes > len - 20)
		return CTL_OK;
	r = file_write_all(c->keys_fd, block + 16, bytes);
	c->keys++;
	if (r == 0)
		return CTL_OK;
	ctl_complain("%s: %s", c->args->keys, strerror(-r));
	return CTL_IO;
}

/* Returns how many bytes to write: whole blocks, up to the limits. */
static size_t judge_blocks(struct capture *c, const char *bytes, size_t len)
{
	size_t at = 0;

	while (len - at >= 12) {
		uint32_t type = get32(bytes + at), block = get32(bytes + at + 4);

		if (block < 12 || block > len - at)
			break;
		if (type == BLOCK_SECRETS)
			break;
		if (type == BLOCK_STATISTICS)
			count_statistics(c, bytes + at, block);
		c->full = c->full || c->bytes + at + block > (uint64_t)c->mib << 20;
		if (type == BLOCK_PACKET && c->full)
			break;
		c->packets += type == BLOCK_PACKET;
		c->full = c->full || (c->packets_max && c->packets == c->packets_max);
		at += block;
	}
	return at;
}

/* Writes an answer of the agent to the file. Once the limit of packets or bytes is reached, packets
 * are left out, but statistics are still written. */
static int put_answer(struct capture *c, const struct ctl_reply *reply)
{
	size_t at = 0;

	while (reply->len - at >= 12) {
		size_t n = judge_blocks(c, reply->body + at, reply->len - at);
		int r = n ? file_write_all(c->fd, reply->body + at, n) : 0;

		if (r < 0) {
			ctl_complain("cannot write the packets: %s", strerror(-r));
			return CTL_IO;
		}
		c->bytes += n;
		at += n;
		if (reply->len - at < 12 || get32(reply->body + at + 4) < 12 ||
		    get32(reply->body + at + 4) > reply->len - at)
			break;
		if (get32(reply->body + at) == BLOCK_SECRETS)
			r = put_keys(c, reply->body + at, get32(reply->body + at + 4));
		if (r != CTL_OK)
			return r;
		/* Skips a block that is not written: secrets, or a packet after the limit. */
		at += get32(reply->body + at + 4);
	}
	return CTL_OK;
}

/* Fetches and writes the next data. Returns CTL_OK with the number of bytes in *ret_len. *ret_more:
 * true if the capture is ending and the agent has more data. */
static int poll_agent(struct capture *c, enum resource_id resource, size_t *ret_len, bool *ret_more)
{
	const struct ctl_request rq = {.resource = resource, .name = c->number};
	struct ctl_reply reply;
	int r = ctl_ask(c->args, &rq, &reply);

	if (r != CTL_OK)
		return r;
	r = put_answer(c, &reply);
	*ret_len = reply.len;
	*ret_more = reply.status == 202;
	ctl_reply_done(&reply);
	return r;
}

static bool is_done(const struct capture *c)
{
	return interrupted || c->full || clock_now_ns() - c->begun_ns >= c->seconds * NSEC_PER_SEC;
}

/* Notices that the reader of standard output has closed the pipe, even while there is nothing to
 * write. */
static bool reader_closed(const struct capture *c)
{
	struct pollfd p = {.fd = c->fd, .events = 0};

	return poll(&p, 1, PAUSE_MS) > 0 && (p.revents & (POLLERR | POLLHUP));
}

static int capture_packets(struct capture *c)
{
	bool more = true;
	size_t len;
	int r = CTL_OK;

	while (r == CTL_OK && !is_done(c)) {
		r = poll_agent(c, RESOURCE_CAPTURE_TAKE, &len, &more);
		if (r == CTL_OK && len < BUSY_BYTES && reader_closed(c))
			return CTL_OK;
	}
	return r;
}

static int end_capture(struct capture *c)
{
	const uint64_t until = clock_now_ns() + END_LIMIT_NS;
	bool more = true;
	int r = CTL_OK;
	size_t len;

	while (r == CTL_OK && more && clock_now_ns() < until) {
		r = poll_agent(c, RESOURCE_CAPTURE_END, &len, &more);
		if (r == CTL_OK && more && !len)
			(void)poll(NULL, 0, LEAVE_MS);
	}
	if (r != CTL_OK || !more)
		return r;
	ctl_complain("the agent does not end the capture; the last packets may be missing");
	return CTL_SOFTWARE;
}

static void print_summary(const struct capture *c)
{
	char bytes[32];

	ctl_complain("%" PRIu64 " packets, %s, of %" PRIu64 " sent and received; %" PRIu64
		     " were dropped for lack of buffer%s",
		     c->packets, ctl_format_bytes((json_int_t)c->bytes, bytes, sizeof(bytes)),
		     c->seen, c->dropped, c->dropped ? "; increase --buffer" : "");
	if (c->keys_fd >= 0)
		ctl_complain("%" PRIu64
			     " keys in %s: together with the packets they reveal users' data",
			     c->keys, c->args->keys);
}

int ctl_cmd_capture(const struct ctl_args *a)
{
	const struct sigaction act = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
	struct capture c;
	int r = take_options(a, &c), e = CTL_OK;

	if (r == CTL_OK)
		r = open_file(&c);
	if (r == CTL_OK)
		r = open_keys(&c);
	if (r != CTL_OK) {
		remove_made(&c);
		return r;
	}
	interrupted = 0;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	r = begin(&c);
	if (r == CTL_OK) {
		r = empty_files(&c);
		if (r == CTL_OK)
			r = capture_packets(&c);
		if (r != CTL_UNAVAILABLE && r != CTL_NO_INPUT)
			e = end_capture(&c);
		print_summary(&c);
	} else {
		remove_made(&c);
	}
	if (c.keys_fd >= 0 && close(c.keys_fd) < 0 && r == CTL_OK) {
		ctl_complain("%s: %s", a->keys, strerror(errno));
		r = CTL_IO;
	}
	if (c.fd != STDOUT_FILENO && close(c.fd) < 0 && r == CTL_OK) {
		ctl_complain("%s: %s", a->write, strerror(errno));
		r = CTL_IO;
	}
	return r != CTL_OK ? r : e;
}

/* ---- the running capture ---- */

static int print_captures(const struct ctl_args *a, const json_t *o)
{
	static const char *const headings[] = {"ID",	  "STATE",   "BY",     "SINCE",
					       "LEG",	  "WORKERS", "SNAP",   "KEYS",
					       "PACKETS", "BYTES",   "DROPPED"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	char text[128];
	const json_t *e;
	size_t i;

	json_array_foreach (json_object_get(o, "captures"), i, e) {
		const char *leg = ctl_text(e, "leg");

		ctl_table_add(&t, "%s", ctl_text(e, "capture"));
		ctl_table_add(&t, "%s", ctl_text(e, "state"));
		ctl_table_add(&t, "%s", ctl_text(e, "by"));
		ctl_table_add(&t, "%s",
			      ctl_format_seconds(ctl_int(e, "since_s"), text, sizeof(text)));
		ctl_table_add(&t, "%s", *leg ? leg : "all");
		ctl_format_ids(json_object_get(e, "workers"), text, sizeof(text));
		ctl_table_add(&t, "%s", text);
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "snap"));
		ctl_table_add(&t, "%s", json_is_true(json_object_get(e, "keys")) ? "yes" : "no");
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "packets"));
		ctl_table_add(&t, "%s", ctl_format_bytes(ctl_int(e, "bytes"), text, sizeof(text)));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "dropped"));
	}
	return ctl_view_print(a, &t, resources[RESOURCE_CAPTURES].columns);
}

int ctl_cmd_captures(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_CAPTURES, .list = "captures"};
	json_t *o;
	int r = ctl_ask_json(a, &rq, &o);

	if (r != CTL_OK)
		return r;
	r = a->json ? ctl_put_json(o) : print_captures(a, o);
	json_decref(o);
	return r;
}

/* Drops the packets of the last answers, because they are useless without the earlier packets. */
int ctl_cmd_captures_end(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_CAPTURE_END, .name = a->operands[0]};
	const uint64_t until = clock_now_ns() + END_LIMIT_NS;
	struct ctl_reply reply;
	bool more = true;
	size_t len;
	int r;

	if (strspn(rq.name, "0123456789abcdef") != strlen(rq.name) || !*rq.name ||
	    strlen(rq.name) > 16) {
		ctl_complain("'%.40s' is not an ID of 'plenum captures'", rq.name);
		return CTL_USAGE;
	}
	while (more && clock_now_ns() < until) {
		r = ctl_ask(a, &rq, &reply);
		if (r != CTL_OK)
			return r;
		more = reply.status == 202;
		len = reply.len;
		ctl_reply_done(&reply);
		if (more && !len)
			(void)poll(NULL, 0, LEAVE_MS);
	}
	if (more) {
		ctl_complain("the agent does not end the capture");
		return CTL_SOFTWARE;
	}
	return a->json ? ctl_put_text("{}\n") : CTL_OK;
}
