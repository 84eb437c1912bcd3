/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of the command line, each a row of a table, from which the tables for getopt_long()
 * are made. The table of commands in ctl.c says which options a command takes.
 */
#include "agent/ctl/ctl_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* Kinds of options. The kind gives the type of the option's member in struct ctl_args. */
enum kind {
	FLAG,  /* bool */
	TEXT,  /* const char *; if the option is given more than once, the last value is used */
	WORDS, /* const char *; if the option is given more than once, a comma joins the values */
	LIST,  /* struct ctl_list; may be given several times */
};

#define NET_KEY(member, key, help) \
	{key, 0, TEXT, TAKES_NET,  \
	 offsetof(struct ctl_parsed, args.net_keys[RESOURCE_NET_KEY_##member])},

static const struct ctl_option {
	const char *name;
	char letter; /* 0: the option has no short form */
	enum kind kind;
	uint64_t takes;
	size_t offset;
} options[] = {
	{"socket", 0, TEXT, 0, offsetof(struct ctl_parsed, socket)},
	{"host", 0, TEXT, 0, offsetof(struct ctl_parsed, args.host)},
	{"token-file", 0, TEXT, 0, offsetof(struct ctl_parsed, args.token_file)},
	{"ca", 0, TEXT, 0, offsetof(struct ctl_parsed, args.ca)},
	{"pin", 0, TEXT, 0, offsetof(struct ctl_parsed, args.pin)},
	{"json", 'j', FLAG, 0, offsetof(struct ctl_parsed, args.json)},
	{"help", 'h', FLAG, 0, offsetof(struct ctl_parsed, help)},
	{"version", 'V', FLAG, 0, offsetof(struct ctl_parsed, version)},
	{"follow", 'f', FLAG, TAKES_FOLLOW, offsetof(struct ctl_parsed, args.follow)},
	{"since", 0, TEXT, TAKES_EVENTS, offsetof(struct ctl_parsed, args.since)},
	{"until", 0, TEXT, TAKES_EVENTS, offsetof(struct ctl_parsed, args.until)},
	{"severity", 0, TEXT, TAKES_EVENTS, offsetof(struct ctl_parsed, args.severity)},
	{"source", 0, TEXT, TAKES_EVENTS, offsetof(struct ctl_parsed, args.source)},
	{"lines", 'n', TEXT, TAKES_LINES, offsetof(struct ctl_parsed, args.lines)},
	{"name", 0, TEXT, TAKES_NAME, offsetof(struct ctl_parsed, args.name)},
	{"device", 0, TEXT, TAKES_SET, offsetof(struct ctl_parsed, args.device)},
	{"unset", 0, TEXT, TAKES_SET, offsetof(struct ctl_parsed, args.unset)},
	{"network", 0, TEXT, TAKES_NET, offsetof(struct ctl_parsed, args.network)},
	{"label", 0, TEXT, TAKES_NET, offsetof(struct ctl_parsed, args.label)},
	{"auto-label", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.auto_label)},
	{"ips", 0, TEXT, TAKES_NET, offsetof(struct ctl_parsed, args.ips)},
	{"netmask", 0, TEXT, TAKES_NET, offsetof(struct ctl_parsed, args.netmask)},
	{"gateway", 0, TEXT, TAKES_SUBNET, offsetof(struct ctl_parsed, args.gateway)},
	{"vlan", 0, TEXT, TAKES_SUBNET, offsetof(struct ctl_parsed, args.vlan)},
	{"mtu", 0, TEXT, TAKES_SUBNET, offsetof(struct ctl_parsed, args.mtu)},
	{"range", 0, TEXT, TAKES_POOL, offsetof(struct ctl_parsed, args.range)},
	{"max-unavailable", 0, TEXT, TAKES_ROLLOUT,
	 offsetof(struct ctl_parsed, args.max_unavailable)},
	{"on-failure", 0, TEXT, TAKES_ROLLOUT, offsetof(struct ctl_parsed, args.on_failure)},
	{"timeout", 0, TEXT, TAKES_ROLLOUT, offsetof(struct ctl_parsed, args.timeout)},
	{"inet6", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.inet6)},
	{"shared-ip", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.shared_ip)},
	{"soft-roce", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.soft_roce)},
	{"rdma-off", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.rdma_off)},
	{"rdma-only", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.rdma_only)},
	{"rdma-on", 0, FLAG, TAKES_NET, offsetof(struct ctl_parsed, args.rdma_on)},
	{"output", 'o', WORDS, TAKES_OUTPUT, offsetof(struct ctl_parsed, args.view.columns)},
	{"sort", 's', TEXT, TAKES_SORT, offsetof(struct ctl_parsed, args.view.sort)},
	{"filter", 'F', LIST, TAKES_TABLE, offsetof(struct ctl_parsed, args.view.filters)},
	{"no-header", 0, FLAG, TAKES_TABLE, offsetof(struct ctl_parsed, args.view.no_header)},
	{"csv", 0, FLAG, TAKES_TABLE, offsetof(struct ctl_parsed, args.view.csv)},
	{"watch", 0, TEXT, TAKES_WATCH, offsetof(struct ctl_parsed, args.watch)},
	{"snapshot", 0, TEXT, TAKES_SNAPSHOT, offsetof(struct ctl_parsed, args.snapshot)},
	{"inventory", 0, TEXT, TAKES_INVENTORY, offsetof(struct ctl_parsed, args.inventory)},
	{"peer", 0, TEXT, TAKES_PEER, offsetof(struct ctl_parsed, args.peer)},
	{"leg", 0, TEXT, TAKES_LEG, offsetof(struct ctl_parsed, args.leg)},
	{"answers", 0, TEXT, TAKES_ANSWERS, offsetof(struct ctl_parsed, args.answers)},
	{"role", 0, TEXT, TAKES_ROLE, offsetof(struct ctl_parsed, args.role)},
	{"bad", 0, FLAG, TAKES_DOCTOR, offsetof(struct ctl_parsed, args.bad)},
	{"all", 0, FLAG, TAKES_DOCTOR, offsetof(struct ctl_parsed, args.all)},
	{"drop", 0, TEXT, TAKES_FAULT, offsetof(struct ctl_parsed, args.drop)},
	{"duplicate", 0, TEXT, TAKES_FAULT, offsetof(struct ctl_parsed, args.duplicate)},
	{"reorder", 0, TEXT, TAKES_FAULT, offsetof(struct ctl_parsed, args.reorder)},
	{"delay", 0, TEXT, TAKES_FAULT, offsetof(struct ctl_parsed, args.delay)},
	{"blackhole", 0, FLAG, TAKES_FAULT, offsetof(struct ctl_parsed, args.blackhole)},
	{"direction", 0, TEXT, TAKES_FAULT, offsetof(struct ctl_parsed, args.direction)},
	{"ttl", 0, TEXT, TAKES_FAULT, offsetof(struct ctl_parsed, args.ttl)},
	{"size", 0, TEXT, TAKES_SIZE, offsetof(struct ctl_parsed, args.size)},
	{"count", 0, TEXT, TAKES_COUNT, offsetof(struct ctl_parsed, args.count)},
	{"worker", 0, TEXT, TAKES_WORKER, offsetof(struct ctl_parsed, args.worker)},
	{"write", 'w', TEXT, TAKES_CAPTURE, offsetof(struct ctl_parsed, args.write)},
	{"seconds", 0, TEXT, TAKES_SECONDS, offsetof(struct ctl_parsed, args.seconds)},
	{"once", 0, FLAG, TAKES_TOP, offsetof(struct ctl_parsed, args.once)},
	{"batch", 'b', FLAG, TAKES_TOP, offsetof(struct ctl_parsed, args.batch)},
	{"packets", 0, TEXT, TAKES_CAPTURE, offsetof(struct ctl_parsed, args.packets)},
	{"snap", 0, TEXT, TAKES_CAPTURE, offsetof(struct ctl_parsed, args.snap)},
	{"buffer", 0, TEXT, TAKES_CAPTURE, offsetof(struct ctl_parsed, args.buffer)},
	{"keys", 0, TEXT, TAKES_CAPTURE, offsetof(struct ctl_parsed, args.keys)},
	{"running", 0, FLAG, TAKES_WHICH, offsetof(struct ctl_parsed, args.running)},
	{"staged", 0, FLAG, TAKES_WHICH, offsetof(struct ctl_parsed, args.staged)},
	{"dry-run", 0, FLAG, TAKES_DRY_RUN, offsetof(struct ctl_parsed, args.dry_run)},
	{"outdated", 0, FLAG, TAKES_OUTDATED, offsetof(struct ctl_parsed, args.outdated)},
	{"core", 0, TEXT, TAKES_CORE, offsetof(struct ctl_parsed, args.core)},
	{"expect", 0, TEXT, TAKES_EXPECT, offsetof(struct ctl_parsed, args.expect)},
	{"force", 0, FLAG, TAKES_DETACH, offsetof(struct ctl_parsed, args.detach)},
	{"force", 0, LIST, TAKES_FORCE, offsetof(struct ctl_parsed, args.forces)},
	{"confirm", 0, TEXT, TAKES_APPLY, offsetof(struct ctl_parsed, args.confirm)},
	{"cluster", 0, TEXT, TAKES_JOIN, offsetof(struct ctl_parsed, args.cluster)},
	{"cores", 0, TEXT, TAKES_JOIN, offsetof(struct ctl_parsed, args.cores)},
	{"nic", 0, LIST, TAKES_JOIN, offsetof(struct ctl_parsed, args.nics)},
	{"yes", 0, FLAG, TAKES_JOIN, offsetof(struct ctl_parsed, args.yes)},
	{"valid", 0, TEXT, TAKES_INVITE, offsetof(struct ctl_parsed, args.valid)},
	RESOURCE_NET_KEYS(NET_KEY)};

