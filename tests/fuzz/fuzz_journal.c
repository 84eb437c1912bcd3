/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a line of the journal or the record: a complete step or an error; an accepted
 * step is written and read again as the same, and inverted twice it is itself. */
#include "netcfg/base/files/boot_stamp.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MAX 512

static void check_step(const struct plan_step *s)
{
	char line[LINE_BYTES_MAX], again[LINE_BYTES_MAX], text[256];
	struct plan_step back;

	/* A word may be as long as its field in a step, and the line still fit. */
	if (object_format(s, line, sizeof(line)) < 0 || object_parse(line, &back) < 0 ||
	    object_format(&back, again, sizeof(again)) < 0 || strcmp(line, again) != 0)
		abort();
	object_invert(&back);
	object_invert(&back);
	if (object_format(&back, again, sizeof(again)) < 0 || strcmp(line, again) != 0)
		abort();
	plan_step_describe(s, text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autofree char *text = strndup((const char *)data, size);
	struct plan_step s;
	bool stale;
	char *rest = text;

	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		(void)boot_stamp_parse(line, "plenum-journal", 2, &stale);
		if (object_parse(line, &s) == 0)
			check_step(&s);
	}
	return 0;
}
