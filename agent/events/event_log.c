/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes segments of events. An event is a line with a checksum; the lines of one call
 * are appended by one write. */
#include "agent/events/event_log.h"
#include "netcfg/base/file.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/text.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD "plenum-events "
#define SUM " sum "
#define FORMAT 1
#define SUM_DIGITS 16
#define NUMBER_MAX (INT64_MAX / 2)     /* leaves room to add numbers without an overflow */
#define TIME_MS_MAX 253402300799999ULL /* the end of the year 9999 */

/* Returns the checksum of a line. It detects damage but not forgery: a program that can write the
 * file can also compute the checksum. */
static uint64_t sum_of(const char *line, size_t len)
{
	static const uint64_t key[2] = {0x706c656e756d2d65, 0x76656e742d763100};

	return hash_keyed(key, line, len);
}

static void put_head(char line[EVENT_LOG_HEAD_MAX], uint64_t instance)
{
	int n = snprintf(line, EVENT_LOG_HEAD_MAX, HEAD "%u instance %016" PRIx64, FORMAT,
			 instance);

	snprintf(line + n, EVENT_LOG_HEAD_MAX - (size_t)n, SUM "%016" PRIx64 "\n",
		 sum_of(line, (size_t)n));
}

void event_log_done(struct event_log *log)
{
	free(log->entries);
	*log = (struct event_log){0};
}

bool event_log_is_whole(const struct event_log *log)
{
	return log->n_damaged == 0 && !log->incomplete && !log->headless;
}

/* ---- reading ---- */

/* Reads a decimal number up to `max` that is followed by the character `end`. Returns the place
 * after that character, or NULL if the text is something else. */
static const char *take_number(const char *at, char end, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (*at < '0' || *at > '9')
		return NULL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (v > (UINT64_MAX - 9) / 10)
			return NULL;
		v = v * 10 + (uint64_t)(*at - '0');
	}
	*ret = v;
	return *at == end && v <= max ? at + 1 : NULL;
}

/* Copies the text before `end`, which must have 1 to size - 1 bytes. Returns the place after `end`,
 * or NULL if the text is something else. */
static const char *take_text(const char *at, char end, char *buf, size_t size)
{
	const char *stop = strchrnul(at, end);
	const size_t len = (size_t)(stop - at);

	if (*stop != end || len == 0 || len >= size)
		return NULL;
	memcpy(buf, at, len);
	buf[len] = '\0';
	return end ? stop + 1 : stop;
}

/* Parses the NUL-terminated rest of a line, after its checksum. */
static bool parse_entry(const char *at, struct events_entry *e)
{
	char severity[16];

	at = take_number(at, ' ', NUMBER_MAX, &e->seq);
	if (at)
		at = take_number(at, ' ', TIME_MS_MAX, &e->time_ms);
	if (at)
		at = take_text(at, ' ', severity, sizeof(severity));
	if (at)
		at = take_text(at, '\t', e->source, sizeof(e->source));
	if (at)
		at = take_text(at, '\0', e->text, sizeof(e->text));
	if (!at || e->seq == 0 || !events_severity_from_string(severity, &e->severity))
		return false;
	text_clean(e->source);
	text_clean(e->text);
	return true;
}

static bool parse_line(const char *line, size_t len, struct events_entry *e)
{
	char text[EVENT_LOG_LINE_MAX], sum[SUM_DIGITS + 1];

	if (len <= SUM_DIGITS + 1 || len >= sizeof(text) || memchr(line, '\0', len))
		return false;
	snprintf(sum, sizeof(sum), "%016" PRIx64,
		 sum_of(line + SUM_DIGITS + 1, len - SUM_DIGITS - 1));
	if (memcmp(line, sum, SUM_DIGITS) != 0 || line[SUM_DIGITS] != ' ')
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	return parse_entry(text + SUM_DIGITS + 1, e);
}

