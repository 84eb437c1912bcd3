/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the files of a host's identity. */
#include "netcfg/base/file.h"
#include "netcfg/base/files/identity.h"
#include "netcfg/base/files/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEX_MAX (2 * IDENTITY_CERTIFICATE_BYTES)
#define REVOKED_LINE (2 * IDENTITY_REVOCATION_BYTES)
#define REVOKED_BYTES_MAX (IDENTITY_REVOKED_MAX * (REVOKED_LINE + 1) + 1)

int identity_read_hex(const char *path, bool secret, uint8_t *ret, size_t len, struct reason *why)
{
	char *text = NULL;
	size_t n = 0;
	int r = secret ? secret_read_file(path, HEX_MAX + 2, &text, &n, why)
		       : file_read(path, HEX_MAX + 2, &text, &n);

	if (r < 0) {
		if (!secret)
			reason_set_text(why, "%s", strerror(-r));
		reason_prefix(why, "%.120s", path);
		return r;
	}
	text[strcspn(text, "\r\n")] = '\0';
	r = identity_unhex(text, ret, len);
	if (r < 0)
		reason_set_text(why, "%.120s: expected one line of %zu hexadecimal digits", path,
				2 * len);
	explicit_bzero(text, n);
	free(text);
	return r;
}

int identity_write_hex(const char *path, bool secret, const uint8_t *p, size_t len)
{
	char text[HEX_MAX + 2];
	struct stat st;
	int r;

	identity_hex(p, len, text);
	text[2 * len] = '\n';
	/* file_write() keeps the mode and owner of an existing file, which may let others read. */
	if (secret && stat(path, &st) == 0 && ((st.st_mode & 077) || st.st_uid != geteuid()))
		unlink(path);
	r = file_write(path, text, 2 * len + 1, secret ? 0600 : 0644);
	explicit_bzero(text, sizeof(text));
	return r;
}

static void path_of(const char *dir, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
}

/* Calls take() with each line of the file that has the right length. Returns 0 or negative errno;
 * no file: 0. */
static int each_line(const char *path, void (*take)(void *user, const char *line), void *user)
{
	char *text = NULL, *rest = NULL;
	size_t n = 0;
	int r = file_read(path, REVOKED_BYTES_MAX, &text, &n);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strlen(line) == REVOKED_LINE)
			take(user, line);
	free(text);
	return 0;
}

struct revoked_list {
	const uint8_t *cluster;
	struct identity_revocation *list;
	unsigned n;
	/* Collects the lines of all hosts except `but`, which stay in the file. NULL: no line
	 * stays. */
	FILE *keep;
	const char *but;
	const char *known; /* a valid line whose presence in the file is checked */
	bool found;
};

static void take_line(void *user, const char *line)
{
	struct revoked_list *l = user;
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];
	struct identity_revocation r;

	if (l->known && !l->keep) {
		l->found |= strcmp(line, l->known) == 0;
		return;
	}
	if (identity_unhex(line, bytes, sizeof(bytes)) < 0 ||
	    identity_check_revocation(bytes, sizeof(bytes), l->cluster, &r) < 0)
		return;
	(void)identity_add_revoked(l->list, &l->n, &r);
	if (l->keep && strcmp(r.host, l->but) != 0)
		fprintf(l->keep, "%s\n", line);
}

int identity_read_revoked(const char *dir, const uint8_t cluster[IDENTITY_KEY_BYTES],
			  struct identity_revocation *ret, unsigned *ret_n, struct reason *why)
{
	struct revoked_list l = {.cluster = cluster, .list = ret};
	char path[PATH_MAX];
	int r;

	path_of(dir, IDENTITY_FILE_REVOKED, path);
	r = each_line(path, take_line, &l);
	if (r < 0)
		reason_set_text(why, "%.120s: %s", path, strerror(-r));
	*ret_n = l.n;
	return r;
}

int identity_keep_revocation(const char *dir, const uint8_t cluster[IDENTITY_KEY_BYTES],
			     const uint8_t p[IDENTITY_REVOCATION_BYTES],
			     struct identity_revocation *ret)
{
	autofree struct identity_revocation *list = calloc(IDENTITY_REVOKED_MAX, sizeof(*list));
	struct revoked_list l = {.cluster = cluster, .list = list};
	char path[PATH_MAX], hex[REVOKED_LINE + 1], *text = NULL;
	size_t size = 0;
	int r = identity_check_revocation(p, IDENTITY_REVOCATION_BYTES, cluster, ret);

	if (r < 0 || !list)
		return r < 0 ? r : -ENOMEM;
	path_of(dir, IDENTITY_FILE_REVOKED, path);
	identity_hex(p, IDENTITY_REVOCATION_BYTES, hex);
	/* etcd repeats the whole list, so look for the line before verifying the others. */
	l.known = hex;
	r = each_line(path, take_line, &l);
	if (r < 0 || l.found)
		return r;
	l.but = ret->host;
	l.keep = open_memstream(&text, &size);
	if (!l.keep)
		return -ENOMEM;
	r = each_line(path, take_line, &l);
	if (r >= 0)
		r = identity_add_revoked(list, &l.n, ret);
	fprintf(l.keep, "%s\n", hex);
	if (fclose(l.keep) != 0 && r >= 0)
		r = -ENOMEM;
	if (r == 1) {
		int e = file_write(path, text, size, 0644);

		r = e < 0 ? e : 1;
	}
	free(text);
	return r;
}

