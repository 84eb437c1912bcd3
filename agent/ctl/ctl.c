/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of commands: their names, options and help. A command sees only the options that its
 * row allows.
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

#define TABLE_HELP                                                                           \
	"\n"                                                                                 \
	"  -o, --output LIST   columns to print, comma-separated\n"                          \
	"  -s, --sort COLUMN   sort by this column; -COLUMN sorts in reverse\n"              \
	"  -F, --filter COLUMN=TEXT, COLUMN!=TEXT, COLUMN~PART   print matching rows only\n" \
	"      --no-header     print no headings\n"                                          \
	"      --csv           print comma-separated values\n"

#define NET_OPTIONS_HELP                                                                       \
	"      --network N   network that the device is connected to\n"                        \
	"      --label L     name of the switch behind it; --auto-label: as LLDP reports it\n" \
	"      --ips LIST    data IPs: addresses and ranges, comma-separated\n"                \
	"      --vfs N       number of VFs, or auto\n"                                         \
	"      --vf-spoof-check, --vf-trust on|off, --vf-rate MBPS  settings of each VF\n"     \
	"      --kernel-port HOW  DPDK without VFs: auto, af-packet or af-xdp\n"               \
	"      --shared-ip   use the address that the host has on the device\n"                \
	"      --soft-roce   RDMA in software if the device has none\n"                        \
	"      --dcb MAP     priorities and traffic classes, in YAML: '{pfc: [3]}'\n"          \
	"      --ipoib-mode MODE  datagram or connected\n"                                     \
	"      --roce-mode VERSION, --roce-tos TOS  defaults of RDMA connections\n"            \
	"      --rdma-off    do not use RDMA; --rdma-on: the leg is degraded without RDMA\n"   \
	"      --rdma-only   as --rdma-on, and bulk data of mounts wait for RDMA\n"            \
	"      --inet6       the addresses are IPv6\n\n"                                       \
	"A new network for the leg, named as in --network or as the leg:\n"                    \
	"      --netmask M   netmask of --ips: 255.255.0.0 or 16\n"                            \
	"      --gateway A   address of its router\n"                                          \
	"      --vlan ID     VLAN tag\n"

static int cmd_help(const struct ctl_args *a);

