/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes record files. The reader checks the first line and the checksum and splits lines
 * into words; the writer refuses to write a file that the reader would reject.
 */
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/boot_stamp.h"
#include "netcfg/base/hash.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#define PREFIX "plenum-"
#define HEAD_BYTES_MAX 256

const char *state_file_error(int error)
{
	switch (error) {
	case STATE_MISSING:
		return "the file does not exist";
	case STATE_TORN:
		return "the file is incomplete or damaged";
	case STATE_NEWER:
		return "a newer version of Plenum wrote the file; this version renames that file "
		       "to NAME.vVERSION before it writes its own";
	case STATE_OTHER_BOOT:
		return "the file is of another boot or network namespace";
	case STATE_TOO_LARGE:
		return "the file is too large";
	default:
		return strerror(-error);
	}
}

/* The checksum detects damage, not forgery: a program that may write the file can also compute the
 * checksum. */
static uint64_t sum_of(const char *lines, size_t len)
{
	static const uint64_t key[2] = {0x706c656e756d2d73, 0x746174652d763100};

	return hash_keyed(key, lines, len);
}

/* ---- the first line ---- */

struct head {
	unsigned version;
	char stamp[BOOT_STAMP_TEXT_MAX]; /* boot and namespace of the file; "": the file does
					    not depend on the boot */
	bool has_sum;
	size_t bytes;
	uint64_t sum;
};

/* Parses "plenum-KIND VERSION". Returns the text after it, or NULL if the text has another form. */
static const char *parse_version(const struct state_kind *k, const char *text, unsigned *ret)
{
	const size_t name_len = strlen(k->name);
	unsigned long version;
	char *end;

	if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	text += strlen(PREFIX);
	if (strncmp(text, k->name, name_len) != 0 || text[name_len] != ' ' ||
	    text[name_len + 1] < '1' || text[name_len + 1] > '9')
		return NULL;
	version = strtoul(text + name_len + 1, &end, 10);
	if ((*end != ' ' && *end != '\n') || version > UINT_MAX)
		return NULL;
	*ret = (unsigned)version;
	return end;
}

/* Parses the first line after the version, which is `rest`. */
static void parse_attributes(char *rest, struct head *h)
{
	char *sum = strstr(rest, " bytes ");
	int at = 0;

	h->has_sum = sum &&
		     sscanf(sum, " bytes %zu sum %16" SCNx64 "%n", &h->bytes, &h->sum, &at) == 2 &&
		     at && !sum[at];
	if (sum)
		*sum = '\0';
	if (rest[0])
		snprintf(h->stamp, sizeof(h->stamp), "%s", rest + 1);
}

/* Parses the first line. Returns false if it is incomplete or of another kind. */
static bool parse_head(struct state_file *f, struct head *h)
{
	const char *end = strchr(f->text, '\n'), *rest;

	*h = (struct head){.version = 0};
	rest = end ? parse_version(f->kind, f->text, &h->version) : NULL;
	if (!rest)
		return false;
	memcpy(f->line, rest, (size_t)(end - rest));
	f->line[end - rest] = '\0';
	parse_attributes(f->line, h);
	f->version = h->version;
	f->lines = end + 1;
	return true;
}

static int check_stamp(const struct state_file *f, const char *stamp)
{
	char here[BOOT_STAMP_TEXT_MAX], *netns;

	if (f->kind->scope == STATE_OF_HOST ||
	    (!stamp[0] && f->plain && f->kind->scope == STATE_OF_BOOT))
		return 0;
	if (strncmp(stamp, "boot ", 5) != 0)
		return STATE_TORN;
	boot_stamp_text(here, sizeof(here));
	netns = strstr(here, " netns ");
	if (f->kind->scope == STATE_OF_BOOT && netns)
		netns[strlen(" netns ")] = '\0';
	return strncmp(stamp, here, strlen(here)) == 0 &&
			       (f->kind->scope == STATE_OF_BOOT || !stamp[strlen(here)])
		       ? 0
		       : STATE_OTHER_BOOT;
}

/* ---- reading ---- */

void state_file_done(struct state_file *f)
{
	free(f->text);
	free(f->line);
	*f = (struct state_file){.kind = f->kind};
}

/* Converts a text of the old format to lines of the current one. If the file is damaged, the
 * function keeps the intact lines. */
static int convert(struct state_file *f)
{
	struct state_draft lines;
	int r;

	state_draft_init(&lines, f->kind);
	r = f->kind->convert(f->text, &lines);
	if ((r == 0 || r == STATE_TORN) && (!lines.out || fflush(lines.out) != 0))
		r = -ENOMEM;
	f->lines = f->next = "";
	if (r == 0 || r == STATE_TORN) {
		free(f->text);
		free(f->line);
		f->plain = false;
		f->text = strdup(lines.lines);
		f->line = malloc(lines.len + 1);
		if (f->text && f->line)
			f->lines = f->next = f->text;
		else
			r = -ENOMEM;
	}
	state_draft_done(&lines);
	return r;
}

