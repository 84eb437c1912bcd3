/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes rates such as "200MB/s", in plenum.yaml and in the options of a mount. */
#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_schema.h"

#include <inttypes.h>
#include <string.h>

/* The units, the largest first. */
static const struct {
	const char *name;
	uint32_t kbs;
} units[] = {{"GB/s", 1000000}, {"MB/s", 1000}, {"kB/s", 1}};

int spec_rate_parse(const char *text, uint32_t min_kbs, uint32_t max_kbs, uint32_t *ret_kbs)
{
	const size_t n = strspn(text, "0123456789");
	/* At most ten digits, so that the product fits into 64 bits. */
	const uint64_t v = n > 0 && n <= 10 ? strtoull(text, NULL, 10) : 0;

	for (size_t i = 0; v > 0 && i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + n, units[i].name) != 0 || v * units[i].kbs < min_kbs ||
		    v * units[i].kbs > max_kbs)
			continue;
		*ret_kbs = (uint32_t)(v * units[i].kbs);
		return 0;
	}
	return -EINVAL;
}

const char *spec_rate_format(uint32_t kbs, char *buf, size_t size)
{
	size_t i = 0;

	while (kbs % units[i].kbs != 0)
		i++;
	snprintf(buf, size, "%" PRIu32 "%s", kbs / units[i].kbs, units[i].name);
	return buf;
}

void spec_rate_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size,
		 "a rate from %" PRIu32 "kB/s to %" PRIu32 "GB/s, with its unit kB/s, MB/s or GB/s",
		 k->min, k->max / units[0].kbs);
}

int spec_rate_key_parse(const char *text, const struct spec_key *k, void *field)
{
	return spec_rate_parse(text, k->min, k->max, field);
}

void spec_rate_print(const struct spec_key *k, const void *field, FILE *out)
{
	char text[SPEC_RATE_TEXT_MAX];

	fputs(spec_rate_format(*(const uint32_t *)field, text, sizeof(text)), out);
}