static const struct ctl_command commands[] = {
	{"processes", "[TABLE OPTION...]", "list the agent and its workers", 0, 0, TAKES_TABLE,
	 ctl_cmd_processes,
	 "Lists the processes of this host: role, data IPs, status, transport, core, memory "
	 "and\nuptime, and the reason if the transport is not the one asked for or the best "
	 "possible.\n" TABLE_HELP},
	{"status", "", "show the state of legs, workers and paths", 0, 0, 0, ctl_cmd_status,
	 "Shows the last apply, the legs, how many workers are up, their paths to other "
	 "hosts,\nand the reasons for every problem. Exit status 2: there is a problem: the state "
	 "is not\nrunning, or a worker, a leg or a path is down. With -j the object holds the "
	 "state and\nthe exit status is 0.\n"},
	{"events", "[--follow] [--since N]", "list what happened", 0, 0, TAKES_FOLLOW | TAKES_SINCE,
	 ctl_cmd_events,
	 "Lists the events that the agent remembers.\n\n  -f, --follow  print new events until "
	 "interrupted, across restarts of the agent; with -j\n                one object per "
	 "line\n      --since N omit events before number N\n"},
	{"net show", "[TABLE OPTION...]", "list the legs", 0, 0, TAKES_TABLE, ctl_cmd_net_show,
	 "Lists the legs with their devices, networks, labels, addresses and carriers, and "
	 "the\nstaged change of each: '+' added, '-' removed, '~' changed by the next "
	 "apply.\n" TABLE_HELP},
	{"net add", "DEVICE [OPTION...]", "stage a new leg", 1, 1, TAKES_NET | TAKES_NAME,
	 ctl_cmd_net_add,
	 "Stages a new leg on a device. 'plenum apply' puts it into force and writes it "
	 "to\nplenum.d/50-cli.yaml; 'plenum restore' discards it. DEVICE is a PCI address, a "
	 "MAC\naddress or an interface name.\n\n      --name N      name of the leg; default: the "
	 "interface name\n" NET_OPTIONS_HELP},
	{"net set", "NAME [OPTION...]", "stage changes to a leg", 1, 1, TAKES_NET | TAKES_SET,
	 ctl_cmd_net_set,
	 "Stages changes to a leg, in whichever file it is configured; the changes are written "
	 "to\nplenum.d/50-cli.yaml only.\n\n      --device D    use another device\n      --unset "
	 "LIST  keys to reset to the value in the file, or to the default\n" NET_OPTIONS_HELP},
	{"net label", "NAME LABEL", "stage the label of a leg", 2, 2, 0, ctl_cmd_net_label,
	 "Stages another label for a leg: the name of the switch behind it, or auto.\n"},
	{"net disable", "NAME", "stage taking a leg out of use", 1, 1, 0, ctl_cmd_net_disable,
	 "Stages that a leg is not used. It keeps its entry, its addresses and its routing "
	 "table.\n"},
	{"net enable", "NAME", "stage taking a leg into use", 1, 1, 0, ctl_cmd_net_enable,
	 "Stages that a disabled leg is used again.\n"},
	{"net remove", "NAME", "stage the removal of a leg", 1, 1, 0, ctl_cmd_net_remove,
	 "Stages the removal of a leg that 'plenum net add' added; 'plenum apply' puts it "
	 "into\nforce.\n"},
	{"restore", "", "discard staged changes", 0, 0, 0, ctl_cmd_restore,
	 "Discards everything that is staged: a whole configuration and the changes of\n'plenum "
	 "net'.\n"},
	{"inventory", "[TABLE OPTION...] [--snapshot FILE [CONFIG]]",
	 "list the devices of this host", 0, 1, TAKES_SNAPSHOT | TAKES_TABLE, ctl_cmd_inventory,
	 "Shows links, addresses, routes, rules, cores and huge pages of this host, and what "
	 "each\ndevice can be used for; with -o, -F or --csv only the devices. Needs no agent, "
	 "no\nconfiguration and no privileges.\n" TABLE_HELP
	 "\n      --snapshot FILE  write the inventory to FILE as JSON without private data: "
	 "names,\n                       MAC addresses, and IP addresses outside the networks of "
	 "CONFIG\n                       (" CONFIG_FILE
	 ") are replaced; 'plenum plan --inventory'\n                       makes plans from it on "
	 "any machine\n"},
	{"rdma devices", "[TABLE OPTION...]", "list the RDMA devices", 0, 0, TAKES_TABLE,
	 ctl_cmd_rdma_devices,
	 "Lists the ports of RDMA devices with their links and legs, the data they carried and "
	 "the\nerror counters that are not zero; then their GIDs. With -j also firmware, GUIDs and "
	 "all\ncounters. Needs no agent and no privileges.\n" TABLE_HELP},
	{"rdma ping", "PEER [--leg LEG] [--size BYTES] [--count N]",
	 "measure RDMA to a peer, leg by leg", 1, 1, TAKES_LEG | TAKES_SIZE | TAKES_COUNT,
	 ctl_cmd_rdma_ping,
	 "Makes a worker that mounts from the peer measure RDMA over each leg, in both "
	 "directions:\nlatency of single transfers and throughput of four at a time. Where RDMA "
	 "does not work,\nshows the reason and what the doctor finds. Direction 'in': the peer "
	 "writes into this\nhost's memory, as for file reads; 'out': it reads from there. PEER is "
	 "a name in peers or\nan address. Mounts have priority: the test uses at most a quarter of "
	 "the time. Needs the\nright to make changes. Exit status 1: some transfers failed; 2: all "
	 "transfers of a leg\nfailed.\n\n      --leg LEG     test this leg only\n      --size "
	 "BYTES  size of each transfer; default 64, and 65536 for four at a time\n      --count N  "
	 "   number of single transfers; default 100\n"},
	{"plan", "[--inventory SNAPSHOT] [FILE]", "show what apply would do", 0, 1, TAKES_INVENTORY,
	 ctl_cmd_plan,
	 "Shows the steps from the actual to the desired state, each with its reason, and "
	 "the\nworkers that would run. Changes nothing. Without FILE the agent makes the plan; if "
	 "none\nruns, or with FILE, this command makes it.\n\n      --inventory SNAPSHOT  plan for "
	 "the host on which the snapshot was made\n"},
	{"doctor", "[--peer HOST] [FILE]", "check the host and say what to fix", 0, 1, TAKES_PEER,
	 ctl_cmd_doctor,
	 "Checks everything on this host that the data network depends on: kernel, cores, "
	 "memory\nand more; plenum(1) lists the checks. Each check passes, warns, fails or is "
	 "unknown, and\nreports its finding and the remedy. Uses the running configuration, or "
	 "FILE\n(" CONFIG_FILE
	 " if no agent runs). Changes nothing. Needs no agent and no\nprivileges, but finds less "
	 "without. Exit status 2: a check failed; 1: a check warns.\n\n      --peer HOST   probe "
	 "this peer only: a name in peers, or an address\n"},
	{"ping", "PEER [--leg LEG] [--size BYTES | full] [--count N]",
	 "measure round trips to a peer, leg by leg", 1, 1, TAKES_LEG | TAKES_SIZE | TAKES_COUNT,
	 ctl_cmd_ping,
	 "Sends echo requests to a peer from the data IPs of each leg that leads there, one "
	 "after\nthe other, and shows the round trip times and how many requests were lost (no "
	 "answer\nwithin 190 ms); for losses also what the doctor finds on the path. PEER is a "
	 "name in\npeers or an address. Needs root. Exit status 1: some requests were lost; 2: all "
	 "requests\nof a leg were lost.\n\n      --leg LEG     use this leg only\n      --size "
	 "BYTES  size of the IP packet, sent without fragmentation; default 84;\n                  "
	 "  full: the MTU of the leg\n      --count N     number of requests for each leg; default "
	 "10\n"},
	{"top", "[-b | --once] [--seconds N] [--count N] [--sort KEY]",
	 "show live traffic and health", 0, 0, TAKES_TOP | TAKES_SORT | TAKES_SECONDS | TAKES_COUNT,
	 ctl_cmd_top,
	 "Shows traffic, IOPS, latency and health of each leg, worker and peer, and describes "
	 "every\nproblem, until q is pressed (h lists the keys); without a terminal prints lines "
	 "once.\nContinues across restarts of the agent. With -j one object per line.\n\n  -b, "
	 "--batch       print lines until interrupted\n      --once        print lines once\n      "
	 "--count N     print lines N times\n      --seconds N   time between two samples, over "
	 "which rates are averaged; default 1\n  -s, --sort KEY    health, name, traffic, latency "
	 "or iops\n"},
	{"capture", "[--leg LEG] [--worker ID] [OPTION...] [-w FILE]",
	 "write the workers' packets to a file", 0, 0,
	 TAKES_LEG | TAKES_SIZE | TAKES_SECONDS | TAKES_CAPTURE, ctl_cmd_capture,
	 "Writes what the workers send and receive, also via DPDK, as pcapng for wireshark, "
	 "tshark\nand tcpdump, until a limit is reached or it is interrupted. The dissector is "
	 "in\nwireshark/plenum.lua. Packets are never delayed: packets that do not fit in the "
	 "buffer\nare left out and counted. Needs the right to make changes.\n\n  -w, --write FILE "
	 " output file; -: standard output (default), not a terminal\n      --leg LEG     capture "
	 "on this leg only\n      --worker ID   capture this worker only, by its ID in 'plenum "
	 "processes'\n      --seconds N   stop after this time; default 60\n      --packets N   "
	 "stop after this many packets\n      --size N      stop at this file size in MiB; default "
	 "256\n      --snap BYTES  bytes to keep of each packet, at least 64, or full; default "
	 "192\n      --buffer N    buffer in MiB for packets not yet written; default 32\n      "
	 "--keys FILE   write the keys of encrypted sessions to FILE for the dissector;\n          "
	 "          both files together reveal users' data\n"},
	{"apply", "[--confirm TIME] [--dry-run] [--force NAME]", "apply the staged configuration",
	 0, 0, TAKES_APPLY | TAKES_FORCE | TAKES_DRY_RUN, ctl_cmd_apply,
	 "Makes the agent apply the staged configuration, or the files if nothing is staged. "
	 "A\nfailed apply is rolled back.\n\n      --confirm TIME  roll back unless 'plenum "
	 "confirm' follows within TIME: 120s, 5m\n      --dry-run     only show what would be "
	 "done\n      --force NAME  apply even if the host depends on it; NAME is the interface "
	 "named by\n                    the refusal, or what depends on it, such as "
	 "default-route\n"},
	{"confirm", "[NUMBER] [--force files]", "keep a change that waits for confirmation", 0, 1,
	 TAKES_FORCE, ctl_cmd_confirm,
	 "Keeps the change that waits for confirmation because of 'plenum apply --confirm' "
	 "or\npolicy.confirm: the change with NUMBER in 'plenum status', by default your own.\n\n  "
	 "    --force files  confirm even if the configuration files have changed meanwhile;\n     "
	 "               the changed files are kept beside, with ~ in their name\n"},
	{"rollback", "[NUMBER] [--confirm TIME] [--force NAME]", "undo a change", 0, 1,
	 TAKES_APPLY | TAKES_FORCE, ctl_cmd_rollback,
	 "Undoes the change that waits for confirmation: the change with NUMBER, by default "
	 "your\nown. If no change waits, applies the configuration before the running one, or that "
	 "of\napply NUMBER in 'plenum history'; the configuration files stay as they are. The "
	 "options\nare those of apply.\n"},
	{"history", "[TABLE OPTION...]", "list the last applies", 0, 0, TAKES_TABLE,
	 ctl_cmd_history,
	 "Lists the last applies: time, user, configuration and outcome. Applies that the "
	 "agent\nstarted by itself are not listed.\n"},
	{"fault add", "[--leg LEG] [--peer PEER] WHAT... --ttl TIME",
	 "inject packet loss, delay, reordering", 0, 0, TAKES_LEG | TAKES_PEER | TAKES_FAULT,
	 ctl_cmd_fault_add,
	 "Makes the workers of this host drop, delay, duplicate or reorder packets, to test "
	 "how\nthe file system copes. Needs policy.fault-injection: true. A fault ends when its "
	 "time is\nover, even if the agent does not run. RDMA traffic is not affected.\n\n      "
	 "--leg LEG       packets of this leg only\n      --peer PEER     packets to and from one "
	 "host only: a name in peers, a client's\n                      name, or an address\n      "
	 "--direction D   in, out or both; default both\n      --drop SHARE    drop this share of "
	 "packets: 1%, 0.05%\n      --blackhole     drop all packets\n      --delay TIME    delay "
	 "each packet by TIME in each direction: 2ms, 500us; at most 1s\n      --duplicate SHARE, "
	 "--reorder SHARE   duplicate, or delay by 2 ms, this share\n      --ttl TIME      end the "
	 "fault after TIME: 60s, 5m; at most 1h\n"},
	{"fault show", "[TABLE OPTION...]", "list the injected faults", 0, 0, TAKES_TABLE,
	 ctl_cmd_fault_show,
	 "Lists the injected faults, their remaining time, and how many packets each "
	 "affected.\n" TABLE_HELP},
	{"fault remove", "ID | all", "end an injected fault", 1, 1, 0, ctl_cmd_fault_remove,
	 "Ends a fault by its ID in 'plenum fault show', or all faults.\n"},
	{"stop", "", "end mounts, workers and the agent", 0, 0, 0, ctl_cmd_stop,
	 "Unmounts all mounts, ends the workers, then the agent. The network stays as it is. "
	 "To\nend the agent only, use 'systemctl stop plenumd': workers and mounts keep "
	 "running.\n"},
	{"validate", "[FILE]", "check a configuration", 0, 1, 0, ctl_cmd_validate,
	 "Checks a configuration, together with the *.yaml of plenum.d beside it, and prints "
	 "every\nerror. FILE defaults to " CONFIG_FILE "; - is standard input.\n"},
	{"config show", "[FILE | --running | --staged]", "print a complete configuration", 0, 1,
	 TAKES_WHICH, ctl_cmd_config_show,
	 "Prints a configuration in normal form: every key, with defaults filled in. FILE "
	 "defaults\nto " CONFIG_FILE
	 "; - is standard input.\n\n      --running   the configuration that the agent applied "
	 "last\n      --staged    the configuration that it would apply next\n"},
	{"config generate", "", "print a first configuration", 0, 0, 0, ctl_cmd_config_generate,
	 "Prints a first configuration for the devices of this host. It uses only what the plan "
	 "of\nthis host accepts; the rest is in comments with the reason.\n"},
	{"diff", "[FILE]", "compare configurations and the host", 0, 1, 0, ctl_cmd_diff,
	 "Compares the running configuration with the staged one, or with FILE, both in "
	 "normal\nform. Without FILE also compares the host with the running configuration: the "
	 "steps that\nwould undo foreign changes. Exit status 1: there are differences.\n"},
	{"config stage", "FILE", "stage a whole configuration", 1, 1, 0, ctl_cmd_config_stage,
	 "Stages a whole configuration for 'plenum apply', in place of plenum.yaml and of all "
	 "files\nin plenum.d. FILE - is standard input.\n"},
	{"config schema", "", "print the JSON Schema", 0, 0, 0, ctl_cmd_config_schema,
	 "Prints the JSON Schema of plenum.yaml, for editors.\n"},
	{"secret generate", "[FILE]", "create a cluster key", 0, 1, 0, ctl_cmd_secret_generate,
	 "Creates a file with a new random key, which all hosts of a cluster share: copy it to "
	 "all\nof them, and name it in cluster.secret-file. FILE defaults to\n" CTL_SECRET_FILE
	 ". An existing file is not overwritten.\n"},
	{"secret add", "[FILE]", "add the next cluster key", 0, 1, 0, ctl_cmd_secret_add,
	 "First step of a key change: adds a new key after the one in use. Then copy FILE to "
	 "all\nhosts and run 'plenum apply' there: all hosts accept both keys.\n"},
	{"secret switch", "[FILE]", "use the next cluster key", 0, 1, 0, ctl_cmd_secret_switch,
	 "Second step of a key change: moves the second key first, which puts it into use. "
	 "Then\ncopy FILE to all hosts and run 'plenum apply' there, in any order.\n"},
	{"secret drop", "[FILE]", "remove the former cluster key", 0, 1, 0, ctl_cmd_secret_drop,
	 "Last step of a key change: removes the second key, which is then no longer "
	 "accepted.\nThen copy FILE to all hosts and run 'plenum apply' there.\n"},
	{"help", "[COMMAND]", "explain a command", 0, 2, 0, cmd_help,
	 "Explains a command, or lists all commands. Same as 'plenum COMMAND --help'.\n"},
	{"version", "", "print the version", 0, 0, 0, ctl_cmd_version,
	 "Prints the version of this program.\n"},
};

