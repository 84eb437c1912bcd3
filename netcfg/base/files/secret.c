/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, checks and writes the cluster's key file, for the agent and the command line. */
#include "netcfg/base/files/secret.h"
#include "netcfg/base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX 4096
#define HEX_CHARS (2 * SECRET_KEY_BYTES)

void secret_wipe(struct secret *s)
{
	explicit_bzero(s, sizeof(*s));
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool key_parse(const char *hex, uint8_t ret[SECRET_KEY_BYTES])
{
	for (size_t i = 0; i < SECRET_KEY_BYTES; i++) {
		int high = digit(hex[2 * i]), low = high < 0 ? -1 : digit(hex[2 * i + 1]);

		if (low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int secret_parse(const char *text, struct secret *ret)
{
	struct secret s = {.n = 0};
	bool good = true;

	for (const char *line = text; *line && good; line += strspn(line, " \t\r\n")) {
		size_t len = strcspn(line, " \t\r\n");

		if (*line == '#') {
			line += strcspn(line, "\n");
			continue;
		}
		if (len > 0) {
			good = len == HEX_CHARS && s.n < SECRET_KEYS_MAX &&
			       key_parse(line, s.keys[s.n]);
			s.n++;
		}
		line += len;
	}
	/* Two equal keys are a mistake, because a change from a key to the same key changes
	 * nothing. */
	good = good && s.n > 0 && (s.n < 2 || memcmp(s.keys[0], s.keys[1], SECRET_KEY_BYTES) != 0);
	if (good)
		*ret = s;
	secret_wipe(&s);
	return good ? 0 : -EINVAL;
}

static int check_file(int fd, struct reason *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		int e = -errno;

		reason_set_text(why, "%s", strerror(-e));
		return e;
	}
	if (!S_ISREG(st.st_mode)) {
		reason_set_text(why, "the path does not lead to a regular file");
		return -EINVAL;
	}
	if ((st.st_mode & 077) || (st.st_uid != 0 && st.st_uid != geteuid())) {
		reason_set_text(why, "other users can read or write the file; let only root access "
				     "the file (chown root, chmod 600)");
		return -EPERM;
	}
	return 0;
}

int secret_read_file(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len,
		     struct reason *why)
{
	/* O_NONBLOCK prevents a pipe at this path from blocking the agent. */
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0) {
		r = -errno;
		reason_set_text(why, "%s", strerror(-r));
		return r;
	}
	r = check_file(fd, why);
	if (r < 0)
		return r;
	r = file_read_fd(fd, bytes_max, ret_text, ret_len);
	if (r < 0)
		reason_set_text(why, "%s", strerror(-r));
	return r;
}

int secret_read(const char *path, struct secret *ret, struct reason *why)
{
	char *text;
	size_t len;
	int r = secret_read_file(path, FILE_BYTES_MAX, &text, &len, why);

	/* The remedy depends on the error. If other users could read the file, they may already
	 * know the key. */
	if (r == -ENOENT)
		reason_append(why, "'plenum secret generate' makes a key file");
	else if (r == -EPERM)
		reason_append(why, "generate a new key if another user may have read it");
	if (r < 0)
		return r;
	/* Refuses a zero byte, because secret_parse() would ignore the text after it. */
	r = strlen(text) == len ? secret_parse(text, ret) : -EINVAL;
	if (r < 0)
		reason_set_text(why,
				"the file does not consist of one or two lines of %d hexadecimal "
				"digits; 'plenum secret generate' makes a valid file",
				HEX_CHARS);
	explicit_bzero(text, len);
	free(text);
	return r;
}

char *secret_format(const struct secret *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fputs("# The key of a Plenum cluster. Anyone who can read this file can join the "
	      "cluster.\n",
	      f);
	for (unsigned i = 0; i < s->n; i++) {
		for (size_t j = 0; j < SECRET_KEY_BYTES; j++)
			fprintf(f, "%02x", s->keys[i][j]);
		fputc('\n', f);
	}
	return file_text_end(f, &text, 0);
}

int secret_add(struct secret *s)
{
	if (s->n >= SECRET_KEYS_MAX)
		return -ENOSPC;
	if (getrandom(s->keys[s->n], SECRET_KEY_BYTES, 0) != SECRET_KEY_BYTES)
		return -EIO;
	s->n++;
	return 0;
}
