/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as plenum.yaml: either a spec or errors, and the normal form reads back. */
#include "netcfg/spec/spec.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_normal_form(const struct spec *s)
{
	autofree char *yaml = spec_to_yaml(s), *again_yaml = NULL;
	struct diag d = DIAG_INIT;
	struct spec *again = NULL;

	if (!yaml || spec_parse("again", yaml, strlen(yaml), &d, &again) < 0) {
		diag_print(&d, stderr);
		abort();
	}
	again_yaml = spec_to_yaml(again);
	if (!again_yaml || strcmp(yaml, again_yaml) != 0)
		abort();
	spec_free(again);
	diag_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	int r = spec_parse("fuzz", (const char *)data, size, &d, &s);
	autofree char *text = diag_format(&d);

	if (!text || (r == 0) != (s != NULL) || (r == 0) == diag_has_errors(&d))
		abort();
	if (s)
		check_normal_form(s);
	spec_free(s);
	diag_done(&d);
	return 0;
}