static void print_usage(FILE *out)
{
	fputs("Usage: plenum [--socket PATH] [-j] COMMAND [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-16s %s\n", commands[i].words, commands[i].what);
	fputs("\n  -j, --json       print JSON\n      --socket PATH  the agent's socket "
	      "(" CTL_SOCKET
	      ", or PLENUM_SOCKET)\n  -h, --help       explain the command, as 'plenum help "
	      "COMMAND'\n\nExit status: 0 success, 1 differences or warnings, 2 problems found, 3 "
	      "rolled back, 64\nwrong usage, 65 invalid configuration or request, 66 not found, 69 "
	      "no agent, 70 the agent\nfailed, 71 the host cannot be read, 74 output failed, 75 "
	      "another change is in progress,\n77 no permission. See plenum(1).\n",
	      out);
}

static void print_help(const struct ctl_command *c)
{
	printf("Usage: plenum %s%s%s [-j]\n\n%s", c->words, *c->operands ? " " : "", c->operands,
	       c->help);
}

/* Finds the command at the start of the operands; *ret_words: how many of them it takes. */
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

/* The operands (at least one) start with no known command. */
static int complain_unknown(char **operands, int n)
{
	const char *words[ARRAY_SIZE(commands)], *near = NULL;
	bool group = is_group(operands[0]);
	char typed[80];

	if (group && n == 1) {
		fprintf(stderr, "plenum: '%s' needs one more word:\n", operands[0]);
		print_group(operands[0], stderr);
		return CTL_USAGE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		words[i] = commands[i].words;
	/* Compares the first word alone; if nothing is similar, both words. */
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

/* Help for all commands, for the commands that start with a word, or for one. */
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
	/* 'plenum help X --help' explains X, not the command help. */
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
		ctl_complain("-j prints everything as JSON; remove the table options");
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
		ctl_complain("cannot write the result: %s", strerror(errno));
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
