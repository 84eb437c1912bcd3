/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the files of a configuration in order and reports their errors. Only this part of the spec
 * accesses the file system; spec_read.c and spec_check.c interpret the texts.
 */
#include "netcfg/spec/spec.h"
#include "netcfg/base/vec.h"
#include "netcfg/spec/spec_schema.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DROPINS_MAX 256

static void free_fields(const struct spec_table *t, char *base);

static void free_list(const struct spec_key *k, char *base)
{
	char **list = (char **)(base + k->offset);
	size_t *n = (size_t *)(base + k->n_offset);

	for (size_t i = 0; i < *n; i++) {
		char *entry = *list + i * k->size;

		if (k->type == SPEC_TYPE_MAPS)
			free_fields(k->table, entry);
		else if (k->type == SPEC_TYPE_URLS || k->type == SPEC_TYPE_ACCOUNTS ||
			 k->type == SPEC_TYPE_NAMES)
			free(*(char **)entry);
	}
	free(*list);
	*list = NULL;
	*n = 0;
}

static void free_fields(const struct spec_table *t, char *base)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];

		if (spec_type_is_list(k->type)) {
			free_list(k, base);
		} else if (k->type == SPEC_TYPE_MAP) {
			free_fields(k->table, base + k->offset);
		} else if (k->type == SPEC_TYPE_PATH) {
			free(*(char **)(base + k->offset));
			*(char **)(base + k->offset) = NULL;
		}
	}
}

struct spec *spec_free(struct spec *s)
{
	if (!s)
		return NULL;
	free_fields(&spec_schema, (char *)s);
	spec_overrides_done(s);
	for (size_t i = 0; i < s->n_files; i++)
		free(s->files[i]);
	free(s->files);
	free(s);
	return NULL;
}

/* Stores a file's name as long as the spec exists. Returns NULL if out of memory. */
static const char *add_file(struct spec *s, const char *name)
{
	char **file = vec_add(&s->files, &s->n_files, sizeof(*file));

	if (!file)
		return NULL;
	*file = strdup(name);
	if (!*file)
		s->n_files--;
	return *file;
}

static int reader_init(struct spec_reader *r, struct diag *d)
{
	*r = (struct spec_reader){.d = d, .spec = calloc(1, sizeof(struct spec))};
	if (r->spec)
		return 0;
	d->out_of_memory = true;
	return -ENOMEM;
}

static void reader_done(struct spec_reader *r)
{
	for (size_t i = 0; i < r->n_trees; i++)
		spec_node_free(r->trees[i]);
	free(r->trees);
	spec_node_free(r->document);
	spec_free(r->spec);
}

/* Returns whether the file may have the document of the cluster, which is a list. */
static bool is_document(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash && strcmp(slash + 1, SPEC_DOCUMENT_FILE) == 0;
}

/* Adds the text of one file. Its errors go to d, and the other files are still read. */
static void reader_add(struct spec_reader *r, const char *name, const char *text, size_t len)
{
	struct spec_node **tree;
	struct spec_node *root = NULL;
	const char *file = add_file(r->spec, name);

	if (!file) {
		r->d->out_of_memory = true;
		return;
	}
	if (spec_node_parse(file, text, len, r->d, &root) < 0)
		return;
	if (root && root->kind == SPEC_NODE_LIST && is_document(name)) {
		r->document = root;
		return;
	}
	if (!root) {
		struct diag_pos pos = {file, 0, 0};

		/* An empty drop-in file is valid and adds nothing, but an empty main file was
		 * probably truncated. */
		if (r->spec->n_files == 1 && !diag_has_errors(r->d))
			diag_add(r->d, DIAG_ERROR, &pos, NULL,
				 "the file has no keys, so it configures nothing; 'plenum config "
				 "generate' writes a first one");
		return;
	}
	tree = vec_add(&r->trees, &r->n_trees, sizeof(root));
	if (!tree) {
		spec_node_free(root);
		r->d->out_of_memory = true;
		return;
	}
	*tree = root;
}

/* Uses the system's hostname if no file sets `host`. It must have the same form as a value of
 * `host`. */
