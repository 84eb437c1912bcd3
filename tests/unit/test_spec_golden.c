/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden cases of tests/golden/spec: NAME.yaml is read and checked by the mode in its `ha`, and the
 * result (the messages, or the normal form) must equal NAME.expect. PLENUM_UPDATE_GOLDEN=1 rewrites
 * the files. Prints TAP itself: one test a case.
 */
#include "plugins/plugins.h"

#include <dirent.h>
#include <string.h>

#define CASES_MAX 512

static char *golden_path(const char *name, const char *ext)
{
	char *path;

	return asprintf(&path, "%s/tests/golden/spec/%s%s", TOP_SRCDIR, name, ext) < 0 ? NULL
										       : path;
}

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	char *text = malloc(SPEC_FILE_BYTES_MAX + 2);

	if (!f || !text) {
		free(text);
		if (f)
			fclose(f);
		return NULL;
	}
	*ret_len = fread(text, 1, SPEC_FILE_BYTES_MAX + 1, f);
	text[*ret_len] = '\0';
	fclose(f);
	return text;
}

/* The result of reading the text, as one string. */
static char *outcome(const char *name, const char *text, size_t len)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL, *again = NULL;
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);
	int r = spec_parse(name, text, len, &d, &s);

	if (!f)
		return NULL;
	if (r == 0)
		r = plan_check(s, &d);
	diag_print(&d, f);
	if (r == 0) {
		autofree char *yaml = spec_to_yaml(s), *yaml_again = NULL;

		fputs(yaml ? yaml : "no memory\n", f);
		/* The normal form must read back to itself. */
		if (!yaml || spec_parse("normal form", yaml, strlen(yaml), &d, &again) < 0)
			fputs("the normal form does not validate\n", f);
		else if ((yaml_again = spec_to_yaml(again)) && strcmp(yaml, yaml_again) != 0)
			fputs("the normal form is not stable\n", f);
	}
	spec_free(s);
	spec_free(again);
	diag_done(&d);
	fclose(f);
	return out;
}

static int update(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fputs(text, f);
	return fclose(f) == 0 ? 0 : -errno;
}

static bool run_case(const char *name)
{
	autofree char *in_path = golden_path(name, ".yaml"),
		      *want_path = golden_path(name, ".expect");
	autofree char *in = NULL, *want = NULL, *got = NULL, *file = NULL;
	size_t len, want_len;

	if (!in_path || !want_path || asprintf(&file, "%s.yaml", name) < 0)
		return false;
	in = read_file(in_path, &len);
	got = in ? outcome(file, in, len) : NULL;
	if (!got)
		return false;
	if (getenv("PLENUM_UPDATE_GOLDEN"))
		return update(want_path, got) == 0;
	want = read_file(want_path, &want_len);
	if (want && strcmp(want, got) == 0)
		return true;
	for (char *line = strtok(got, "\n"); line; line = strtok(NULL, "\n"))
		printf("# got: %s\n", line);
	return false;
}

static int is_case(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && strcmp(e->d_name + n - 5, ".yaml") == 0;
}

int main(void)
{
	autofree char *dir = golden_path("", "");
	struct dirent **cases;
	int n = dir ? scandir(dir, &cases, is_case, alphasort) : -1;
	int failed = 0;

	plugins_register();
	if (n <= 0 || n > CASES_MAX) {
		printf("Bail out! no golden cases in %s\n", dir ? dir : "?");
		return 1;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		bool ok;

		cases[i]->d_name[strlen(cases[i]->d_name) - 5] = '\0';
		ok = run_case(cases[i]->d_name);
		failed += !ok;
		printf("%sok %d - %s\n", ok ? "" : "not ", i + 1, cases[i]->d_name);
		free(cases[i]);
	}
	free(cases);
	return failed > 0;
}
