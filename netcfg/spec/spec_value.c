/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes, reads and prints values of each type; spec_check.c checks values against each other. A
 * new type needs its functions here and a line in the table at the end.
 */
#include "netcfg/spec/spec_schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>
#include <strings.h>

#define URL_LEN_MAX 255
#define ACCOUNT_LEN_MAX 64

/* Parses decimal digits. A leading zero is an error, because YAML 1.1 reads such a number as
 * octal. */
static int number_parse(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t v = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return -EINVAL;
	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '9')
			return -EINVAL;
		v = 10 * v + (uint64_t)(*c - '0');
		if (v > max)
			return -EINVAL;
	}
	if (v < min)
		return -EINVAL;
	*ret = (uint32_t)v;
	return 0;
}

bool spec_text_is_number(const char *text)
{
	const char *c = text;
	size_t n_digits = 0;

	if (*c == '+' || *c == '-')
		c++;
	if (strcasecmp(c, ".inf") == 0 || strcasecmp(c, ".nan") == 0)
		return true;
	if (c[0] == '0' && (c[1] == 'x' || c[1] == 'o') && c[2])
		return strspn(c + 2, "0123456789abcdefABCDEF") == strlen(c + 2);
	for (; isdigit((unsigned char)*c); c++)
		n_digits++;
	if (*c == '.')
		for (c++; isdigit((unsigned char)*c); c++)
			n_digits++;
	if (n_digits == 0)
		return false;
	if (*c == 'e' || *c == 'E') {
		c++;
		if (*c == '+' || *c == '-')
			c++;
		if (!isdigit((unsigned char)*c))
			return false;
		while (isdigit((unsigned char)*c))
			c++;
	}
	return *c == '\0';
}

bool spec_text_is_bool(const char *text)
{
	return strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0;
}

/* Returns whether YAML 1.1 reads the word as a boolean or null. */
static bool text_is_yaml_word(const char *text)
{
	static const char *const words[] = {"yes", "no", "on", "off", "y", "n", "null", "~"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return true;
	return spec_text_is_bool(text) || spec_text_is_number(text);
}

void spec_print_text(const char *text, FILE *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._/-";
	bool begins_plain = isalnum((unsigned char)text[0]) || text[0] == '/';

	if (begins_plain && strspn(text, plain) == strlen(text) && !text_is_yaml_word(text)) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
}

/* ---- names and devices ---- */

static void name_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a name of up to %d letters, digits, '.', '_' and '-'",
		 PLENUM_NAME_MAX - 1);
}

static bool name_is_valid(const char *text, size_t len)
{
	if (len == 0 || len >= PLENUM_NAME_MAX || !isalnum((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
			return false;
	return true;
}

bool spec_name_is_valid(const char *text)
{
	return name_is_valid(text, strlen(text));
}

static int name_parse(const char *text, const struct spec_key *k, void *field)
{
	size_t len = strlen(text);

	if (!name_is_valid(text, len))
		return -EINVAL;
	memcpy(field, text, len + 1);
	return 0;
}

static void text_print(const struct spec_key *k, const void *field, FILE *out)
{
	spec_print_text(field, out);
}

static bool text_is_unset(const struct spec_key *k, const void *field)
{
	return *(const char *)field == '\0';
}

static void interface_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "an interface name of up to %d characters", IFNAMSIZ - 1);
}

static int interface_parse(const char *text, const struct spec_key *k, void *field)
{
	size_t len = strlen(text);

	if (len >= IFNAMSIZ || !name_is_valid(text, len))
		return -EINVAL;
	memcpy(field, text, len + 1);
	return 0;
}

static void device_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a PCI address, a MAC address or an interface name");
}

/* Returns whether the text has the form 0000:3b:00.0. */
static bool pci_is_valid(const char *text)
{
	static const char form[] = "xxxx:xx:xx.o";

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		bool fits = form[i] == 'x'   ? isxdigit((unsigned char)text[i]) != 0
			    : form[i] == 'o' ? text[i] >= '0' && text[i] <= '7'
					     : text[i] == form[i];

		if (!fits)
			return false;
	}
	return true;
}

static int device_parse(const char *text, const struct spec_key *k, void *field)
{
	struct mac_addr mac;

	if (!pci_is_valid(text) && mac_addr_parse(text, &mac) < 0)
		return interface_parse(text, k, field);
	memcpy(field, text, strlen(text) + 1);
	return 0;
}

static void pattern_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size,
		 "a pattern of letters, digits, '.', '_', '-' and ':' with '*', '?' or [...]");
}

