/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the journal file, and syncs each line to disk. Reads the file even if its writer was
 * killed at any point. */
#include "netcfg/apply/apply_journal.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/boot_stamp.h"
#include "netcfg/base/vec.h"
#include "netcfg/object/object.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LINE_BYTES_MAX 512
#define FILE_BYTES_MAX (4U << 20)
#define NAME "plenum-journal"
#define RECORD "record "
#define COMMIT "commit"

static const char *const state_words[APPLY_STEP_STATE_MAX] = {
	[APPLY_STEP_BEGUN] = "begin",
	[APPLY_STEP_DONE] = "done",
	[APPLY_STEP_KEPT] = "kept",
	[APPLY_STEP_ROLLED_BACK] = "rolled-back",
};

/* Appends a line. If only a part of the line could be written, removes that part, so that the next
 * line does not continue it. */
static int append(struct apply_journal *j, const char *line, size_t len)
{
	ssize_t n = write(j->fd, line, len);
	int r = n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;

	if (r == 0)
		j->bytes += n;
	else if (n > 0 && ftruncate(j->fd, j->bytes) < 0)
		return -errno;
	return r;
}

static int write_head(struct apply_journal *j)
{
	char home[BOOT_STAMP_TEXT_MAX];
	autofree char *head = NULL;
	int len = asprintf(&head, NAME " %d %s\n%s%s%s", APPLY_JOURNAL_VERSION,
			   boot_stamp_text(home, sizeof(home)), j->record ? "record " : "",
			   j->record ? j->record : "", j->record ? "\n" : "");

	if (len < 0) {
		head = NULL;
		return -ENOMEM;
	}
	return append(j, head, (size_t)len);
}

int apply_journal_create(struct apply_journal *j, const char *path, const char *record)
{
	int r = 0;

	*j = (struct apply_journal)APPLY_JOURNAL_INIT;
	j->path = strdup(path);
	j->record = record ? strdup(record) : NULL;
	if (!j->path || (record && !j->record))
		r = -ENOMEM;
	if (r == 0)
		j->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (r == 0 && j->fd < 0)
		r = -errno;
	if (r == 0 && flock(j->fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (r < 0) {
		apply_journal_done(j);
		return r;
	}
	r = write_head(j);
	/* sync the folder too, so that the name of the new file survives a power failure */
	if (r == 0)
		r = file_sync_folder(path);
	if (r < 0) {
		unlink(path);
		apply_journal_done(j);
	}
	return r;
}

static struct apply_journal_entry *entry_add(struct apply_journal *j)
{
	return vec_add(&j->entries, &j->n, sizeof(*j->entries));
}

static int append_synced(struct apply_journal *j, const char *line, size_t len)
{
	int r = append(j, line, len);

	return r == 0 && fdatasync(j->fd) < 0 ? -errno : r;
}

int apply_journal_begin(struct apply_journal *j, const struct plan_step *s)
{
	struct apply_journal_entry *e;
	char line[LINE_BYTES_MAX];
	int len, n, r;

	len = snprintf(line, sizeof(line), "begin %zu ", j->n);
	n = object_format(s, line + len, sizeof(line) - 1 - (size_t)len);
	if (n < 0)
		return n;
	len += n;
	line[len++] = '\n';
	e = entry_add(j);
	if (!e)
		return -ENOMEM;
	e->step = *s;
	e->state = APPLY_STEP_BEGUN;
	r = append_synced(j, line, (size_t)len);
	if (r < 0)
		j->n--;
	return r;
}

int apply_journal_commit(struct apply_journal *j)
{
	return append_synced(j, COMMIT "\n", strlen(COMMIT "\n"));
}

int apply_journal_mark(struct apply_journal *j, size_t i, enum apply_step_state state)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s %zu\n", state_words[state], i);

	j->entries[i].state = state;
	return append(j, line, (size_t)len);
}

static int parse_line(struct apply_journal *j, const char *line)
{
	struct apply_journal_entry *e;
	char word[16];
	size_t i;
	int at = 0;

	j->committed = strcmp(line, COMMIT) == 0;
	if (j->committed)
		return 0;
	if (sscanf(line, "%15s %zu%n", word, &i, &at) != 2)
		return -EBADMSG;
	if (strcmp(word, state_words[APPLY_STEP_BEGUN]) == 0) {
		if (i != j->n || line[at] != ' ')
			return -EBADMSG;
		e = entry_add(j);
		return e ? object_parse(line + at + 1, &e->step) : -ENOMEM;
	}
	for (enum apply_step_state s = APPLY_STEP_DONE; s < APPLY_STEP_STATE_MAX; s++) {
		if (strcmp(word, state_words[s]) == 0 && i < j->n && !line[at]) {
			j->entries[i].state = s;
			return 0;
		}
	}
	return -EBADMSG;
}

static int parse_head(struct apply_journal *j, const char *line, size_t n)
{
	if (n == 1)
		return boot_stamp_parse(line, NAME, APPLY_JOURNAL_VERSION, &j->stale);
	j->record = strdup(line + strlen(RECORD));
	return j->record ? 0 : -ENOMEM;
}

/* Parses the complete lines. Text after the last newline is an incomplete line. */
static int parse_all(struct apply_journal *j, char *text)
{
	char *end;
	int r = 0;

	for (size_t n = 1; (end = strchr(text, '\n')) && r == 0; n++, text = end + 1) {
		*end = '\0';
		if (n == 1 || (n == 2 && strncmp(text, RECORD, strlen(RECORD)) == 0))
			r = parse_head(j, text, n);
		else
			r = parse_line(j, text);
		if (r == -EBADMSG)
			j->bad_line = n;
	}
	return r;
}

/* Removes an incomplete last line, so that the next line does not continue it. */
static int cut_torn_line(struct apply_journal *j, const char *text)
{
	const char *last = strrchr(text, '\n');

	j->bytes = last ? last + 1 - text : 0;
	return ftruncate(j->fd, j->bytes) < 0 ? -errno : 0;
}

int apply_journal_open(struct apply_journal *j, const char *path)
{
	autofree char *text = NULL;
	struct stat st;
	size_t len;
	int r = 0;

	*j = (struct apply_journal)APPLY_JOURNAL_INIT;
	j->path = strdup(path);
	if (!j->path)
		return -ENOMEM;
	j->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	if (j->fd < 0)
		return -errno;
	if (flock(j->fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (fstat(j->fd, &st) < 0)
		r = -errno;
	else if (st.st_nlink == 0) /* another process has just removed the file */
		r = -ENOENT;
	else
		r = file_read(path, FILE_BYTES_MAX, &text, &len);
	if (r == 0)
		r = cut_torn_line(j, text);
	if (r == 0)
		r = parse_all(j, text);
	return r;
}

int apply_journal_remove(const struct apply_journal *j)
{
	return unlink(j->path) < 0 ? -errno : file_sync_folder(j->path);
}

void apply_journal_done(struct apply_journal *j)
{
	free(j->entries);
	free(j->path);
	free(j->record);
	if (j->fd >= 0)
		close(j->fd);
	*j = (struct apply_journal)APPLY_JOURNAL_INIT;
}
