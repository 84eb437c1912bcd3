/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/store.h"
#include "agent/rundir.h"
#include "netcfg/base/log.h"
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int store_init(struct store *st, const char *config, const char *state_dir)
{
	autofree char *dir_buf = NULL;
	const char *dir;

	memset(st, 0, sizeof(*st));
	/* The file may come later than the agent, so its path is made absolute by its folder's. */
	st->file = strdup(config);
	dir_buf = strdup(config);
	if (!st->file || !dir_buf)
		goto no_memory;
	dir = dirname(dir_buf);
	st->dropin_dir = rundir_path(dir, "plenum.d");
	st->staged = rundir_path(state_dir, "staged.yaml");
	st->check_dir = rundir_path(state_dir, "check.d");
	if (st->dropin_dir)
		st->cli_file = rundir_path(st->dropin_dir, STORE_CLI_FILE);
	if (st->staged && st->check_dir && st->cli_file)
		return 0;
no_memory:
	store_done(st);
	return -ENOMEM;
}

void store_done(struct store *st)
{
	free(st->file);
	free(st->dropin_dir);
	free(st->cli_file);
	free(st->staged);
	free(st->check_dir);
	memset(st, 0, sizeof(*st));
}

struct store_source store_disk(const struct store *st)
{
	return (struct store_source){.file = st->file, .dropin_dir = st->dropin_dir};
}

bool store_has_staged(const struct store *st)
{
	return access(st->staged, F_OK) == 0;
}

/* ---- drop-ins as they would be ---- */

static int store_is_dropin(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 5 && strcmp(e->d_name + len - 5, ".yaml") == 0;
}

static void store_clear_check(const struct store *st)
{
	struct dirent *e;
	DIR *d = opendir(st->check_dir);

	if (!d)
		return;
	while ((e = readdir(d)))
		if (store_is_dropin(e))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

/* Links to the drop-ins that are not the command line's. */
static int store_link_dropins(const struct store *st)
{
	autofree char *real = realpath(st->dropin_dir, NULL);
	struct dirent *e;
	DIR *d = real ? opendir(real) : NULL;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (r >= 0 && (e = readdir(d))) {
		autofree char *target = NULL, *name = NULL;

		if (!store_is_dropin(e) || strcmp(e->d_name, STORE_CLI_FILE) == 0)
			continue;
		target = rundir_path(real, e->d_name);
		name = rundir_path(st->check_dir, e->d_name);
		if (!target || !name)
			r = -ENOMEM;
		else if (symlink(target, name) < 0)
			r = -errno;
	}
	closedir(d);
	return r;
}

/* Fills check_dir; cli_text NULL: without 50-cli.yaml. */
static int store_make_check(const struct store *st, const char *cli_text)
{
	autofree char *cli = NULL;
	int r;

	if (mkdir(st->check_dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	store_clear_check(st);
	r = store_link_dropins(st);
	if (r < 0 || !cli_text)
		return r;
	cli = rundir_path(st->check_dir, STORE_CLI_FILE);
	return cli ? rundir_write_file(cli, cli_text, strlen(cli_text), 0644) : -ENOMEM;
}

static int store_check(const struct store *st, const char *file, struct diag *d)
{
	struct spec *spec = NULL;
	int r = spec_load(file, st->check_dir, d, &spec);

	spec_free(spec);
	return r;
}

int store_next(struct store *st, struct store_source *ret)
{
	int r;

	if (!store_has_staged(st)) {
		*ret = store_disk(st);
		return 0;
	}
	r = store_make_check(st, NULL);
	if (r < 0)
		return r;
	*ret = (struct store_source){.file = st->staged, .dropin_dir = st->check_dir};
	return 0;
}

/* ---- a staged configuration ---- */

int store_put_staged(struct store *st, const char *text, size_t len, struct diag *d)
{
	autofree char *candidate = NULL;
	int r;

	if (asprintf(&candidate, "%s.check", st->staged) < 0) {
		candidate = NULL;
		return -ENOMEM;
	}
	r = store_make_check(st, NULL);
	if (r >= 0)
		r = rundir_write_file(candidate, text, len, 0600);
	if (r >= 0)
		r = store_check(st, candidate, d);
	if (r >= 0 && rename(candidate, st->staged) < 0)
		r = -errno;
	if (r < 0)
		unlink(candidate);
	return r;
}

int store_drop_staged(struct store *st)
{
	return unlink(st->staged) < 0 && errno != ENOENT ? -errno : 0;
}

/* The state directory may be another file system than /etc, so the text is copied. */
static int store_read(const char *path, char **ret, size_t *ret_len)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	autofree char *text = NULL;
	size_t len = 0;

	if (fd < 0)
		return -errno;
	text = malloc(SPEC_FILE_BYTES_MAX + 1);
	if (!text)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, text + len, SPEC_FILE_BYTES_MAX + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > SPEC_FILE_BYTES_MAX)
			return -EFBIG;
	}
	*ret = ptr_take(text);
	*ret_len = len;
	return 0;
}

