/* SPDX-License-Identifier: BSD-3-Clause */
/* Sentences about paths in trouble, with the cause as far as this host can tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/health/health.h"

static const char *loss_text(const struct launch_path_stats *s)
{
	static char text[HEALTH_TEXT_MAX];

	health_explain_loss(s, text, sizeof(text));
	return text;
}

static void a_lossy_path_is_named_with_leg_peer_share_and_direction(void **state)
{
	struct launch_path_stats s = {.leg = "leg-a",
				      .peer = "host-b",
				      .loss_in_ppm = 312000,
				      .loss_out_ppm = 5100,
				      .lossy_in = 1};

	assert_string_equal(loss_text(&s), "path-loss: leg-a loses 31 % from host-b");
	s.lossy_out = 1;
	assert_string_equal(loss_text(&s),
			    "path-loss: leg-a loses 31 % from host-b and 0.5 % to it");
	s.lossy_in = 0;
	s.avoided = 1;
	assert_string_equal(loss_text(&s),
			    "path-loss: leg-a loses 0.5 % to host-b; its load is on other legs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lossy_path_is_named_with_leg_peer_share_and_direction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
