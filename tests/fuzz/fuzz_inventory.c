/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a recorded inventory: either an inventory or errors; an accepted one is written
 * the same again, and the draft made from it validates. */
#include "netcfg/host/inventory.h"
#include "netcfg/plan/show/generate.h"
#include "netcfg/plan/show/snapshot.h"
#include "netcfg/spec/spec.h"
#include "plugins/plugins.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* The anonymised inventory can be read back, and gives the same plan. */
static void check_snapshot(const struct inventory *inv)
{
	static const uint64_t key[2] = {1, 2};
	autofree char *json = NULL;
	struct inventory *shown = NULL, *again = NULL;
	struct diag d = DIAG_INIT;

	if (snapshot_make(inv, NULL, key, &shown) < 0)
		abort();
	json = inv_to_json(shown);
	if (!json || inv_from_json(json, strlen(json), &d, &again) < 0) {
		diag_print(&d, stderr);
		abort();
	}
	inv_free(shown);
	inv_free(again);
	diag_done(&d);
}

static void check_inventory(const struct inventory *inv)
{
	autofree char *json = inv_to_json(inv), *text = inv_to_text(inv);
	autofree char *yaml = generate_yaml(inv), *json_again = NULL;
	struct inventory *again = NULL;
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	if (!json || !text || !yaml || inv_from_json(json, strlen(json), &d, &again) < 0 ||
	    spec_parse("draft", yaml, strlen(yaml), &d, &s) < 0) {
		diag_print(&d, stderr);
		abort();
	}
	json_again = inv_to_json(again);
	if (!json_again || strcmp(json, json_again) != 0)
		abort();
	inv_free(again);
	spec_free(s);
	diag_done(&d);
	check_snapshot(inv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	int r;

	plugins_register();
	r = inv_from_json((const char *)data, size, &d, &inv);

	if ((r == 0) != (inv != NULL) || (r == 0) == diag_has_errors(&d))
		abort();
	if (inv)
		check_inventory(inv);
	inv_free(inv);
	diag_done(&d);
	return 0;
}