/* A pattern is for fnmatch(3), so each '[' has its ']' with characters between them. */
static int pattern_parse(const char *text, const struct spec_key *k, void *field)
{
	const size_t len = strlen(text);
	bool in_set = false;

	if (len == 0 || len >= PLENUM_NAME_MAX)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("._-:*?[]!", text[i]))
			return -EINVAL;
		if ((text[i] == '!' && (!in_set || text[i - 1] != '[')) ||
		    (text[i] == '[' && (in_set || strspn(text + i + 1, "!") > 1 ||
					text[i + 1 + strspn(text + i + 1, "!")] == ']')) ||
		    (text[i] == ']' && !in_set))
			return -EINVAL;
		if (text[i] == '[' || text[i] == ']')
			in_set = text[i] == '[';
	}
	if (in_set)
		return -EINVAL;
	memcpy(field, text, len + 1);
	return 0;
}

static void from_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "HOST/EXPORT");
}

static int from_parse(const char *text, const struct spec_key *k, void *field)
{
	const char *slash = strchr(text, '/');
	char *host = field, *export = host + PLENUM_NAME_MAX;

	if (!slash || !name_is_valid(text, (size_t)(slash - text)) ||
	    !name_is_valid(slash + 1, strlen(slash + 1)))
		return -EINVAL;
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	memcpy(export, slash + 1, strlen(slash + 1) + 1);
	return 0;
}

static void from_print(const struct spec_key *k, const void *field, FILE *out)
{
	const char *host = field;

	fprintf(out, "%s/%s", host, host + PLENUM_NAME_MAX);
}

/* ---- paths and URLs, which are heap strings ---- */

static void path_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size,
		 "an absolute path with no '.' or '..' component, no '//' and no '/' at the end");
}

static bool path_is_valid(const char *text)
{
	if (text[0] != '/' || strlen(text) >= PATH_MAX)
		return false;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	if (!text[1])
		return true;
	while (*text == '/') {
		size_t len = strcspn(++text, "/");

		if (len == 0 || (len == 1 && text[0] == '.') ||
		    (len == 2 && text[0] == '.' && text[1] == '.'))
			return false;
		text += len;
	}
	return true;
}

static int heap_text_set(const char *text, char **field)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int path_parse(const char *text, const struct spec_key *k, void *field)
{
	return path_is_valid(text) ? heap_text_set(text, field) : -EINVAL;
}

static void heap_text_print(const struct spec_key *k, const void *field, FILE *out)
{
	spec_print_text(*(char *const *)field, out);
}

static bool heap_text_is_unset(const struct spec_key *k, const void *field)
{
	return !*(char *const *)field;
}

static void url_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of URLs that begin with http:// or https://");
}

static int url_parse(const char *text, const struct spec_key *k, void *field)
{
	const char *rest;

	if (strncmp(text, "http://", 7) == 0)
		rest = text + 7;
	else if (strncmp(text, "https://", 8) == 0)
		rest = text + 8;
	else
		return -EINVAL;
	if (!isalnum((unsigned char)*rest) && *rest != '[')
		return -EINVAL;
	if (strlen(text) > URL_LEN_MAX)
		return -EINVAL;
	for (; *rest; rest++)
		if (!isalnum((unsigned char)*rest) && !strchr("[].:/_-", *rest))
			return -EINVAL;
	return heap_text_set(text, field);
}

/* An account is a name that useradd(8) accepts, or a number. */
static void accounts_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of names or numbers of accounts");
}

static int account_parse(const char *text, const struct spec_key *k, void *field)
{
	size_t len = strlen(text);

	if (len == 0 || len >= ACCOUNT_LEN_MAX ||
	    (!isalnum((unsigned char)text[0]) && text[0] != '_'))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._@-", text[i]))
			return -EINVAL;
	return heap_text_set(text, field);
}

static void names_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of names of %s", k->of ? k->of : "hosts");
}

static int names_parse(const char *text, const struct spec_key *k, void *field)
{
	return name_is_valid(text, strlen(text)) ? heap_text_set(text, field) : -EINVAL;
}

/* ---- numbers ---- */

static void number_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a whole number from %" PRIu32 " to %" PRIu32 "%s%s%s", k->min, k->max,
		 k->why ? " (" : "", k->why ? k->why : "", k->why ? ")" : "");
}

static int u16_parse(const char *text, const struct spec_key *k, void *field)
{
	uint32_t v;
	int r = number_parse(text, k->min, k->max, &v);

	if (r == 0)
		*(uint16_t *)field = (uint16_t)v;
	return r;
}