/* The old format has no checksum: only the last newline shows that the file is complete. */
static int check_old(struct state_file *f, size_t len)
{
	const bool complete = f->text[len - 1] == '\n';
	int r = 0;

	if (f->version > f->kind->old_until)
		return STATE_TORN;
	if (f->kind->convert)
		r = convert(f);
	else
		f->plain = true;
	return r < 0 || complete ? r : STATE_TORN;
}

static int check(struct state_file *f, size_t len)
{
	const bool whole = strlen(f->text) == len;
	struct head h;
	int r;

	f->lines = f->next = f->text;
	f->plain = !parse_head(f, &h);
	if (f->plain)
		return f->kind->convert && whole ? convert(f) : STATE_TORN;
	f->next = f->lines;
	if (h.version > f->kind->version)
		return STATE_NEWER;
	if (!whole)
		return STATE_TORN;
	if (!h.has_sum)
		r = check_old(f, len);
	else
		r = h.bytes == len - (size_t)(f->lines - f->text) &&
				    h.sum == sum_of(f->lines, h.bytes)
			    ? 0
			    : STATE_TORN;
	return r < 0 ? r : check_stamp(f, h.stamp);
}

/* Parses `text`, which the function then owns. */
static int parse(struct state_file *f, const struct state_kind *kind, char *text, size_t len)
{
	*f = (struct state_file){
		.kind = kind, .text = text, .lines = "", .next = "", .line = malloc(len + 1)};
	return text && f->line ? check(f, len) : -ENOMEM;
}

int state_file_read(struct state_file *f, const struct state_kind *kind, const char *path)
{
	char *text = NULL;
	size_t len;
	int r = file_read(path, kind->bytes_max, &text, &len);

	*f = (struct state_file){.kind = kind, .lines = "", .next = ""};
	return r < 0 ? r : parse(f, kind, text, len);
}

int state_file_parse(struct state_file *f, const struct state_kind *kind, const char *text)
{
	return parse(f, kind, strdup(text), strlen(text));
}

bool state_file_line(struct state_file *f)
{
	const char *end = strchr(f->next, '\n');

	if (!end)
		return false;
	memcpy(f->line, f->next, (size_t)(end - f->next));
	f->line[end - f->next] = '\0';
	f->at = f->line;
	f->next = end + 1;
	f->bad = false;
	return true;
}

void state_file_rewind(struct state_file *f)
{
	f->next = f->lines;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Replaces the escapes in place, and marks the line as bad if an escape does not have two hex
 * digits. */
static char *unescape(struct state_file *f, char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++) {
		const int high = *c == '\\' ? hex_digit(c[1]) : -1;
		const int low = high >= 0 ? hex_digit(c[2]) : -1;

		if (*c != '\\') {
			*to++ = *c;
		} else if (low < 0 || (high == 0 && low == 0)) {
			f->bad = true;
			break;
		} else {
			*to++ = (char)(high << 4 | low);
			c += 2;
		}
	}
	*to = '\0';
	return text;
}

/* Ends the word that begins at `word` before `end`, and advances to the next word. */
static char *cut(struct state_file *f, char *word, char *end)
{
	f->at = *end == ' ' ? end + 1 : end;
	*end = '\0';
	return word;
}

const char *state_file_word(struct state_file *f)
{
	char *word = f->at, *end;

	if (!*word) {
		f->bad = true;
		return "";
	}
	if (f->plain)
		return cut(f, word, word + strcspn(word, " "));
	if (*word != '"')
		return unescape(f, cut(f, word, word + strcspn(word, " ")));
	end = strchr(++word, '"');
	if (!end || (end[1] && end[1] != ' ')) {
		f->bad = true;
		return "";
	}
	*end++ = '\0';
	cut(f, word, end);
	return unescape(f, word);
}

uint64_t state_file_number(struct state_file *f, uint64_t max)
{
	const char *word = state_file_word(f);
	unsigned long long n;

	errno = 0;
	n = strtoull(word, NULL, 10);
	if (!*word || word[strspn(word, "0123456789")] || errno || n > max) {
		f->bad = true;
		return 0;
	}
	return n;
}

const char *state_file_text(struct state_file *f)
{
	char *text = f->at;

	f->at = text + strlen(text);
	return f->plain ? text : unescape(f, text);
}

void state_file_copy(struct state_file *f, char *buf, size_t size)
{
	const char *word = state_file_word(f);

	f->bad |= strlen(word) >= size;
	snprintf(buf, size, "%s", word);
}

void state_file_expect(struct state_file *f, const char *word)
{
	f->bad |= strcmp(state_file_word(f), word) != 0;
}

bool state_file_has_more(const struct state_file *f)
{
	return *f->at != '\0';
}

bool state_file_line_ends(const struct state_file *f)
{
	return !f->bad && !*f->at;
}

char *state_file_block(struct state_file *f, const char *word)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	state_file_rewind(f);
	while (out && state_file_line(f))
		if (strcmp(state_file_word(f), word) == 0)
			fprintf(out, "%s\n", state_file_text(f));
	return out ? file_text_end(out, &text, 0) : NULL;
}

