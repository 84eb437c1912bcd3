/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a file open while servers come and go: `fshold FILE`. It reads one command a line and
 * answers each with a line: "ok", the data, or the name of the error. A separate program because
 * the shell cannot sync a file that it has open.
 *
 *	write TEXT	at the file's end, by pwrite
 *	read		the file's first 100 bytes
 *	sync		fsync
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 100

static off_t end_at;

static ssize_t do_write(int fd, const char *text)
{
	ssize_t n = pwrite(fd, text, strlen(text), end_at);

	end_at += n > 0 ? n : 0;
	return n;
}

static ssize_t do_read(int fd)
{
	char text[READ_BYTES + 1];
	ssize_t n = pread(fd, text, READ_BYTES, 0);

	if (n >= 0)
		printf("%.*s\n", (int)n, text);
	return n;
}

int main(int argc, char **argv)
{
	char line[256];
	struct stat st;
	int fd;

	fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &st) < 0) {
		puts(strerrorname_np(errno));
		return 1;
	}
	end_at = st.st_size;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ok");
	while (fgets(line, sizeof(line), stdin)) {
		ssize_t r;

		line[strcspn(line, "\n")] = '\0';
		errno = EINVAL;
		if (strcmp(line, "read") == 0) {
			r = do_read(fd);
			if (r >= 0)
				continue;
		} else if (strcmp(line, "sync") == 0) {
			r = fsync(fd);
		} else {
			r = strncmp(line, "write ", 6) == 0 ? do_write(fd, line + 6) : -1;
		}
		puts(r < 0 ? strerrorname_np(errno) : "ok");
	}
	return 0;
}