static int u32_parse(const char *text, const struct spec_key *k, void *field)
{
	return number_parse(text, k->min, k->max, field);
}

static int index_parse(const char *text, const struct spec_key *k, void *field)
{
	uint32_t v;
	int r = number_parse(text, k->min, k->max, &v);

	if (r == 0)
		*(uint32_t *)field = v + 1;
	return r;
}

static void index_print(const struct spec_key *k, const void *field, FILE *out)
{
	fprintf(out, "%" PRIu32, *(const uint32_t *)field - 1);
}

static bool index_is_unset(const struct spec_key *k, const void *field)
{
	return *(const uint32_t *)field == 0;
}

static void u16_print(const struct spec_key *k, const void *field, FILE *out)
{
	fprintf(out, "%u", *(const uint16_t *)field);
}

static void u32_print(const struct spec_key *k, const void *field, FILE *out)
{
	fprintf(out, "%" PRIu32, *(const uint32_t *)field);
}

static bool u16_is_unset(const struct spec_key *k, const void *field)
{
	return *(const uint16_t *)field == 0 && k->min > 0;
}

static bool u32_is_unset(const struct spec_key *k, const void *field)
{
	return *(const uint32_t *)field == 0 && k->min > 0;
}

static void vfs_describe(const struct spec_key *k, char *buf, size_t size)
{
	if (spec_key_is_built(k, "1"))
		snprintf(buf, size, "auto or a whole number from %" PRIu32 " to %" PRIu32, k->min,
			 k->max);
	else
		snprintf(buf, size, "auto or 0");
}

static int vfs_parse(const char *text, const struct spec_key *k, void *field)
{
	uint32_t v;
	int r;

	if (strcmp(text, "auto") == 0) {
		*(int *)field = SPEC_VFS_AUTO;
		return 0;
	}
	r = number_parse(text, k->min, k->max, &v);
	if (r == 0)
		*(int *)field = (int)v;
	return r;
}

static void vfs_print(const struct spec_key *k, const void *field, FILE *out)
{
	int v = *(const int *)field;

	if (v == SPEC_VFS_AUTO)
		fputs("auto", out);
	else
		fprintf(out, "%d", v);
}

static void seconds_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a time from %" PRIu32 "s to %" PRIu32 "s, with its unit s, m or h",
		 k->min, k->max);
}

static int seconds_parse(const char *text, const struct spec_key *k, void *field)
{
	size_t n = strspn(text, "0123456789");
	char digits[12];
	uint32_t v, unit_s;

	if (n == 0 || n >= sizeof(digits) || text[n] == '\0' || text[n + 1] != '\0')
		return -EINVAL;
	unit_s = text[n] == 's' ? 1 : text[n] == 'm' ? 60 : text[n] == 'h' ? 3600 : 0;
	if (unit_s == 0)
		return -EINVAL;
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (number_parse(digits, 0, k->max / unit_s, &v) < 0 || v * unit_s < k->min)
		return -EINVAL;
	*(uint32_t *)field = v * unit_s;
	return 0;
}

static void seconds_print(const struct spec_key *k, const void *field, FILE *out)
{
	fprintf(out, "%" PRIu32 "s", *(const uint32_t *)field);
}

/* ---- choices ---- */

static void bool_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "true or false");
}

static int bool_parse(const char *text, const struct spec_key *k, void *field)
{
	if (strcmp(text, "true") == 0)
		*(bool *)field = true;
	else if (strcmp(text, "false") == 0)
		*(bool *)field = false;
	else
		return -EINVAL;
	return 0;
}

static void bool_print(const struct spec_key *k, const void *field, FILE *out)
{
	fputs(*(const bool *)field ? "true" : "false", out);
}

static void enum_describe(const struct spec_key *k, char *buf, size_t size)
{
	size_t len = 0, n_built = 0, shown = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < k->n_names; i++)
		n_built += k->names[i][0] && spec_key_is_built(k, k->names[i]);
	for (size_t i = 0; i < k->n_names && len < size; i++) {
		const char *sep = shown == 0 ? "" : shown + 1 < n_built ? ", " : " or ";
		int n;

		if (!k->names[i][0] || !spec_key_is_built(k, k->names[i]))
			continue;
		n = snprintf(buf + len, size - len, "%s%s", sep, k->names[i]);
		len += n > 0 ? (size_t)n : 0;
		shown++;
	}
}