/* For the long and the short form of an option, getopt_long() returns FIRST plus the number of the
 * option's row. */
#define FIRST 256

/* Returns whether the --force of this command has no value. */
static bool force_is_flag(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			return strcmp(argv[i], "umount") == 0 || strcmp(argv[i], "stop") == 0;
		i += strcmp(argv[i], "--socket") == 0 || strcmp(argv[i], "--host") == 0 ||
		     strcmp(argv[i], "--token-file") == 0 || strcmp(argv[i], "--ca") == 0 ||
		     strcmp(argv[i], "--pin") == 0;
	}
	return false;
}

struct getopt_words {
	struct option names[ARRAY_SIZE(options) + 1];
	char letters[2 * ARRAY_SIZE(options) + 1];
};

/* The table has two options --force, with and without a value; the command determines which of them
 * is used. */
static void words_make(struct getopt_words *w, bool is_flag)
{
	char *letter = w->letters;
	struct option *name = w->names;

	*w = (struct getopt_words){0};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const struct ctl_option *o = &options[i];

		if (o->takes == (is_flag ? TAKES_FORCE : TAKES_DETACH))
			continue;
		*name++ =
			(struct option){o->name, o->kind == FLAG ? no_argument : required_argument,
					NULL, FIRST + (int)i};
		if (o->letter)
			*letter++ = o->letter;
		if (o->letter && o->kind != FLAG)
			*letter++ = ':';
	}
}