static void reader_default_host(struct spec_reader *r)
{
	const struct spec_key *k = spec_key_find(&spec_schema, "host");
	char name[256] = "";

	for (size_t i = 0; i < r->n_trees; i++)
		if (spec_node_member(r->trees[i], "host"))
			return;
	r->spec->host_is_default = true;
	if (gethostname(name, sizeof(name) - 1) < 0 ||
	    spec_types[k->type].parse(name, k, r->spec->host) < 0)
		diag_add(r->d, DIAG_ERROR, NULL, "host",
			 "the hostname '%.63s' is not a valid name; write 'host: NAME'", name);
}

void spec_set_default_host(struct spec *s, const char *host)
{
	const struct spec_key *k = spec_key_find(&spec_schema, "host");

	if (s->host_is_default)
		spec_types[k->type].parse(host, k, s->host);
}

static int reader_finish(struct spec_reader *r, struct spec **ret)
{
	if (!r->d->out_of_memory && r->n_trees > 0) {
		spec_document_merge(r);
		spec_merge_trees(r);
		for (size_t i = 0; i < r->n_trees; i++)
			spec_read_tree(r, r->trees[i]);
		spec_read_finish(r);
		reader_default_host(r);
		spec_check(r);
	}
	if (r->d->out_of_memory)
		return -ENOMEM;
	if (diag_has_errors(r->d))
		return -EINVAL;
	*ret = ptr_take(r->spec);
	return 0;
}

int spec_parse(const char *name, const char *text, size_t len, struct diag *d, struct spec **ret)
{
	struct spec_reader r;
	int e = reader_init(&r, d);

	if (e < 0)
		return e;
	if (len > SPEC_FILE_BYTES_MAX) {
		struct diag_pos pos = {name, 0, 0};

		diag_add(d, DIAG_ERROR, &pos, NULL,
			 "the text has %zu bytes, at most %u are allowed; is this a configuration?",
			 len, SPEC_FILE_BYTES_MAX);
		e = -EINVAL;
	} else {
		reader_add(&r, name, text, len);
		e = reader_finish(&r, ret);
	}
	reader_done(&r);
	return e;
}

int spec_document_check(const char *name, const char *text, size_t len, struct diag *d)
{
	struct diag_pos pos = {name, 0, 0};
	struct spec_reader r;
	int e = reader_init(&r, d);

	if (e < 0)
		return e;
	if (len > SPEC_DOCUMENT_BYTES_MAX)
		diag_add(d, DIAG_ERROR, &pos, NULL,
			 "the document has %zu bytes, at most %u are allowed", len,
			 SPEC_DOCUMENT_BYTES_MAX);
	else if (spec_node_parse(name, text, len, d, &r.document) >= 0 && !r.document)
		diag_add(d, DIAG_ERROR, &pos, NULL,
			 "the document is empty; write '[]' for one without sections");
	else if (r.document && !diag_has_errors(d))
		spec_document_read(&r);
	e = d->out_of_memory ? -ENOMEM : diag_has_errors(d) ? -EINVAL : 0;
	reader_done(&r);
	return e;
}

static int read_error_add(struct diag *d, const char *file, int error)
{
	struct diag_pos pos = {file, 0, 0};

	diag_add(d, DIAG_ERROR, &pos, NULL, "cannot be read: %s%s", strerror(-error),
		 error == -ENOENT
			 ? "; where plenumd runs, 'plenum config show --running' prints the "
			   "running configuration; 'plenum config generate' prints a first one"
			 : "");
	return error;
}

/* Opens the file and checks its size, so that a file that is too large is never read. */
static int open_checked(const char *file, struct diag *d, int *ret)
{
	/* O_NONBLOCK prevents a FIFO at this path from blocking the agent. */
	autoclose int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct diag_pos pos = {file, 0, 0};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return read_error_add(d, file, -errno);
	if (S_ISDIR(st.st_mode))
		return read_error_add(d, file, -EISDIR);
	if (!S_ISREG(st.st_mode)) {
		diag_add(d, DIAG_ERROR, &pos, NULL, "is not a regular file");
		return -EINVAL;
	}
	if (st.st_size > (off_t)SPEC_FILE_BYTES_MAX) {
		diag_add(
			d, DIAG_ERROR, &pos, NULL,
			"the file has %lld bytes, at most %u are allowed; is this a configuration?",
			(long long)st.st_size, SPEC_FILE_BYTES_MAX);
		return -EINVAL;
	}
	*ret = fd_take(fd);
	return 0;
}