static void store_keep_former(const struct store *st)
{
	autofree char *text = NULL, *former = NULL;
	size_t len = 0;

	if (asprintf(&former, "%s~", st->file) < 0) {
		former = NULL;
		return;
	}
	if (store_read(st->file, &text, &len) >= 0)
		rundir_write_file(former, text, len, 0644);
}

int store_commit(struct store *st)
{
	autofree char *text = NULL;
	size_t len = 0;
	int r;

	if (!store_has_staged(st))
		return 0;
	r = store_read(st->staged, &text, &len);
	if (r < 0)
		return r;
	store_keep_former(st);
	r = rundir_write_file(st->file, text, len, 0644);
	if (r < 0)
		return r;
	/* The staged text stands for all that was running, these entries included. */
	if (unlink(st->cli_file) < 0 && errno != ENOENT)
		return -errno;
	return store_drop_staged(st);
}

/* ---- net add, net delete ---- */

static bool store_is_cli(const struct spec_net *n)
{
	const char *slash = n->pos.file ? strrchr(n->pos.file, '/') : NULL;

	return slash && strcmp(slash + 1, STORE_CLI_FILE) == 0;
}

/* As spec_net; *ret_ips is its heap array. */
static int store_parse_add(const struct privsep_net_add *add, struct diag *d, struct spec_net *ret,
			   struct ip_range **ret_ips)
{
	autofree struct ip_range *ips = calloc(PRIVSEP_IPS_MAX, sizeof(*ips));
	struct spec_net net = {.vfs = SPEC_VFS_AUTO, .rdma = SPEC_AUTO};

	if (!ips)
		return -ENOMEM;
	memcpy(net.name, add->name, sizeof(net.name));
	memcpy(net.device, add->device, sizeof(net.device));
	memcpy(net.network, add->network, sizeof(net.network));
	memcpy(net.label, add->label, sizeof(net.label));
	for (; net.n_ips < PRIVSEP_IPS_MAX && add->ips[net.n_ips][0]; net.n_ips++) {
		const char *text = add->ips[net.n_ips];

		if (ip_range_parse(text, &ips[net.n_ips]) >= 0)
			continue;
		diag_add(d, DIAG_ERROR, NULL, "ips",
			 "'%s' is no address and no range; write 10.0.0.1 or 10.0.0.1-10.0.0.9",
			 text);
		return -EINVAL;
	}
	*ret = net;
	*ret_ips = ptr_take(ips);
	return 0;
}

