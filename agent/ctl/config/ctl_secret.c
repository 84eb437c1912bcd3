/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands for a cluster's key file. They need no agent and never print a key. */
#include "agent/ctl/ctl.h"

#include "netcfg/base/file.h"
#include "netcfg/base/files/secret.h"
#include <fcntl.h>
#include <string.h>

static const char *file_of(const struct ctl_args *a)
{
	return a->n_operands > 0 ? a->operands[0] : CTL_SECRET_FILE;
}

static int fail(const char *path, int e)
{
	ctl_complain("%s: %s", path, strerror(-e));
	return e == -EACCES || e == -EPERM ? CTL_NO_PERMISSION : CTL_IO;
}

/* Creates the file with its final mode, so that no other user can open it at any moment. */
static int create(const char *path, const char *text)
{
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));

	if (r >= 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0 && fd >= 0)
		unlink(path);
	return r >= 0 ? file_sync_folder(path) : r;
}

/* Writes the file. With `make` it creates the file, otherwise it replaces the file atomically. */
static int put(const char *path, struct secret *s, bool make)
{
	char *text = secret_format(s);
	int r = -ENOMEM;

	if (text) {
		r = make ? create(path, text) : file_write(path, text, strlen(text), 0600);
		explicit_bzero(text, strlen(text));
	}
	free(text);
	secret_wipe(s);
	return r < 0 ? fail(path, r) : CTL_OK;
}

int ctl_cmd_secret_generate(const struct ctl_args *a)
{
	const char *path = file_of(a);
	struct secret s = {.n = 0};

	if (access(path, F_OK) == 0) {
		ctl_complain("%s exists already; use 'plenum secret add' to change the key", path);
		return CTL_IO;
	}
	if (secret_add(&s) < 0)
		return fail(path, -EIO);
	return put(path, &s, true);
}

/* Reads a file that must have n cluster keys; if it has another number, prints `otherwise`. */
static int read_keys(const char *path, unsigned n, const char *otherwise, struct secret *ret)
{
	struct reason why;
	int r = secret_read(path, ret, &why);

	if (r < 0) {
		ctl_complain("%s: %s", path, why.text);
		return r == -ENOENT ? CTL_NO_INPUT : r == -EACCES ? CTL_NO_PERMISSION : CTL_DATA;
	}
	if (ret->n == n)
		return CTL_OK;
	secret_wipe(ret);
	ctl_complain("%s: %s", path, otherwise);
	return CTL_DATA;
}

int ctl_cmd_secret_add(const struct ctl_args *a)
{
	struct secret s;
	int r = read_keys(
		file_of(a), 1,
		"the file has two keys already, because a key change is not finished: run "
		"'plenum secret switch' unless that was done, and then 'plenum secret drop'",
		&s);

	if (r != CTL_OK)
		return r;
	if (secret_add(&s) < 0)
		return fail(file_of(a), -EIO);
	return put(file_of(a), &s, false);
}

int ctl_cmd_secret_switch(const struct ctl_args *a)
{
	struct secret s, swapped = {.n = 2};
	int r = read_keys(file_of(a), 2,
			  "the file has one key; run 'plenum secret add' first and copy the file "
			  "to all hosts",
			  &s);

	if (r != CTL_OK)
		return r;
	memcpy(swapped.keys[0], s.keys[1], SECRET_KEY_BYTES);
	memcpy(swapped.keys[1], s.keys[0], SECRET_KEY_BYTES);
	secret_wipe(&s);
	return put(file_of(a), &swapped, false);
}

int ctl_cmd_secret_drop(const struct ctl_args *a)
{
	struct secret s;
	int r = read_keys(file_of(a), 2, "the file has one key, which is in use", &s);

	if (r != CTL_OK)
		return r;
	s.n = 1;
	return put(file_of(a), &s, false);
}