static int enum_parse(const char *text, const struct spec_key *k, void *field)
{
	for (size_t i = 0; i < k->n_names; i++) {
		if (*text && strcmp(text, k->names[i]) == 0) {
			*(int *)field = (int)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void enum_print(const struct spec_key *k, const void *field, FILE *out)
{
	unsigned v = *(const unsigned *)field;

	fputs(v < k->n_names ? k->names[v] : "?", out);
}

static bool enum_is_unset(const struct spec_key *k, const void *field)
{
	const unsigned v = *(const unsigned *)field;

	return v < k->n_names && !k->names[v][0];
}

/* ---- addresses ---- */

static void ip_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "an IP address");
}

static int ip_parse(const char *text, const struct spec_key *k, void *field)
{
	return ip_addr_parse(text, field);
}

static void ip_print(const struct spec_key *k, const void *field, FILE *out)
{
	char buf[IP_ADDR_STR_MAX];

	/* IPv6 addresses contain colons, which some YAML readers accept only in quotes. */
	spec_print_text(ip_addr_format(field, buf, sizeof(buf)), out);
}

static bool ip_is_unset(const struct spec_key *k, const void *field)
{
	return ((const struct ip_addr *)field)->family == 0;
}

static void range_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "FIRST-LAST/LENGTH, two addresses of one subnet in rising order");
}

static int range_parse(const char *text, const struct spec_key *k, void *field)
{
	return strchr(text, '/') ? ip_range_parse(text, field) : -EINVAL;
}

static void range_print(const struct spec_key *k, const void *field, FILE *out)
{
	/* space for two addresses, '-', '/' and a length */
	char buf[2 * IP_ADDR_STR_MAX];
	const struct ip_range *r = field;

	ip_range_format(r, buf, sizeof(buf));
	if (k->type == SPEC_TYPE_RANGE && !strchr(buf, '/'))
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), "/%u", r->prefix_len);
	spec_print_text(buf, out);
}

static bool range_is_unset(const struct spec_key *k, const void *field)
{
	return ((const struct ip_range *)field)->first.family == 0;
}

static void ips_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of IP addresses");
}

static void ranges_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of addresses and of ranges FIRST-LAST in rising order");
}

static int ranges_parse(const char *text, const struct spec_key *k, void *field)
{
	return ip_range_parse(text, field);
}

static void networks_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of networks ADDRESS/LENGTH and of addresses");
}

static int network_parse(const char *text, const struct spec_key *k, void *field)
{
	struct ip_prefix p;

	if (!strchr(text, '/')) {
		if (ip_addr_parse(text, &p.addr) < 0)
			return -EINVAL;
		p.len = (uint8_t)ip_addr_bits(&p.addr);
	} else if (ip_prefix_parse(text, &p) < 0) {
		return -EINVAL;
	}
	*(struct ip_prefix *)field = p;
	return 0;
}

static void network_print(const struct spec_key *k, const void *field, FILE *out)
{
	char buf[IP_ADDR_STR_MAX];

	spec_print_text(ip_prefix_format(field, buf, sizeof(buf)), out);
}

static void cores_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "core numbers from 0 to %d: N, N-M, or a list of both",
		 SPEC_CORES_MAX - 1);
}

static void core_print(const struct spec_key *k, const void *field, FILE *out)
{
	fprintf(out, "%u", *(const unsigned *)field);
}

static void prios_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of priorities from 0 to %d", SPEC_PRIOS - 1);
}

static int prio_parse(const char *text, const struct spec_key *k, void *field)
{
	return number_parse(text, 0, SPEC_PRIOS - 1, field);
}

static void map_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a map of keys and values");
}

static void maps_describe(const struct spec_key *k, char *buf, size_t size)
{
	snprintf(buf, size, "a list of maps");
}

#define NAME_PATTERN "[A-Za-z0-9][A-Za-z0-9._-]{0,62}"