static const struct ctl_option *option_of(int c)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (c == FIRST + (int)i || (options[i].letter && c == options[i].letter))
			return &options[i];
	return NULL;
}

int ctl_join(char *buf, size_t size, const char *text)
{
	const size_t len = strlen(buf);

	if (len + 1 + strlen(text) >= size) {
		ctl_complain("-o takes at most %zu bytes", size - 2);
		return CTL_USAGE;
	}
	snprintf(buf + len, size - len, "%s%s", len ? "," : "", text);
	return CTL_OK;
}

static int option_take(struct ctl_parsed *p, const struct ctl_option *o, const char *text)
{
	void *member = (char *)p + o->offset;
	struct ctl_list *list = member;

	p->given |= o->takes;
	if (o->kind == FLAG) {
		*(bool *)member = true;
	} else if (o->kind == TEXT) {
		*(const char **)member = text;
	} else if (o->kind == WORDS) {
		*(const char **)member = p->words;
		return ctl_join(p->words, sizeof(p->words), text);
	} else if (list->n == CTL_LIST_MAX) {
		ctl_complain("--%s can be given %d times", o->name, CTL_LIST_MAX);
		return CTL_USAGE;
	} else {
		list->items[list->n++] = text;
	}
	return CTL_OK;
}

int ctl_options_parse(int argc, char **argv, struct ctl_parsed *p, int *ret_first)
{
	struct getopt_words words;
	int c, r = CTL_OK;

	words_make(&words, force_is_flag(argc, argv));
	optind = 0; /* restarts getopt, because tests call this function more than once */
	while (r == CTL_OK &&
	       (c = getopt_long(argc, argv, words.letters, words.names, NULL)) != -1) {
		const struct ctl_option *o = option_of(c);

		if (o) {
			r = option_take(p, o, optarg);
			continue;
		}
		fputs("See 'plenum --help'.\n", stderr); /* getopt_long() has printed the error */
		r = CTL_USAGE;
	}
	*ret_first = optind;
	return r;
}

int ctl_take_number(const char *option, const char *text, unsigned long min, unsigned long max,
		    unsigned long *ret)
{
	char *end;

	if (!text)
		return CTL_OK;
	errno = 0;
	*ret = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *ret >= min && *ret <= max)
		return CTL_OK;
	ctl_complain("%s needs a number from %lu to %lu, found '%s'", option, min, max, text);
	return CTL_USAGE;
}

int ctl_take_process(const char *text, unsigned long *ret)
{
	char *end;

	*ret = 0;
	if (strcmp(text, "agent") == 0)
		return CTL_OK;
	errno = 0;
	*ret = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *ret >= 1 && *ret <= UINT32_MAX)
		return CTL_OK;
	ctl_complain(
		"'%.40s' is not the number of a worker; write a number from 'plenum processes', "
		"such as 1 for HOST/1, or the word agent",
		text);
	return CTL_USAGE;
}

int ctl_take_expect(const struct ctl_args *a, char ret[CTL_TAG_SIZE])
{
	const char *tag = a->expect;
	const size_t quote = tag && *tag == '"', n_digits = CTL_TAG_SIZE - 3;

	*ret = '\0';
	if (!tag)
		return CTL_OK;
	tag += quote;
	if (strspn(tag, "0123456789abcdef") == n_digits &&
	    strcmp(tag + n_digits, quote ? "\"" : "") == 0) {
		snprintf(ret, CTL_TAG_SIZE, "\"%.16s\"", tag);
		return CTL_OK;
	}
	ctl_complain("--expect needs a version of 16 digits from 0 to f, found '%.40s'; 'plenum "
		     "net show NAME' prints the version of a leg, 'plenum worker show ID' of a "
		     "worker, 'plenum plan' and 'plenum diff' of the configuration",
		     a->expect);
	return CTL_USAGE;
}
