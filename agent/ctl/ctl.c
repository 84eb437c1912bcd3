/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of the command line: the table of commands, the options that each takes, and their
 * help, so that the commands themselves never look at an argument that they did not ask for.
 */
#include "agent/ctl/ctl_options.h"

#include "netcfg/base/diag.h"
#include "plugins/plugins.h"
#include <string.h>

struct ctl_command {
	const char *words, *operands, *what;
	int min_operands, max_operands;
	unsigned takes;
	int (*run)(const struct ctl_args *a);
	const char *help;
};

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"

#define TABLE_HELP                                                                  \
	"\n"                                                                        \
	"  -o, --output LIST   columns, joined by commas\n"                         \
	"  -s, --sort COLUMN   by this one; -COLUMN: the other way round\n"         \
	"  -F, --filter COLUMN=TEXT, COLUMN!=TEXT, COLUMN~PART   only these rows\n" \
	"      --no-header     without headings\n"                                  \
	"      --csv           as comma-separated values\n"

#define NET_OPTIONS_HELP                                                                   \
	"      --network N   network that the device is connected to\n"                    \
	"      --label L     name of the switch behind it; --auto-label: as LLDP has it\n" \
	"      --ips LIST    data IPs: addresses and ranges, joined by commas\n"           \
	"      --vfs N       how many VFs it has, or auto\n"                               \
	"      --vf-spoof-check, --vf-trust on|off, --vf-rate MBPS  of each VF\n"          \
	"      --kernel-port HOW  DPDK without VFs: auto, af-packet or af-xdp\n"           \
	"      --shared-ip   data use the address that the host has on it\n"               \
	"      --soft-roce   RDMA in software, where it has none of its own\n"             \
	"      --dcb MAP     priorities and classes, as in a file: '{pfc: [3]}'\n"         \
	"      --ipoib-mode MODE  datagram or connected\n"                                 \
	"      --roce-mode VERSION, --roce-tos TOS  of RDMA connections by default\n"      \
	"      --rdma-off    no RDMA on it; --rdma-on: it is degraded where it has none\n" \
	"      --rdma-only   and bulk data of mounts wait for it\n"                        \
	"      --inet6       the addresses are IPv6\n\n"                                   \
	"A network of its own, named as --network has it or as the leg:\n"                 \
	"      --netmask M   of --ips: 255.255.0.0 or 16\n"                                \
	"      --gateway A   its router\n"                                                 \
	"      --vlan ID     its tag\n"

static int cmd_help(const struct ctl_args *a);

