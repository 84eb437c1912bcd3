/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads whole files and replaces them atomically by rename. All writers of configurations, journals
 * and record files share these functions, because each step is easy to get wrong: syncing the
 * folder, keeping the mode, following a symbolic link.
 */
#include "netcfg/base/file.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Doubles the buffer, up to the limit plus one byte. That byte, if it is read, shows that the file
 * is too long. */
static int grow(char **text, size_t *size, size_t bytes_max)
{
	char *larger;

	*size = MIN_OF(*size ? 2 * *size : 4096, bytes_max + 1);
	larger = realloc(*text, *size + 1);
	if (!larger)
		return -ENOMEM;
	*text = larger;
	return 0;
}

int file_read_fd(int fd, size_t bytes_max, char **ret_text, size_t *ret_len)
{
	autofree char *text = NULL;
	size_t len = 0, size = 0;
	ssize_t n;

	do {
		if (len == size && grow(&text, &size, bytes_max) < 0)
			return -ENOMEM;
		n = read(fd, text + len, size - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			len += (size_t)n;
		if (len > bytes_max)
			return -EFBIG;
	} while (n != 0);
	text[len] = '\0';
	*ret_text = ptr_take(text);
	*ret_len = len;
	return 0;
}

int file_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : file_read_fd(fd, bytes_max, ret_text, ret_len);
}

/* Resolves the symbolic links in the path; the file may not exist yet. Returns a heap string. */
static char *target_of(const char *path)
{
	char *real = realpath(path, NULL);

	return real || errno == ENOMEM ? real : strdup(path);
}

/* Sets the paths of the target and of its temporary file, both heap strings. */
static int names_of(const char *path, char **ret_target, char **ret_new)
{
	*ret_target = target_of(path);
	if (!*ret_target || asprintf(ret_new, "%s.new", *ret_target) < 0) {
		*ret_new = NULL;
		return -ENOMEM;
	}
	return 0;
}

int file_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_put_value(int dir, const char *path, const char *value)
{
	autoclose int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, value, strlen(value));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == strlen(value) ? 0 : -EIO;
}

/* Gives the new file the mode and owner of the replaced one. Only root can change an owner; if
 * another user runs the program, the file belongs to that user. */
static int keep_mode(int fd, const char *target)
{
	struct stat st;

	if (stat(target, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fchown(fd, st.st_uid, st.st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(fd, st.st_mode & 07777) < 0 ? -errno : 0;
}

int file_prepare(const char *path, const char *text, size_t len, mode_t mode)
{
	autofree char *target = NULL, *new = NULL;
	autoclose int fd = -1;
	int r = names_of(path, &target, &new);

	if (r < 0)
		return r;
	/* A killed process may have left a file of this name, or an attacker may have put a
	 * symbolic link here, which must not be followed. */
	if (unlink(new) < 0 && errno != ENOENT)
		return -errno;
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = keep_mode(fd, target);
	if (r >= 0)
		r = file_write_all(fd, text, len);
	if (r >= 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		unlink(new);
	return r;
}

int file_commit(const char *path)
{
	autofree char *target = NULL, *new = NULL;
	int r = names_of(path, &target, &new);

	if (r < 0)
		return r;
	if (rename(new, target) < 0)
		return -errno;
	return file_sync_folder(target);
}

void file_abandon(const char *path)
{
	autofree char *target = NULL, *new = NULL;

	if (names_of(path, &target, &new) >= 0)
		unlink(new);
}

int file_write(const char *path, const char *text, size_t len, mode_t mode)
{
	int r = file_prepare(path, text, len, mode);

	if (r < 0)
		return r;
	r = file_commit(path);
	if (r < 0)
		file_abandon(path);
	return r;
}

char *file_text_end(FILE *f, char **text, int r)
{
	bool failed = ferror(f) != 0 || r < 0;

	if (fclose(f) == 0 && !failed)
		return ptr_take(*text);
	free(ptr_take(*text));
	return NULL;
}

int file_sync_folder(const char *path)
{
	autofree char *copy = strdup(path);
	autoclose int fd = -1;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Ignore EINVAL, which some file systems return because they cannot sync folders. */
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}