/* ---- files of a newer version ---- */

/* Returns the format version of the file at `path`, or 0 if it has none. */
static unsigned version_at(const struct state_kind *k, const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char head[HEAD_BYTES_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	unsigned version = 0;

	head[MAX_OF(n, 0)] = '\0';
	return parse_version(k, head, &version) ? version : 0;
}

/* Gives a file of a newer version a second name, PATH.vVERSION. The first name stays, so that the
 * file survives if the process is killed now. */
static int keep_newer(const struct state_kind *k, const char *path)
{
	const unsigned version = version_at(k, path);
	autofree char *kept = NULL, *new = NULL;
	int r = 0;

	if (version <= k->version)
		return 0;
	if (asprintf(&kept, "%s.v%u", path, version) < 0)
		kept = NULL;
	if (asprintf(&new, "%s.keep", path) < 0)
		new = NULL;
	if (!kept || !new)
		return -ENOMEM;
	unlink(new);
	if (linkat(AT_FDCWD, path, AT_FDCWD, new, AT_SYMLINK_FOLLOW) < 0 || rename(new, kept) < 0)
		r = -errno;
	/* rename(2) does nothing if both names are links to one file, so the link remains */
	unlink(new);
	return r;
}

int state_file_remove(const struct state_kind *kind, const char *path)
{
	int r = keep_newer(kind, path);

	if (r < 0)
		return r;
	if (unlink(path) < 0)
		return errno == ENOENT ? 0 : -errno;
	return file_sync_folder(path);
}

/* ---- writing ---- */

void state_draft_init(struct state_draft *d, const struct state_kind *kind)
{
	*d = (struct state_draft){.kind = kind};
	d->out = open_memstream(&d->lines, &d->len);
}

void state_draft_done(struct state_draft *d)
{
	if (d->out)
		fclose(d->out);
	free(d->lines);
	*d = (struct state_draft){.kind = d->kind};
}

static void separate(struct state_draft *d)
{
	if (d->in_line)
		fputc(' ', d->out);
	d->in_line = true;
}

void state_draft_put(struct state_draft *d, const char *fmt, ...)
{
	va_list ap;

	if (!d->out)
		return;
	separate(d);
	va_start(ap, fmt);
	vfprintf(d->out, fmt, ap);
	va_end(ap);
}

static void escape(struct state_draft *d, const char *text, char also)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f || *text == '\\' || *text == also)
			fprintf(d->out, "\\%02x", (unsigned)*text);
		else
			fputc(*text, d->out);
}

void state_draft_word(struct state_draft *d, const char *word)
{
	const char *quote = !*word || strchr(word, ' ') ? "\"" : "";

	if (!d->out)
		return;
	separate(d);
	fputs(quote, d->out);
	escape(d, word, '"');
	fputs(quote, d->out);
}

void state_draft_text(struct state_draft *d, const char *text)
{
	if (!d->out)
		return;
	separate(d);
	escape(d, text, '\\');
	state_draft_end(d);
}

void state_draft_end(struct state_draft *d)
{
	if (d->out)
		fputc('\n', d->out);
	d->in_line = false;
}

void state_draft_block(struct state_draft *d, const char *word, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");
		autofree char *line = strndup(text, len);

		if (!line) { /* state_draft_format reports the missing memory */
			state_draft_done(d);
			return;
		}
		state_draft_put(d, "%s", word);
		state_draft_text(d, line);
		text += len + (text[len] == '\n');
	}
}

char *state_draft_format(struct state_draft *d)
{
	char stamp[BOOT_STAMP_TEXT_MAX] = "", *text = NULL;
	const bool bound = d->kind->scope != STATE_OF_HOST;
	const bool failed = !d->out || ferror(d->out);

	if ((d->out && fclose(ptr_take(d->out)) != 0) || failed)
		return NULL;
	if (bound)
		boot_stamp_text(stamp, sizeof(stamp));
	if (asprintf(&text, PREFIX "%s %u%s%s bytes %zu sum %016" PRIx64 "\n%s", d->kind->name,
		     d->kind->version, bound ? " " : "", stamp, d->len, sum_of(d->lines, d->len),
		     d->lines) < 0)
		return NULL;
	return text;
}

/* Formats the file, refuses what the reader would reject, and keeps a copy of a newer version's
 * file that the write will replace. */
static int before_write(struct state_draft *d, const char *path, char **ret)
{
	autofree char *text = state_draft_format(d);

	if (!text)
		return -ENOMEM;
	if (strlen(text) > d->kind->bytes_max)
		return STATE_TOO_LARGE;
	*ret = ptr_take(text);
	return keep_newer(d->kind, path);
}

int state_draft_save(struct state_draft *d, const char *path)
{
	autofree char *text = NULL;
	int r = before_write(d, path, &text);

	return r < 0 ? r : file_write(path, text, strlen(text), 0600);
}

int state_draft_prepare(struct state_draft *d, const char *path)
{
	autofree char *text = NULL;
	int r = before_write(d, path, &text);

	return r < 0 ? r : file_prepare(path, text, strlen(text), 0600);
}