static const struct ctl_command commands[] = {
	{"processes", "[TABLE OPTION...]", "the agent and its workers", 0, 0, TAKES_TABLE,
	 ctl_cmd_processes,
	 "Lists the processes of this host: role, data IPs, status, how they send, core, memory\n"
	 "and uptime, and the reason where they send by less than was asked or is "
	 "possible.\n" TABLE_HELP},
	{"status", "", "legs, workers, paths", 0, 0, 0, ctl_cmd_status,
	 "Shows what was applied, the legs, how many workers are up, their paths to other\n"
	 "hosts, and the reasons for whatever is less than it should be. Exit status 2 means\n"
	 "that not all is well: the state is not running, or a worker, a leg or a path is\n"
	 "down. With -j the object says so, and the exit status is 0.\n"},
	{"events", "[--follow] [--since N]", "what happened", 0, 0, TAKES_FOLLOW | TAKES_SINCE,
	 ctl_cmd_events,
	 "Lists the events that the agent remembers.\n\n"
	 "  -f, --follow  go on with new ones until interrupted, over restarts of the agent; with "
	 "-j,\n"
	 "                one object per line\n"
	 "      --since N leave out those before number N\n"},
	{"net show", "[TABLE OPTION...]", "the data devices", 0, 0, TAKES_TABLE, ctl_cmd_net_show,
	 "Lists the data devices with their networks, labels, addresses and carriers, and what is\n"
	 "staged for each: '+' comes, '-' goes, '~' changes with the next apply.\n" TABLE_HELP},
	{"net add", "DEVICE [OPTION...]", "add a data device", 1, 1, TAKES_NET | TAKES_NAME,
	 ctl_cmd_net_add,
	 "Stages one more data device; 'plenum apply' puts it into force and writes it to\n"
	 "plenum.d/50-cli.yaml, 'plenum restore' forgets it. DEVICE is a PCI address, a MAC\n"
	 "address or an interface name.\n\n"
	 "      --name N      name of the leg (an interface's own name)\n" NET_OPTIONS_HELP},
	{"net set", "NAME [OPTION...]", "change a data device", 1, 1, TAKES_NET | TAKES_SET,
	 ctl_cmd_net_set,
	 "Stages changes to a data device, wherever it is written: no file but\n"
	 "plenum.d/50-cli.yaml is touched for it.\n\n"
	 "      --device D    another device\n"
	 "      --unset LIST  keys that are again as the file has them, or as by "
	 "default\n" NET_OPTIONS_HELP},
	{"net label", "NAME LABEL", "name the switch behind one", 2, 2, 0, ctl_cmd_net_label,
	 "Stages another label for a data device: the name of the switch behind it, or auto.\n"},
	{"net disable", "NAME", "take a data device out", 1, 1, 0, ctl_cmd_net_disable,
	 "Stages that a data device is left alone; it keeps its entry, its addresses and its\n"
	 "routing table.\n"},
	{"net enable", "NAME", "take it in again", 1, 1, 0, ctl_cmd_net_enable,
	 "Stages that a data device is configured again.\n"},
	{"net remove", "NAME", "remove a data device", 1, 1, 0, ctl_cmd_net_remove,
	 "Stages the removal of a data device that 'plenum net add' added; 'plenum apply' puts it\n"
	 "into force.\n"},
	{"restore", "", "forget what is staged", 0, 0, 0, ctl_cmd_restore,
	 "Forgets all that is staged: a whole configuration, and what 'plenum net' was to "
	 "change.\n"},
	{"inventory", "[TABLE OPTION...] [--snapshot FILE [CONFIG]]", "the devices of this host", 0,
	 1, TAKES_SNAPSHOT | TAKES_TABLE, ctl_cmd_inventory,
	 "Shows links, addresses, routes, rules, cores and huge pages of this host, and what its\n"
	 "data devices are good for; with -o, -F or --csv these alone. Needs neither agent nor\n"
	 "configuration nor privileges.\n" TABLE_HELP "\n"
	 "      --snapshot FILE  write it to FILE as JSON that can be shown to others: names,\n"
	 "                       MAC addresses, and IP addresses outside the networks of CONFIG\n"
	 "                       (" CONFIG_FILE ") are replaced; 'plenum plan --inventory'\n"
	 "                       plans from it, on any machine\n"},
	{"rdma devices", "[TABLE OPTION...]", "the RDMA devices", 0, 0, TAKES_TABLE,
	 ctl_cmd_rdma_devices,
	 "Lists the ports of RDMA devices with their links and legs, what they have carried, and\n"
	 "the counters of errors that are not zero; then their GIDs. With -j also firmware, "
	 "GUIDs\n"
	 "and all counters. Needs neither agent nor privileges.\n" TABLE_HELP},
	{"rdma ping", "PEER [--leg LEG] [--size BYTES] [--count N]", "try RDMA by each leg", 1, 1,
	 TAKES_LEG | TAKES_SIZE | TAKES_COUNT, ctl_cmd_rdma_ping,
	 "Has a worker that mounts from a peer try RDMA over each leg, in both directions: how\n"
	 "long transfers take one by one, and how much goes through four at a time; where there "
	 "is\n"
	 "none, why, and what the doctor finds. 'in': the peer writes into this host's memory, as\n"
	 "for reads of files; 'out': it reads from there. PEER is a name of peers, or an address.\n"
	 "Mounts go first: no more than a quarter of the time is used. Exit status 1: some "
	 "failed;\n"
	 "2: all of a leg. Wants the right to make changes.\n\n"
	 "      --leg LEG     by this one only\n"
	 "      --size BYTES  of each transfer: 64, and of those four at a time 65536\n"
	 "      --count N     how many one by one: 100\n"},
	{"plan", "[--inventory SNAPSHOT] [FILE]", "what apply would do", 0, 1, TAKES_INVENTORY,
	 ctl_cmd_plan,
	 "Shows the steps from what is there to what is wanted, each with its reason, and the\n"
	 "workers that would run. Changes nothing. Without FILE the agent is asked; where none\n"
	 "runs, and with FILE, the plan is made here.\n\n"
	 "      --inventory SNAPSHOT  plan for the host that this was taken of\n"},
	{"doctor", "[--peer HOST] [FILE]", "check everything, and say what to do", 0, 1, TAKES_PEER,
	 ctl_cmd_doctor,
	 "Checks what the data network needs of this host: kernel, cores, memory and more, as\n"
	 "plenum(1) lists it. Each check passes, warns, fails, or is unknown, with what was seen\n"
	 "and what to do. By the running configuration, or that of FILE (" CONFIG_FILE "\n"
	 "where no agent runs). Changes nothing; needs neither agent nor privileges, but sees "
	 "less\n"
	 "without. Exit status 2: a check failed; 1: one warns.\n\n"
	 "      --peer HOST   of peers only this one is asked: a name of peers, or an address\n"},
	{"ping", "PEER [--leg LEG] [--size BYTES | full] [--count N]", "ask a peer by each leg", 1,
	 1, TAKES_LEG | TAKES_SIZE | TAKES_COUNT, ctl_cmd_ping,
	 "Sends echo requests to a peer from the data IPs of each leg that leads there, one after\n"
	 "the other, and shows how long they took and how many were lost (no answer within\n"
	 "190 ms); and where some were, what the doctor finds of the way. PEER is a name of\n"
	 "peers or an address. Exit status 1: some were lost; 2: all of a leg. Wants root.\n\n"
	 "      --leg LEG     by this one only\n"
	 "      --size BYTES  of the IP packet, which nobody may cut: 84, or full: as large as\n"
	 "                    the leg carries\n"
	 "      --count N     how many by each: 10\n"},
	{"top", "[-b | --once] [--seconds N] [--count N] [--sort KEY]", "what goes on, live", 0, 0,
	 TAKES_TOP | TAKES_SORT | TAKES_SECONDS | TAKES_COUNT, ctl_cmd_top,
	 "Shows traffic, IOPS, latency and health of each leg, worker and peer, and in words what "
	 "is\n"
	 "wrong, until q is pressed (h: the keys); where there is no terminal, once as lines. "
	 "Goes\n"
	 "on over restarts of the agent. With -j one object a line.\n\n"
	 "  -b, --batch       lines, until interrupted\n"
	 "      --once        lines, once\n"
	 "      --count N     lines, so often\n"
	 "      --seconds N   between two answers, of which rates are made: 1\n"
	 "  -s, --sort KEY    health, name, traffic, latency or iops\n"},
	{"capture", "[--leg LEG] [--worker ID] [OPTION...] [-w FILE]", "packets of the workers", 0,
	 0, TAKES_LEG | TAKES_SIZE | TAKES_SECONDS | TAKES_CAPTURE, ctl_cmd_capture,
	 "Writes what the workers send and receive, by DPDK too, as pcapng for wireshark, tshark\n"
	 "and tcpdump, until a bound is reached or it is interrupted. The dissector is in\n"
	 "wireshark/plenum.lua. No packet waits for it: what there is no room for is left out\n"
	 "and counted. Wants the right to make changes.\n\n"
	 "  -w, --write FILE  - or none: standard output, which must be no terminal\n"
	 "      --leg LEG     by this one only\n"
	 "      --worker ID   of this one only, as 'plenum processes' has it\n"
	 "      --seconds N   so long: 60\n"
	 "      --packets N   so many\n"
	 "      --size N      so many MiB of file: 256\n"
	 "      --snap BYTES  of each packet, from 64 on, or full: 192\n"
	 "      --buffer N    MiB of memory for what is not written yet: 32\n"
	 "      --keys FILE   the keys of encrypted sessions go there, for the dissector; who\n"
	 "                    has both files reads users' data\n"},
	{"apply", "[--confirm TIME] [--dry-run] [--force NAME]", "do it", 0, 0,
	 TAKES_APPLY | TAKES_FORCE | TAKES_DRY_RUN, ctl_cmd_apply,
	 "Has the agent apply what is staged, or else the files as they are. What fails is rolled\n"
	 "back.\n\n"
	 "      --confirm TIME  roll it back unless 'plenum confirm' comes within TIME: 120s, 5m\n"
	 "      --dry-run     only show what would be done\n"
	 "      --force NAME  even though the host depends on it: NAME is the interface that the\n"
	 "                    refusal names, or what depends on it, such as default-route\n"},
	{"confirm", "[NUMBER] [--force files]", "keep the change that waits", 0, 1, TAKES_FORCE,
	 ctl_cmd_confirm,
	 "Keeps the change that 'plenum apply --confirm' made, or that policy.confirm lets wait:\n"
	 "that of NUMBER, as 'plenum status' has it, or where none is given your own.\n\n"
	 "      --force files  also where somebody has changed the files of the configuration\n"
	 "                    meanwhile; what he wrote stays beside them, with a ~\n"},
	{"rollback", "[NUMBER] [--confirm TIME] [--force NAME]", "undo a change", 0, 1,
	 TAKES_APPLY | TAKES_FORCE, ctl_cmd_rollback,
	 "Undoes the change that waits for its confirmation: that of NUMBER, or where none is\n"
	 "given your own. Where none waits, applies what ran before the one that runs, or what\n"
	 "apply NUMBER of 'plenum history' had applied; the files of the configuration stay as\n"
	 "they are. Options are those of apply.\n"},
	{"history", "[TABLE OPTION...]", "the last applies", 0, 0, TAKES_TABLE, ctl_cmd_history,
	 "Lists the last applies that somebody asked for: when, who, what was applied, and what\n"
	 "became of it.\n"},
	{"fault add", "[--leg LEG] [--peer PEER] WHAT... --ttl TIME", "harm packets on purpose", 0,
	 0, TAKES_LEG | TAKES_PEER | TAKES_FAULT, ctl_cmd_fault_add,
	 "Has the workers of this host lose, hold back, duplicate or reorder packets, so that you\n"
	 "see how the file system bears it. Only where policy.fault-injection is true. It ends by\n"
	 "itself, with the agent or without. RDMA does not pass by here.\n\n"
	 "      --leg LEG       only those of this leg\n"
	 "      --peer PEER     only those to and from a host: a name of peers, of a client, or "
	 "an\n"
	 "                      address\n"
	 "      --direction D   in, out or both; both where it is not given\n"
	 "      --drop SHARE    loses that many: 1%, 0.05%\n"
	 "      --blackhole     loses all\n"
	 "      --delay TIME    each comes that much later, each way: 2ms, 500us, 1s at most\n"
	 "      --duplicate SHARE, --reorder SHARE   that many come twice, or 2 ms late\n"
	 "      --ttl TIME      when it ends: 60s, 5m, 1h at most\n"},
	{"fault show", "[TABLE OPTION...]", "the faults on purpose", 0, 0, TAKES_TABLE,
	 ctl_cmd_fault_show,
	 "Lists the faults that there are, how long they last, and how many packets each has\n"
	 "touched.\n" TABLE_HELP},
	{"fault remove", "ID | all", "end one", 1, 1, 0, ctl_cmd_fault_remove,
	 "Ends a fault by its number in 'plenum fault show', or all of them.\n"},
	{"stop", "", "end workers, mounts and the agent", 0, 0, 0, ctl_cmd_stop,
	 "Unmounts what is mounted, ends the workers, then the agent. The network stays as it is.\n"
	 "Ending the agent alone, as 'systemctl stop plenumd' does, leaves workers and mounts.\n"},
	{"validate", "[FILE]", "check a configuration", 0, 1, 0, ctl_cmd_validate,
	 "Checks a configuration, with the *.yaml of plenum.d beside it, and prints every error.\n"
	 "FILE is " CONFIG_FILE " where none is given; - is standard input.\n"},
	{"config show", "[FILE | --running | --staged]", "print a configuration in full", 0, 1,
	 TAKES_WHICH, ctl_cmd_config_show,
	 "Prints a configuration in its normal form: every key, with defaults filled in.\n"
	 "FILE is " CONFIG_FILE " where none is given; - is standard input.\n\n"
	 "      --running   what the agent applied last\n"
	 "      --staged    what it would apply next\n"},
	{"config generate", "", "write a first configuration", 0, 0, 0, ctl_cmd_config_generate,
	 "Prints a first configuration, made from the devices of this host. It asks only for what\n"
	 "the plan of this host accepts; what it does not take stands in comments, with the "
	 "reason.\n"},
	{"diff", "[FILE]", "compare with what runs", 0, 1, 0, ctl_cmd_diff,
	 "Compares the normal forms of the running and the staged configuration, and the running\n"
	 "one with the host: what others have changed, as the steps that would bring it back.\n"
	 "With FILE, the running configuration with that. Exit status 1 means that they differ.\n"},
	{"config stage", "FILE", "hand a configuration to the agent", 1, 1, 0, ctl_cmd_config_stage,
	 "Gives the agent a whole configuration to be applied by 'plenum apply': it then takes "
	 "the\n"
	 "place of plenum.yaml and of all of plenum.d. - is standard input.\n"},
	{"config schema", "", "print the JSON Schema", 0, 0, 0, ctl_cmd_config_schema,
	 "Prints the JSON Schema of plenum.yaml, for editors.\n"},
	{"secret generate", "[FILE]", "make the key of a cluster", 0, 1, 0, ctl_cmd_secret_generate,
	 "Makes a file with a new random key, which the hosts of a cluster share: copy it to all\n"
	 "of them, and name it as cluster.secret-file. FILE is " CTL_SECRET_FILE "\n"
	 "where none is given. A file that is there is left as it is.\n"},
	{"secret add", "[FILE]", "make its next key", 0, 1, 0, ctl_cmd_secret_add,
	 "The first step of a change of key: adds a new key behind the one in use. Copy FILE to\n"
	 "all hosts and 'plenum apply' there; then all accept both.\n"},
	{"secret switch", "[FILE]", "use its next key", 0, 1, 0, ctl_cmd_secret_switch,
	 "The second step: puts the second key first, so that it is the one in use. Copy FILE to\n"
	 "all hosts and 'plenum apply' there, in any order.\n"},
	{"secret drop", "[FILE]", "forget its former key", 0, 1, 0, ctl_cmd_secret_drop,
	 "The last step: takes the second key away, so that it opens nothing any more. Copy FILE\n"
	 "to all hosts and 'plenum apply' there.\n"},
	{"help", "[COMMAND]", "what a command does", 0, 2, 0, cmd_help,
	 "Says what a command does, or lists all commands; 'plenum COMMAND --help' does the "
	 "same.\n"},
	{"version", "", "print the version", 0, 0, 0, ctl_cmd_version,
	 "Prints the version of this program.\n"},
};