/* The text of 50-cli.yaml with the entries of spec that are in it, less `without`, plus `add`. */
static char *store_cli_text(const struct spec *spec, const char *without,
			    const struct spec_net *add)
{
	autofree struct spec_net *nets = calloc(spec->n_nets + 1, sizeof(*nets));
	size_t n = 0;

	if (!nets)
		return NULL;
	for (size_t i = 0; i < spec->n_nets; i++)
		if (store_is_cli(&spec->nets[i]) &&
		    (!without || strcmp(spec->nets[i].name, without) != 0))
			nets[n++] = spec->nets[i];
	if (add)
		nets[n++] = *add;
	return spec_nets_to_yaml(nets, n);
}

/* Validates the whole with this 50-cli.yaml, then keeps it. */
static int store_keep_cli(struct store *st, const char *text, struct diag *d)
{
	int r;

	if (!text)
		return -ENOMEM;
	r = store_make_check(st, text);
	if (r >= 0)
		r = store_check(st, st->file, d);
	if (r < 0)
		return r;
	if (mkdir(st->dropin_dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	return rundir_write_file(st->cli_file, text, strlen(text), 0644);
}

int store_net_add(struct store *st, const struct privsep_net_add *add, struct diag *d)
{
	autofree struct ip_range *ips = NULL;
	autofree char *text = NULL;
	struct spec *spec = NULL;
	struct spec_net net;
	int r;

	if (store_has_staged(st))
		return -EEXIST;
	r = store_parse_add(add, d, &net, &ips);
	if (r >= 0)
		r = spec_load(st->file, st->dropin_dir, d, &spec);
	if (r < 0)
		return r;
	net.ips = ips;
	text = store_cli_text(spec, NULL, &net);
	spec_free(spec);
	return store_keep_cli(st, text, d);
}

static int store_find_cli(const struct spec *spec, const char *name, struct diag *d)
{
	for (size_t i = 0; i < spec->n_nets; i++) {
		const struct spec_net *n = &spec->nets[i];

		if (strcmp(n->name, name) != 0)
			continue;
		if (store_is_cli(n))
			return 0;
		diag_add(d, DIAG_ERROR, &n->pos, "net",
			 "'%s' was not added by `plenum net add`; delete it in this file", name);
		return -EPERM;
	}
	return -ENOENT;
}

int store_net_del(struct store *st, const char *name, struct diag *d)
{
	autofree char *text = NULL;
	struct spec *spec = NULL;
	int r;

	if (store_has_staged(st))
		return -EEXIST;
	r = spec_load(st->file, st->dropin_dir, d, &spec);
	if (r < 0)
		return r;
	r = store_find_cli(spec, name, d);
	if (r >= 0)
		text = store_cli_text(spec, name, NULL);
	spec_free(spec);
	return r < 0 ? r : store_keep_cli(st, text, d);
}

/* ---- errors ---- */

/* The user's name of a file that we gave spec_load another path of. Heap. */
static char *store_shown_file(const struct store *st, const char *file)
{
	size_t len = strlen(st->check_dir);

	if (strncmp(file, st->check_dir, len) == 0 && file[len] == '/')
		return rundir_path(st->dropin_dir, file + len + 1);
	if (strncmp(file, st->staged, strlen(st->staged)) == 0)
		return strdup("staged.yaml");
	return strdup(file);
}

static char *store_entry_text(const struct store *st, const struct diag_entry *e)
{
	autofree char *file = e->file ? store_shown_file(st, e->file) : NULL;
	size_t len = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (file)
		fprintf(f, e->line ? "%s:%u:%u: " : "%s: ", file, e->line, e->column);
	fprintf(f, "%s: ", e->severity == DIAG_ERROR ? "error" : "warning");
	if (e->path)
		fprintf(f, "%s: ", e->path);
	fputs(e->text ? e->text : "", f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

json_t *store_diag_to_json(const struct store *st, const struct diag *d)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < d->n; i++) {
		autofree char *text = store_entry_text(st, &d->entries[i]);
		json_t *s = text ? json_string(text) : NULL;

		if (s && json_array_append_new(list, s) < 0)
			log_debug("an error message did not fit into memory");
	}
	return list;
}
