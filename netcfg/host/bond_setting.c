/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of bond settings, and functions that print and parse their values. Plans, journals and
 * the kernel code share these text forms. */
#include "netcfg/host/bond_setting.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const hashes[] = {"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"};
static const char *const rates[] = {"slow", "fast"};
static const char *const selects[] = {"stable", "bandwidth", "count"};
static const char *const reselects[] = {"always", "better", "failure"};

#define WORDS(array) .words = array, .n_words = ARRAY_SIZE(array)
#define AT(m)                                           \
	.offset = offsetof(struct inv_bond_setting, m), \
	.bytes = sizeof(((struct inv_bond_setting *)0)->m)

/* The name, words and member of each setting. A setting without words is a number, or a text if its
 * member is larger than any integer type. */
static const struct {
	const char *name;
	const char *const *words;
	size_t n_words, offset, bytes;
} attrs[BOND_ATTR_MAX] = {
	[BOND_HASH] = {"hash", WORDS(hashes), AT(hash)},
	[BOND_RATE] = {"rate", WORDS(rates), AT(rate)},
	[BOND_SELECT] = {"select", WORDS(selects), AT(select)},
	[BOND_RESELECT] = {"reselect", WORDS(reselects), AT(reselect)},
	[BOND_MIN_LINKS] = {"min-links", AT(min_links)},
	[BOND_MIIMON] = {"miimon", AT(miimon_ms)},
	[BOND_PRIMARY] = {"primary", AT(primary)},
};

#define HAS(a) (1U << BOND_##a)

/* The kernel's name of each mode. For a mode that the agent configures, also its settings, and
 * whether the switch must have joined its ports into one LAG. */
static const struct {
	const char *name;
	unsigned attrs;
	bool is_lag;
} modes[INV_BOND_MODE_MAX] = {
	[INV_BOND_ROUND_ROBIN] = {"balance-rr", .is_lag = true},
	[INV_BOND_ACTIVE_BACKUP] = {"active-backup", HAS(RESELECT) | HAS(MIIMON) | HAS(PRIMARY)},
	[INV_BOND_XOR] = {"balance-xor", HAS(HASH) | HAS(MIIMON), .is_lag = true},
	[INV_BOND_BROADCAST] = {"broadcast", .is_lag = true},
	[INV_BOND_LACP] = {"802.3ad",
			   HAS(HASH) | HAS(RATE) | HAS(SELECT) | HAS(MIN_LINKS) | HAS(MIIMON),
			   .is_lag = true},
	[INV_BOND_TLB] = {"balance-tlb"},
	[INV_BOND_ALB] = {"balance-alb"},
};

const char *bond_attr_to_string(enum bond_attr a)
{
	return (unsigned)a < BOND_ATTR_MAX ? attrs[a].name : "?";
}

const char *bond_mode_to_string(uint8_t mode)
{
	return mode < ARRAY_SIZE(modes) ? modes[mode].name : "?";
}

bool bond_mode_is_lag(uint8_t mode)
{
	return mode < ARRAY_SIZE(modes) && modes[mode].is_lag;
}

bool bond_attr_applies(enum bond_attr a, uint8_t mode)
{
	return mode < ARRAY_SIZE(modes) && (modes[mode].attrs & (1U << a));
}

const char *bond_value_format(const struct inv_bond_setting *s, enum bond_attr a,
			      char buf[static IFNAMSIZ])
{
	const char *field = (const char *)s + attrs[a].offset;
	uint32_t number;

	if (attrs[a].bytes == IFNAMSIZ) {
		snprintf(buf, IFNAMSIZ, "%s", field);
	} else if (attrs[a].words) {
		const uint8_t word = (uint8_t)*field;

		snprintf(buf, IFNAMSIZ, "%s", word < attrs[a].n_words ? attrs[a].words[word] : "?");
	} else {
		memcpy(&number, field, sizeof(number));
		snprintf(buf, IFNAMSIZ, "%" PRIu32, number);
	}
	return buf;
}

static int number_parse(const char *text, char *field)
{
	uint32_t number;
	char rest;

	if (sscanf(text, "%" SCNu32 "%c", &number, &rest) != 1)
		return -EINVAL;
	memcpy(field, &number, sizeof(number));
	return 0;
}

int bond_value_parse(struct inv_bond_setting *s, enum bond_attr a, const char *text)
{
	char *field = (char *)s + attrs[a].offset;

	if (attrs[a].bytes == IFNAMSIZ) {
		if (strlen(text) >= IFNAMSIZ)
			return -EINVAL;
		memset(field, 0, IFNAMSIZ);
		memcpy(field, text, strlen(text));
		return 0;
	}
	if (!attrs[a].words)
		return number_parse(text, field);
	for (size_t i = 0; i < attrs[a].n_words; i++) {
		if (strcmp(attrs[a].words[i], text) != 0)
			continue;
		*field = (char)i;
		return 0;
	}
	return -EINVAL;
}

int bond_setting_format(const struct inv_bond_setting *s, char *buf, size_t size)
{
	int len = snprintf(buf, size, "%s", bond_mode_to_string(s->mode));
	char value[IFNAMSIZ];

	for (enum bond_attr a = 0; a < BOND_ATTR_MAX; a++)
		if (bond_attr_applies(a, s->mode) && bond_value_format(s, a, value)[0] &&
		    (size_t)len < size)
			len += snprintf(buf + len, size - (size_t)len, " %s=%s", attrs[a].name,
					value);
	return len;
}

static int word_parse(const char *word, struct inv_bond_setting *s)
{
	for (enum bond_attr a = 0; a < BOND_ATTR_MAX; a++) {
		size_t len = strlen(attrs[a].name);

		if (strncmp(word, attrs[a].name, len) == 0 && word[len] == '=')
			return bond_value_parse(s, a, word + len + 1);
	}
	return -EINVAL;
}

int bond_setting_parse(const char *text, struct inv_bond_setting *ret)
{
	struct inv_bond_setting s = {.mode = ARRAY_SIZE(modes)};
	char word[32];
	int at = 0;

	if (sscanf(text, "%31s%n", word, &at) != 1)
		return -EINVAL;
	for (uint8_t m = 0; m < ARRAY_SIZE(modes); m++)
		if (strcmp(word, modes[m].name) == 0)
			s.mode = m;
	if (s.mode == ARRAY_SIZE(modes))
		return -EINVAL;
	for (text += at; sscanf(text, "%31s%n", word, &at) == 1; text += at)
		if (word_parse(word, &s) < 0)
			return -EINVAL;
	*ret = s;
	return 0;
}