static int add(struct event_log *log, const struct events_entry *e)
{
	/* The array has twice the necessary room, so that the newest events rarely have to be moved
	 * to its front. */
	const size_t room = 2 * EVENTS_KEPT;

	if (e->seq <= log->last)
		return 0;
	if (!log->entries)
		log->entries = calloc(room, sizeof(*log->entries));
	if (!log->entries)
		return -ENOMEM;
	if (log->n == room) {
		memmove(log->entries, log->entries + room - (EVENTS_KEPT - 1),
			(EVENTS_KEPT - 1) * sizeof(*e));
		log->n = EVENTS_KEPT - 1;
	}
	log->entries[log->n++] = *e;
	log->last = e->seq;
	return 0;
}

struct head {
	unsigned version;
	uint64_t instance; /* valid only if `version` is this version */
};

/* Checks the checksum at the end of `line`, a NUL-terminated first line of a segment, and removes
 * it from the line. */
static bool check_sum(char *line)
{
	char *sum = strstr(line, SUM), is[SUM_DIGITS + 1];

	if (!sum)
		return false;
	snprintf(is, sizeof(is), "%016" PRIx64, sum_of(line, (size_t)(sum - line)));
	*sum = '\0';
	return strcmp(sum + strlen(SUM), is) == 0;
}

/* Parses the first line of a segment. Returns false if the line is damaged or is not such a
 * line. */
static bool parse_first_line(const char *text, size_t len, struct head *ret)
{
	char line[EVENT_LOG_HEAD_MAX], again[EVENT_LOG_HEAD_MAX];

	*ret = (struct head){0};
	if (len >= sizeof(line))
		return false;
	memcpy(line, text, len);
	line[len] = '\0';
	if (!check_sum(line) || sscanf(line, HEAD "%9u", &ret->version) != 1 || !ret->version)
		return false;
	if (ret->version != FORMAT)
		return true;
	if (sscanf(line, HEAD "%*u instance %16" SCNx64, &ret->instance) != 1 || !ret->instance)
		return false;
	put_head(again, ret->instance);
	return strncmp(again, line, strlen(line)) == 0;
}

/* Handles the first line of a segment. Returns false if the file has a newer version. */
static bool parse_head(struct event_log *log, const char *line, size_t len)
{
	struct head h;

	if (!parse_first_line(line, len, &h)) {
		log->headless = true;
		return true;
	}
	if (h.version > FORMAT) {
		log->newer = h.version;
		return false;
	}
	/* Event numbers of two instances cannot be compared, so the events of the earlier instance
	 * are dropped. */
	if (log->instance && log->instance != h.instance)
		log->n = log->last = 0;
	log->instance = h.instance;
	return true;
}

int event_log_parse(struct event_log *log, const char *text, size_t len)
{
	const char *end = text + len, *line = text;
	bool first = true;
	int r = 0;

	while (r >= 0 && line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		struct events_entry e = {.seq = 0};

		if (!stop) {
			log->incomplete = true;
			break;
		}
		if (first && !parse_head(log, line, (size_t)(stop - line)))
			return 0;
		if (parse_line(line, (size_t)(stop - line), &e))
			r = add(log, &e);
		else if (!first)
			log->n_damaged++;
		first = false;
		line = stop + 1;
	}
	if (log->n > EVENTS_KEPT) {
		memmove(log->entries, log->entries + log->n - EVENTS_KEPT,
			EVENTS_KEPT * sizeof(*log->entries));
		log->n = EVENTS_KEPT;
	}
	return r;
}

static int read_one(struct event_log *log, const char *path)
{
	autofree char *text = NULL;
	size_t len = 0;
	int r = file_read(path, 2 * EVENT_LOG_SEGMENT_BYTES, &text, &len);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return event_log_parse(log, text, len);
}

static char *older_of(const char *path)
{
	char *older;

	return asprintf(&older, "%s.1", path) < 0 ? NULL : older;
}

int event_log_read(struct event_log *log, const char *path)
{
	autofree char *older = older_of(path);
	int r, k;

	if (!older)
		return -ENOMEM;
	r = read_one(log, older);
	k = read_one(log, path);
	return r < 0 ? r : k;
}

/* ---- writing ---- */