static void print_usage(FILE *out)
{
	fputs("Usage: plenum [--socket PATH] [-j] COMMAND [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-16s %s\n", commands[i].words, commands[i].what);
	fputs("\n"
	      "  -j, --json       print JSON\n"
	      "      --socket PATH  the agent's socket (" CTL_SOCKET ", or PLENUM_SOCKET)\n"
	      "  -h, --help       after a command: what it does, as 'plenum help COMMAND'\n\n"
	      "Exit status: 0 done, 1 differences or warnings, 2 not all is well, 3 rolled back, "
	      "64\n"
	      "wrong usage, 65 errors in a configuration or request, 66 not there, 69 no agent, 70 "
	      "the\n"
	      "agent failed, 71 the host cannot be read, 74 output failed, 75 another change is\n"
	      "under way, 77 no permission. See plenum(1).\n",
	      out);
}

static void print_help(const struct ctl_command *c)
{
	printf("Usage: plenum %s%s%s [-j]\n\n%s", c->words, *c->operands ? " " : "", c->operands,
	       c->help);
}

/* The command whose words the operands begin with; *ret_words is how many they are. */
static const struct ctl_command *find_command(char **operands, int n, int *ret_words)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *space = strchr(commands[i].words, ' ');
		size_t len = space ? (size_t)(space - commands[i].words) : 0;

		if (!space && n >= 1 && strcmp(operands[0], commands[i].words) == 0) {
			*ret_words = 1;
			return &commands[i];
		}
		if (space && n >= 2 && strlen(operands[0]) == len &&
		    strncmp(operands[0], commands[i].words, len) == 0 &&
		    strcmp(operands[1], space + 1) == 0) {
			*ret_words = 2;
			return &commands[i];
		}
	}
	return NULL;
}

