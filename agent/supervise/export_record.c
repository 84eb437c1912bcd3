/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorded identities of exported folders, one line each. */
#include "agent/supervise/export_record.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/vec.h"
#include "netcfg/base/boot_stamp.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "exports"
#define FILE_WORD "plenum-exports"
#define FILE_VERSION 1
#define FILE_BYTES_MAX (4U << 20)

/* ---- the file ---- */

static void hex_put(FILE *f, const uint8_t *bytes, size_t n)
{
	if (n == 0)
		fputc('-', f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%02x", bytes[i]);
}

/* The number of bytes; -1: not hexadecimal, or too many. */
static int hex_get(const char *text, uint8_t *ret, size_t max)
{
	size_t n = strlen(text);

	if (strcmp(text, "-") == 0)
		return 0;
	if (n % 2 || n / 2 > max)
		return -1;
	for (size_t i = 0; i < n / 2; i++)
		if (sscanf(text + 2 * i, "%2hhx", &ret[i]) != 1)
			return -1;
	return (int)(n / 2);
}

/* "export NAME now|before DEV INODE TYPE UUID HANDLE-TYPE HANDLE PATH" */
static void record_print(FILE *f, const struct export_record *r)
{
	fprintf(f, "export %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " ", r->name,
		r->former_boot ? "before" : "now", r->id.dev, r->id.ino, r->id.fs_type);
	hex_put(f, r->id.uuid, r->id.has_uuid ? sizeof(r->id.uuid) : 0);
	fprintf(f, " %" PRId32 " ", r->id.handle_type);
	hex_put(f, r->id.handle, r->id.handle_len);
	fprintf(f, " %s\n", r->path);
}

static bool record_parse(const char *line, struct export_record *ret)
{
	char when[8], uuid[2 * sizeof(ret->id.uuid) + 1], handle[2 * FOLDER_HANDLE_MAX + 1];
	int at = 0, n_uuid, n_handle;

	memset(ret, 0, sizeof(*ret));
	if (sscanf(line,
		   "export %63s %7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %32s %" SCNd32 " %256s %n",
		   ret->name, when, &ret->id.dev, &ret->id.ino, &ret->id.fs_type, uuid,
		   &ret->id.handle_type, handle, &at) != 8 ||
	    at == 0 || line[at] != '/' || strlen(line + at) >= sizeof(ret->path))
		return false;
	n_uuid = hex_get(uuid, ret->id.uuid, sizeof(ret->id.uuid));
	n_handle = hex_get(handle, ret->id.handle, sizeof(ret->id.handle));
	if (n_handle < 0 || (n_uuid != 0 && n_uuid != sizeof(ret->id.uuid)))
		return false;
	ret->id.has_uuid = n_uuid > 0;
	ret->id.handle_len = (uint32_t)n_handle;
	ret->former_boot = strcmp(when, "now") != 0;
	strcpy(ret->path, line + at);
	return true;
}

static int save(const struct export_records *x)
{
	autofree char *text = NULL;
	char stamp[BOOT_STAMP_TEXT_MAX];
	size_t len = 0;
	FILE *f = x->file ? open_memstream(&text, &len) : NULL;

	if (!f)
		return x->file ? -ENOMEM : 0;
	fprintf(f, FILE_WORD " %d %s\n", FILE_VERSION, boot_stamp_text(stamp, sizeof(stamp)));
	for (size_t i = 0; i < x->n; i++)
		if (!strchr(x->all[i].path, '\n')) /* one line each */
			record_print(f, &x->all[i]);
	return fclose(f) != 0 ? -ENOMEM : file_write(x->file, text, len, 0600);
}

static int parse(struct export_records *x, char *text)
{
	struct export_record *r, one;
	char *rest, *line = strtok_r(text, "\n", &rest);
	bool is_stale;

	if (!line || boot_stamp_parse(line, FILE_WORD, FILE_VERSION, &is_stale) < 0)
		return -EBADMSG;
	while ((line = strtok_r(NULL, "\n", &rest))) {
		if (!record_parse(line, &one))
			return -EBADMSG;
		r = vec_add(&x->all, &x->n, sizeof(*r));
		if (!r)
			return -ENOMEM;
		one.former_boot |= is_stale;
		*r = one;
	}
	return 0;
}

int export_records_load(struct export_records *x, const char *state_dir)
{
	autofree char *text = NULL;
	size_t len;
	int r;

	x->file = path_join(state_dir, FILE_NAME);
	if (!x->file)
		return -ENOMEM;
	r = file_read(x->file, FILE_BYTES_MAX, &text, &len);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = parse(x, text);
	if (r < 0)
		x->n = 0;
	return r;
}

void export_records_done(struct export_records *x)
{
	free(x->file);
	free(x->all);
	*x = (struct export_records){.file = NULL};
}

/* ---- the records ---- */

static struct export_record *find(const struct export_records *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->all[i].name, name) == 0)
			return &x->all[i];
	return NULL;
}

const struct export_record *export_records_find(const struct export_records *x, const char *name,
						const char *path)
{
	const struct export_record *r = find(x, name);

	return r && strcmp(r->path, path) == 0 ? r : NULL;
}

int export_records_put(struct export_records *x, const char *name, const char *path,
		       const struct folder_id *is)
{
	struct export_record *r = find(x, name);

	if (!r)
		r = vec_add(&x->all, &x->n, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->id = *is;
	return save(x);
}

int export_records_check(struct export_records *x, const char *name, const char *path,
			 const struct folder_id *is, const struct folder_id **ret_was,
			 int *ret_saved)
{
	const struct export_record *r = export_records_find(x, name, path);

	*ret_saved = 0;
	/* Of a file system in memory a reboot leaves nothing to compare. */
	if (!r || (r->former_boot && folder_is_in_memory(&r->id))) {
		*ret_saved = export_records_put(x, name, path, is);
		return 0;
	}
	if (!folder_is_same(&r->id, is, !r->former_boot)) {
		*ret_was = &r->id;
		return -EREMCHG;
	}
	if (r->former_boot) /* with the device number of this boot */
		*ret_saved = export_records_put(x, name, path, is);
	return 1;
}

static bool is_named(const struct export_record *r, const struct launch_config *configs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < configs[i].n_exports + configs[i].n_missing; j++)
			if (strcmp(configs[i].exports[j].name, r->name) == 0)
				return true;
	return false;
}

int export_records_keep(struct export_records *x, const struct launch_config *configs, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n; i++)
		if (is_named(&x->all[i], configs, n))
			x->all[kept++] = x->all[i];
	if (kept == x->n)
		return 0;
	x->n = kept;
	return save(x);
}