const struct spec_type_ops spec_types[SPEC_TYPE_MAX] = {
	[SPEC_TYPE_MAP] = {.describe = map_describe},
	[SPEC_TYPE_MAPS] = {.describe = maps_describe},
	[SPEC_TYPE_NAME] = {.describe = name_describe,
			    .parse = name_parse,
			    .print = text_print,
			    .is_unset = text_is_unset,
			    .pattern = "^" NAME_PATTERN "$"},
	[SPEC_TYPE_DEVICE] = {.describe = device_describe,
			      .parse = device_parse,
			      .print = text_print,
			      .is_unset = text_is_unset},
	[SPEC_TYPE_INTERFACE] = {.describe = interface_describe,
				 .parse = interface_parse,
				 .print = text_print,
				 .is_unset = text_is_unset,
				 .pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$"},
	[SPEC_TYPE_PATTERN] = {.describe = pattern_describe,
			       .parse = pattern_parse,
			       .print = text_print,
			       .is_unset = text_is_unset},
	[SPEC_TYPE_PATH] = {.describe = path_describe,
			    .parse = path_parse,
			    .print = heap_text_print,
			    .is_unset = heap_text_is_unset,
			    .pattern = "^/"},
	[SPEC_TYPE_BOOL] = {.describe = bool_describe,
			    .parse = bool_parse,
			    .print = bool_print,
			    .is_bool = true},
	[SPEC_TYPE_U16] = {.describe = number_describe,
			   .parse = u16_parse,
			   .print = u16_print,
			   .is_unset = u16_is_unset,
			   .is_number = true},
	[SPEC_TYPE_U32] = {.describe = number_describe,
			   .parse = u32_parse,
			   .print = u32_print,
			   .is_unset = u32_is_unset,
			   .is_number = true},
	[SPEC_TYPE_INDEX] = {.describe = number_describe,
			     .parse = index_parse,
			     .print = index_print,
			     .is_unset = index_is_unset,
			     .is_number = true},
	[SPEC_TYPE_VFS] = {.describe = vfs_describe,
			   .parse = vfs_parse,
			   .print = vfs_print,
			   .is_number = true},
	[SPEC_TYPE_ENUM] = {.describe = enum_describe,
			    .parse = enum_parse,
			    .print = enum_print,
			    .is_unset = enum_is_unset},
	[SPEC_TYPE_SECONDS] = {.describe = seconds_describe,
			       .parse = seconds_parse,
			       .print = seconds_print,
			       .is_unset = u32_is_unset,
			       .pattern = "^[0-9]+[smh]$"},
	[SPEC_TYPE_RATE] = {.describe = spec_rate_describe,
			    .parse = spec_rate_key_parse,
			    .print = spec_rate_print,
			    .is_unset = u32_is_unset,
			    .pattern = "^[0-9]+[kMG]B/s$"},
	[SPEC_TYPE_IP] = {.describe = ip_describe,
			  .parse = ip_parse,
			  .print = ip_print,
			  .is_unset = ip_is_unset},
	[SPEC_TYPE_RANGE] = {.describe = range_describe,
			     .parse = range_parse,
			     .print = range_print,
			     .is_unset = range_is_unset,
			     .pattern = "^[0-9a-fA-F.:]+(-[0-9a-fA-F.:]+)?/[0-9]{1,3}$"},
	[SPEC_TYPE_FROM] = {.describe = from_describe,
			    .parse = from_parse,
			    .print = from_print,
			    .pattern = "^" NAME_PATTERN "/" NAME_PATTERN "$"},
	[SPEC_TYPE_IPS] = {.describe = ips_describe,
			   .parse = ip_parse,
			   .print = ip_print,
			   .item = "an IP address"},
	[SPEC_TYPE_RANGES] = {.describe = ranges_describe,
			      .parse = ranges_parse,
			      .print = range_print,
			      .pattern = "^[0-9a-fA-F.:]+(-[0-9a-fA-F.:]+)?(/[0-9]{1,3})?$",
			      .item = "an address or a range FIRST-LAST in rising order"},
	[SPEC_TYPE_URLS] = {.describe = url_describe,
			    .parse = url_parse,
			    .print = heap_text_print,
			    .pattern = "^https?://",
			    .item = "a URL that begins with http:// or https://"},
	[SPEC_TYPE_ACCOUNTS] = {.describe = accounts_describe,
				.parse = account_parse,
				.print = heap_text_print,
				.pattern = "^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,62}$",
				.item = "the name or number of an account"},
	[SPEC_TYPE_NAMES] = {.describe = names_describe,
			     .parse = names_parse,
			     .print = heap_text_print,
			     .pattern = "^" NAME_PATTERN "$",
			     .item = "the name of a host"},
	[SPEC_TYPE_NETWORKS] = {.describe = networks_describe,
				.parse = network_parse,
				.print = network_print,
				.pattern = "^[0-9a-fA-F.:]+(/[0-9]{1,3})?$",
				.item = "a network ADDRESS/LENGTH or an address"},
	[SPEC_TYPE_CORES] = {.describe = cores_describe,
			     .print = core_print,
			     .is_number = true,
			     .item = "N or N-M, core numbers in rising order up to 1023"},
	[SPEC_TYPE_PRIOS] = {.describe = prios_describe,
			     .parse = prio_parse,
			     .print = u32_print,
			     .is_number = true,
			     .item = "a priority from 0 to 7"},
};
