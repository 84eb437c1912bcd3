/* SPDX-License-Identifier: BSD-3-Clause */
/* Embeds the files of this folder into the program. Makefile.am lists the files as dependencies, so
 * that a changed file is embedded again. */
#include "agent/page/page.h"
#include "netcfg/base/base.h"
#include <string.h>

#define FILE_IN_PROGRAM(name, file)                                                         \
	__asm__(".pushsection .rodata\n" #name ": .incbin \"" PAGE_SRCDIR file "\"\n" #name \
		"_end:\n.popsection\n");                                                    \
	extern const char name[], name##_end[]

FILE_IN_PROGRAM(page_html, "/index.html");
FILE_IN_PROGRAM(page_css, "/plenum.css");
FILE_IN_PROGRAM(page_js, "/plenum.js");
FILE_IN_PROGRAM(page_changes_js, "/changes.js");
FILE_IN_PROGRAM(page_plots_js, "/plots.js");
FILE_IN_PROGRAM(page_doctor_js, "/doctor.js");
FILE_IN_PROGRAM(page_cluster_js, "/cluster.js");

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

static const struct {
	const char *path, *type, *begin, *end;
} files[] = {
	{PAGE_PATH, HTML, page_html, page_html_end},
	{PAGE_PATH "plenum.css", CSS, page_css, page_css_end},
	{PAGE_PATH "plenum.js", SCRIPT, page_js, page_js_end},
	{PAGE_PATH "changes.js", SCRIPT, page_changes_js, page_changes_js_end},
	{PAGE_PATH "plots.js", SCRIPT, page_plots_js, page_plots_js_end},
	{PAGE_PATH "doctor.js", SCRIPT, page_doctor_js, page_doctor_js_end},
	{PAGE_PATH "cluster.js", SCRIPT, page_cluster_js, page_cluster_js_end},
};

const struct page_file *page_find(const char *path)
{
	static struct page_file found;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(path, files[i].path) == 0) {
			found = (struct page_file){files[i].path, files[i].type, files[i].begin,
						   (size_t)(files[i].end - files[i].begin)};
			return &found;
		}
	return NULL;
}
