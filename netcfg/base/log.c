/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes log lines to standard error, in the format of the journal or for a terminal. It also makes
 * untrusted text printable, so that no caller can forget to do it.
 */
#include "netcfg/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#define LOG_LINE_MAX 1024

static struct {
	const char *ident;
	_Atomic int max;
	bool journal;
} log_state = {"plenum", LOG_LEVEL_INFO, false};

/* If systemd connects stderr to the journal, it sets JOURNAL_STREAM to the stream's DEVICE:INODE.
 * If stderr was redirected since, its device and inode differ. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void log_open(const char *ident, enum log_level max)
{
	log_state.ident = ident;
	log_state.journal = is_journal();
	log_set_level(max);
}

void log_set_level(enum log_level max)
{
	/* Relaxed order is enough: a new level may take effect one message late. */
	atomic_store_explicit(&log_state.max, max, memory_order_relaxed);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load_explicit(&log_state.max, memory_order_relaxed);
}

const char *log_level_to_string(enum log_level l)
{
	switch (l) {
	case LOG_LEVEL_ERR:
		return "error";
	case LOG_LEVEL_WARNING:
		return "warning";
	case LOG_LEVEL_NOTICE:
		return "notice";
	case LOG_LEVEL_INFO:
		return "info";
	case LOG_LEVEL_DEBUG:
		return "debug";
	}
	return "info";
}

/* Replaces control characters, so that text from outside cannot forge further log lines. */
static void make_printable(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = text[i] == '\t' ? ' ' : '?';
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	int saved_errno = errno;
	size_t head, len;
	va_list args;
	ssize_t written;
	int n;

	if ((int)level > atomic_load_explicit(&log_state.max, memory_order_relaxed))
		return;
	if (log_state.journal)
		n = snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		n = snprintf(line, sizeof(line), "%s[%d]: ", log_state.ident, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof(line) - 1)
		return;
	head = (size_t)n;
	errno = saved_errno; /* a %m in the message prints errno */
	va_start(args, fmt);
	n = vsnprintf(line + head, sizeof(line) - head, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	len = MIN_OF(head + (size_t)n, sizeof(line) - 2);
	make_printable(line + head, len - head);
	line[len++] = '\n';
	/* One write per line, so that lines of several processes do not mix. A failed write is
	 * ignored, because it cannot be reported anywhere else. */
	written = write(STDERR_FILENO, line, len);
	(void)written;
	errno = saved_errno;
}