static void put_entry(FILE *f, const struct events_entry *e)
{
	char line[EVENT_LOG_LINE_MAX];
	int n = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %s %s\t%s", e->seq,
			 e->time_ms, log_level_to_string(e->severity),
			 e->source[0] ? e->source : "?", e->text[0] ? e->text : "?");

	fprintf(f, "%016" PRIx64 " %s\n", sum_of(line, (size_t)n), line);
}

/* Formats the events as lines. head: a first line of a segment comes before them. Returns a string
 * on the heap, or NULL if memory is short. */
static char *format(bool head, uint64_t instance, const struct events_entry *entries, size_t n,
		    size_t *ret_len)
{
	char *text = NULL, line[EVENT_LOG_HEAD_MAX];
	FILE *f = open_memstream(&text, ret_len);

	if (!f)
		return NULL;
	if (head) {
		put_head(line, instance);
		fputs(line, f);
	}
	for (size_t i = 0; i < n; i++)
		put_entry(f, &entries[i]);
	return file_text_end(f, &text, 0);
}

/* Renames a file of a newer version to PATH.vVERSION. */
static int keep_newer(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[EVENT_LOG_HEAD_MAX];
	autofree char *kept = NULL;
	const char *end;
	struct head h;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	end = memchr(text, '\n', (size_t)n);
	if (!end || !parse_first_line(text, (size_t)(end - text), &h) || h.version <= FORMAT)
		return 0;
	if (asprintf(&kept, "%s.v%u", path, h.version) < 0) {
		kept = NULL;
		return -ENOMEM;
	}
	return rename(path, kept) < 0 ? -errno : 0;
}

/* Renames the full segment so that a new one can begin. */
static int rotate(const char *path)
{
	autofree char *older = older_of(path);
	int r = older ? keep_newer(older) : -ENOMEM;

	return r < 0 ? r : rename(path, older) < 0 && errno != ENOENT ? -errno : 0;
}

static int open_segment(const char *path)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

	return fd < 0 ? -errno : fd;
}

/* Gets the size of the segment. Returns 0, -EBADMSG if its last line is incomplete, or another
 * negative errno. */
static int measure(int fd, off_t *ret)
{
	struct stat st;
	char last;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > 0 && (pread(fd, &last, 1, st.st_size - 1) != 1 || last != '\n'))
		return -EBADMSG;
	*ret = st.st_size;
	return 0;
}

/* Appends the lines. If not all lines can be written, removes the part that was written. */
static int write_lines(int fd, off_t size, const char *text, size_t len)
{
	int r = file_write_all(fd, text, len);

	if (r < 0 && ftruncate(fd, size) < 0)
		return -EBADMSG;
	return r;
}

int event_log_append(const char *path, uint64_t instance, const struct events_entry *entries,
		     size_t n, bool sync)
{
	autofree char *text = NULL;
	size_t len = n * EVENT_LOG_LINE_MAX;
	autoclose int fd = -1;
	off_t size = 0;
	bool is_new;
	int r = keep_newer(path);

	if (r < 0)
		return r;
	fd = open_segment(path);
	r = fd < 0 ? fd : measure(fd, &size);
	if (r >= 0 && (size_t)size + len > EVENT_LOG_SEGMENT_BYTES && size > 0) {
		cleanup_close(&fd);
		r = rotate(path);
		fd = r < 0 ? r : open_segment(path);
		r = fd < 0 ? fd : measure(fd, &size);
	}
	if (r < 0)
		return r;
	is_new = size == 0;
	text = format(is_new, instance, entries, n, &len);
	r = text ? write_lines(fd, size, text, len) : -ENOMEM;
	if (r >= 0 && sync && fdatasync(fd) < 0)
		r = -errno;
	return r >= 0 && sync && is_new ? file_sync_folder(path) : r;
}

int event_log_replace(const char *path, uint64_t instance, const struct events_entry *entries,
		      size_t n)
{
	autofree char *older = older_of(path), *text = NULL;
	size_t len = 0;
	int r = older ? keep_newer(path) : -ENOMEM;

	if (r >= 0)
		r = keep_newer(older);
	if (r < 0)
		return r;
	text = format(true, instance, entries, n, &len);
	r = text ? file_write(path, text, len, 0600) : -ENOMEM;
	if (r >= 0 && unlink(older) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}