/* Whether `word` is the first of the two words of some commands. */
static bool is_group(const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strncmp(commands[i].words, word, len) == 0 && commands[i].words[len] == ' ')
			return true;
	return false;
}

static void print_group(const char *word, FILE *out)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strncmp(commands[i].words, word, len) == 0 && commands[i].words[len] == ' ')
			fprintf(out, "  plenum %-16s %s\n", commands[i].words, commands[i].what);
}

/* At least one operand, which no command begins with. */
static int complain_unknown(char **operands, int n)
{
	const char *words[ARRAY_SIZE(commands)], *near = NULL;
	bool group = is_group(operands[0]);
	char typed[80];

	if (group && n == 1) {
		fprintf(stderr, "plenum: '%s' wants one more word:\n", operands[0]);
		print_group(operands[0], stderr);
		return CTL_USAGE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		words[i] = commands[i].words;
	/* The one word, and where that is like none of them the two. */
	for (int n_typed = group ? 2 : 1; !near && n_typed <= MIN_OF(n, 2); n_typed++) {
		snprintf(typed, sizeof(typed), "%.38s%s%.38s", operands[0], n_typed > 1 ? " " : "",
			 n_typed > 1 ? operands[1] : "");
		near = diag_suggest(typed, words, ARRAY_SIZE(words));
	}
	if (near)
		ctl_complain("there is no command '%s'; did you mean '%s'?", typed, near);
	else
		ctl_complain("there is no command '%s'; see 'plenum%s%s --help'", typed,
			     group ? " " : "", group ? operands[0] : "");
	return CTL_USAGE;
}

/* Of all commands, of those that begin with a word, or of one. */
static int give_help(char **operands, int n)
{
	int n_words = 0;
	const struct ctl_command *c = find_command(operands, n, &n_words);

	if (n == 0)
		print_usage(stdout);
	else if (c)
		print_help(c);
	else if (n == 1 && is_group(operands[0]))
		print_group(operands[0], stdout);
	else
		return complain_unknown(operands, n);
	return CTL_OK;
}

static int cmd_help(const struct ctl_args *a)
{
	return give_help(a->operands, a->n_operands);
}

static int run_command(struct ctl_parsed *p, char **operands, int n)
{
	int n_words = 0;
	const struct ctl_command *c = find_command(operands, n, &n_words);

	if (p->version)
		return ctl_cmd_version(&p->args);
	/* 'plenum help X --help' asks for X, not for the word. */
	if (p->help && !(c && c->run == cmd_help))
		return give_help(operands, n);
	if (n == 0) {
		print_usage(stderr);
		return CTL_USAGE;
	}
	if (!c)
		return complain_unknown(operands, n);
	p->args.operands = operands + n_words;
	p->args.n_operands = n - n_words;
	if (p->args.n_operands < c->min_operands || p->args.n_operands > c->max_operands ||
	    (p->given & ~c->takes)) {
		ctl_complain("usage: plenum %s%s%s; see 'plenum %s --help'", c->words,
			     *c->operands ? " " : "", c->operands, c->words);
		return CTL_USAGE;
	}
	if (p->args.json && (p->given & c->takes & TAKES_TABLE) && c->run != ctl_cmd_top) {
		ctl_complain("-j prints all as JSON; leave out what is for tables");
		return CTL_USAGE;
	}
	return c->run(&p->args);
}

int ctl_run(int argc, char **argv)
{
	const char *socket = getenv("PLENUM_SOCKET");
	struct ctl_parsed p = {.args.socket = socket && *socket ? socket : CTL_SOCKET};
	int first, r = ctl_options_parse(argc, argv, &p, &first);

	if (r != CTL_OK)
		return r;
	plugins_register();
	r = run_command(&p, argv + first, argc - first);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		ctl_complain("the result cannot be written: %s", strerror(errno));
		return CTL_IO;
	}
	return r;
}

int ctl_cmd_version(const struct ctl_args *a)
{
	if (a->json)
		printf("{\"version\": \"%s\"}\n", PLENUM_VERSION);
	else
		printf("plenum %s\n", PLENUM_VERSION);
	return CTL_OK;
}