/* Reads the whole file. If the file has grown since its size was checked, reads one byte more than
 * allowed, so that the caller sees that it is too large. */
static int read_all(const char *file, struct diag *d, char **ret_text, size_t *ret_len)
{
	autofree char *text = malloc(SPEC_FILE_BYTES_MAX + 1);
	autoclose int fd = -1;
	size_t len = 0;
	int r;

	if (!text) {
		d->out_of_memory = true;
		return -ENOMEM;
	}
	r = open_checked(file, d, &fd);
	if (r < 0)
		return r;
	while (len <= SPEC_FILE_BYTES_MAX) {
		ssize_t n = read(fd, text + len, SPEC_FILE_BYTES_MAX + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return read_error_add(d, file, -errno);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret_text = ptr_take(text);
	*ret_len = len;
	return 0;
}

/* Reads one file. *ret_committing (may be NULL) says whether the file has the mark of a commit in
 * progress. */
static int reader_add_file(struct spec_reader *r, const char *file, bool *ret_committing)
{
	autofree char *text = NULL;
	size_t len = 0;
	int e = read_all(file, r->d, &text, &len);

	if (e < 0)
		return e;
	if (len > SPEC_FILE_BYTES_MAX)
		return read_error_add(r->d, file, -EFBIG);
	if (ret_committing)
		*ret_committing = len >= strlen(SPEC_COMMIT_MARK) &&
				  memcmp(text, SPEC_COMMIT_MARK, strlen(SPEC_COMMIT_MARK)) == 0;
	reader_add(r, file, text, len);
	return 0;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

static int dropin_filter(const struct dirent *e)
{
	return e->d_name[0] != '.' && (ends_in(e->d_name, ".yaml") || ends_in(e->d_name, ".yml"));
}

static int dropin_cmp(const struct dirent **a, const struct dirent **b)
{
	/* compares bytes and ignores the locale, so that the order is the same on all hosts */
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int reader_add_dropin(struct spec_reader *r, const char *dir, const char *name)
{
	autofree char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		r->d->out_of_memory = true;
		return -ENOMEM;
	}
	if (ends_in(name, ".yml")) {
		struct diag_pos pos = {path, 0, 0};

		diag_add(r->d, DIAG_WARNING, &pos, NULL,
			 "the file is not read; rename it to end in .yaml");
		return 0;
	}
	return reader_add_file(r, path, NULL);
}

static int reader_add_dir(struct spec_reader *r, const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, dropin_filter, dropin_cmp);
	int first = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : read_error_add(r->d, dir, -errno);
	if (n > DROPINS_MAX) {
		struct diag_pos pos = {dir, 0, 0};

		diag_add(r->d, DIAG_ERROR, &pos, NULL, "holds %d files, at most %d are allowed", n,
			 DROPINS_MAX);
		first = -EINVAL;
	}
	for (int i = 0; i < n; i++) {
		int e = n > DROPINS_MAX ? 0 : reader_add_dropin(r, dir, entries[i]->d_name);

		first = first < 0 ? first : e;
		free(entries[i]);
	}
	free(entries);
	return first;
}

/* Reads the drop-in files or, during a commit, the new files that will replace them. */
static int reader_add_dropins(struct spec_reader *r, const char *dir, bool committing)
{
	autofree char *next = NULL;

	if (asprintf(&next, "%s" SPEC_NEXT_SUFFIX, dir) < 0) {
		next = NULL;
		r->d->out_of_memory = true;
		return -ENOMEM;
	}
	return reader_add_dir(r, committing && access(next, F_OK) == 0 ? next : dir);
}

int spec_load(const char *file, const char *dropin_dir, struct diag *d, struct spec **ret)
{
	struct spec_reader r;
	int e = reader_init(&r, d), e_dir = 0;
	bool committing = false;

	if (e < 0)
		return e;
	e = reader_add_file(&r, file, &committing);
	if (e == 0 && dropin_dir)
		e_dir = reader_add_dropins(&r, dropin_dir, committing);
	if (e == 0) {
		e = reader_finish(&r, ret);
		if (e_dir < 0 && e < 0)
			e = e_dir;
	}
	reader_done(&r);
	return e;
}