static int check_own(const char *dir, const char *host, struct identity *i, struct reason *why)
{
	int r = identity_check(i->certificate, sizeof(i->certificate), i->cluster,
			       (uint64_t)time(NULL), &i->card);

	/* An expired certificate does not prevent a start: other hosts refuse it with a reason. */
	if (r == -EKEYEXPIRED)
		r = 0;
	if (r < 0)
		reason_set_text(why,
				"%.100s/" IDENTITY_FILE_CERTIFICATE
				" is not signed by the key in " IDENTITY_FILE_CLUSTER
				"; run 'plenum cluster identity' with a new invitation",
				dir);
	else if (strcmp(i->card.host, host) != 0)
		reason_set_text(why,
				"%.100s/" IDENTITY_FILE_CERTIFICATE
				" is for the host '%.63s', and this host is '%.63s'; run 'plenum "
				"cluster identity' with an invitation for this host",
				dir, i->card.host, host);
	else if (memcmp(i->card.key, i->pair.public, sizeof(i->card.key)) != 0)
		reason_set_text(why,
				"%.100s/" IDENTITY_FILE_CERTIFICATE
				" is for another key than that in " IDENTITY_FILE_KEY
				"; run 'plenum cluster identity' with a new invitation",
				dir);
	else
		return 0;
	return -EINVAL;
}

int identity_read(const char *dir, const char *host, struct identity *ret, struct reason *why)
{
	char path[PATH_MAX];
	int r;

	*ret = (struct identity){.n_revoked = 0};
	path_of(dir, IDENTITY_FILE_KEY, path);
	r = identity_read_hex(path, true, ret->pair.secret, IDENTITY_KEY_BYTES, why);
	if (r == -ENOENT)
		reason_append(why, "'plenum cluster identity' makes the key with an invitation");
	if (r >= 0 && identity_host_public(&ret->pair) < 0) {
		reason_set_text(why, "%.120s has no valid key", path);
		r = -EINVAL;
	}
	path_of(dir, IDENTITY_FILE_CLUSTER, path);
	if (r >= 0)
		r = identity_read_hex(path, false, ret->cluster, IDENTITY_KEY_BYTES, why);
	path_of(dir, IDENTITY_FILE_CERTIFICATE, path);
	if (r >= 0)
		r = identity_read_hex(path, false, ret->certificate, sizeof(ret->certificate), why);
	if (r >= 0)
		r = check_own(dir, host, ret, why);
	if (r >= 0)
		r = identity_read_revoked(dir, ret->cluster, ret->revoked, &ret->n_revoked, why);
	if (r < 0)
		identity_wipe(ret);
	return r;
}

/* ---- a new identity ---- */

static const char *const file_names[] = {IDENTITY_FILE_KEY, IDENTITY_FILE_CERTIFICATE,
					 IDENTITY_FILE_CLUSTER, IDENTITY_FILE_REVOKED};

static void folder_remove(const char *dir)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(file_names); i++) {
		path_of(dir, file_names[i], path);
		unlink(path);
	}
	rmdir(dir);
}

static int revoked_copy(const char *from, const char *to)
{
	char path[PATH_MAX], *text = NULL;
	size_t n = 0;
	int r;

	path_of(from, IDENTITY_FILE_REVOKED, path);
	r = file_read(path, REVOKED_BYTES_MAX, &text, &n);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	path_of(to, IDENTITY_FILE_REVOKED, path);
	r = file_write(path, text, n, 0644);
	free(text);
	return r;
}

static int folder_make(const char *dir, const char *former, const struct identity *i)
{
	char path[PATH_MAX];
	int r = mkdir(dir, 0700) < 0 && errno != EEXIST ? -errno : 0;

	path_of(dir, IDENTITY_FILE_CLUSTER, path);
	r = r ? r : identity_write_hex(path, false, i->cluster, sizeof(i->cluster));
	path_of(dir, IDENTITY_FILE_KEY, path);
	r = r ? r : identity_write_hex(path, true, i->pair.secret, sizeof(i->pair.secret));
	path_of(dir, IDENTITY_FILE_CERTIFICATE, path);
	r = r ? r : identity_write_hex(path, false, i->certificate, sizeof(i->certificate));
	return r ? r : revoked_copy(former, dir);
}

/* Returns 0 if the folder is absent, has no key of a cluster, or has this key. */
static int check_cluster(const char *dir, const struct identity *i)
{
	uint8_t key[IDENTITY_KEY_BYTES];
	struct reason why = {.code = ""};
	char path[PATH_MAX];
	int r;

	path_of(dir, IDENTITY_FILE_CLUSTER, path);
	r = identity_read_hex(path, false, key, sizeof(key), &why);
	if (r < 0)
		return r == -ENOENT || r == -EINVAL ? 0 : r;
	return memcmp(key, i->cluster, sizeof(key)) == 0 ? 0 : -EEXIST;
}

int identity_write(const char *dir, const struct identity *i)
{
	autofree char *new = NULL;
	int r = check_cluster(dir, i);

	if (r == 0 && asprintf(&new, "%s.new", dir) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	folder_remove(new); /* the new folder of a command that was killed */
	r = folder_make(new, dir, i);
	if (r == 0 && renameat2(AT_FDCWD, new, AT_FDCWD, dir, RENAME_NOREPLACE) < 0) {
		if (errno != EEXIST || renameat2(AT_FDCWD, new, AT_FDCWD, dir, RENAME_EXCHANGE) < 0)
			r = -errno;
		else
			/* The agent may have added a revocation meanwhile. */
			r = revoked_copy(new, dir);
	}
	if (r == 0)
		r = file_sync_folder(dir);
	folder_remove(new);
	return r;
}
