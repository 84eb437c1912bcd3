/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of commands: their names, options and help. A command gets only the options that its
 * row allows.
 */
#include "agent/ctl/ctl_options.h"
#include "agent/ctl/ctl_remote.h"

#include "plugins/plugins.h"
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WATCH_S_MAX 3600
#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"

/* Help texts, as they are printed. */
/* clang-format off */
#define TABLE_HELP \
	"\n" \
	"  -o, --output LIST   columns to print, comma-separated; wide: all\n" \
	"  -s, --sort COLUMN   sort by this column; -COLUMN sorts in reverse\n" \
	"  -F, --filter COLUMN=TEXT, COLUMN!=TEXT, COLUMN~PART   print only rows that match\n" \
	"      --no-header     leave out the headings\n" \
	"      --csv           print comma-separated values\n" \
	"      --watch N       print again every N seconds, until interrupted\n"

static const struct resource_command local_texts[] = {
	{"inventory", "[TABLE OPTION...] [--snapshot FILE [CONFIG]]", "list the devices of this host",
	 "Shows links, addresses, routes, rules, cores and hugepages of this host, and the uses that\n"
	 "a leg could have for each device; with -o, -F or --csv only the devices. Needs no agent,\n"
	 "no configuration and no privileges.\n\n"
	 "      --snapshot FILE  write the inventory to FILE as JSON without private data: names,\n"
	 "                       MAC addresses, and IP addresses outside the networks of CONFIG\n"
	 "                       ("
	 CONFIG_FILE
	 ") are replaced; 'plenum plan --inventory'\n"
	 "                       makes plans from it on any machine\n"},
	{"rdma devices", "[TABLE OPTION...]", "list the RDMA devices",
	 "Lists the ports of RDMA devices with their links and legs, their traffic and the error\n"
	 "counters that are not zero; then their addresses (GIDs). With -j also firmware, GUIDs and\n"
	 "all counters. Needs no agent and no privileges.\n"},
	{"plan", "[--inventory SNAPSHOT] [FILE]", "show what an apply would do",
	 "Shows the steps from the actual to the desired state, each with its reason, and the\n"
	 "workers that would run. Changes nothing. Without FILE the agent makes the plan; if no\n"
	 "agent runs, or with FILE, this command makes it.\n\n"
	 "      --inventory SNAPSHOT  plan for the host on which the snapshot was made\n"},
	{"doctor", "[--bad | --all] [--peer HOST] [SUBJECT | FILE]", "check the host and say what to fix",
	 "Checks everything on this host that the data network depends on: kernel, cores, memory\n"
	 "and more; plenum(1) lists the checks. Each check passes, warns, fails or is unknown, and\n"
	 "reports its finding and the remedy. Uses the running configuration, or FILE\n"
	 "(" CONFIG_FILE " if no agent runs). Changes nothing. Needs no agent and no\n"
	 "privileges, but finds less without them. Exit status 2: a check failed; 1: a check warned.\n"
	 "SUBJECT, such as legs or kernel, selects the checks below that heading.\n\n"
	 "      --bad         leave out checks that pass: the default on a terminal\n"
	 "      --all         show all checks: the default without a terminal\n"
	 "      --peer HOST   probe this peer only: a name in peers, or an address\n"},
	{"ping", "PEER [--leg LEG] [--size BYTES | full] [--count N]", "measure round trips to a peer on each leg",
	 "Sends echo requests to a peer from the data IPs of each leg that leads to the peer, one\n"
	 "leg after the other, and shows the round-trip times and how many requests were lost (no\n"
	 "answer within 190 ms). If requests were lost, also prints the findings of the doctor. PEER is\n"
	 "a name in peers, a host with a session, or an address. Needs root. Exit status 1: some\n"
	 "requests were lost; 2: all requests of a leg were lost.\n\n"
	 "      --leg LEG     use this leg only\n"
	 "      --size BYTES  size of the IP packet, sent without fragmentation; default 84;\n"
	 "                    full: the MTU of the leg\n"
	 "      --count N     number of requests for each leg; default 10\n"},
	{"top", "[-b | --once] [--seconds N] [--count N] [--sort KEY]", "show live traffic and health",
	 "Shows traffic, IOPS, latency and health of each leg, worker and peer, and describes every\n"
	 "problem, until q is pressed (h lists the keys); without a terminal prints lines once.\n"
	 "Continues across restarts of the agent. With -j one object per line.\n\n"
	 "  -b, --batch       print lines until interrupted\n"
	 "      --once        print lines once\n"
	 "      --count N     print lines N times\n"
	 "      --seconds N   time between two samples, over which rates are averaged; default 1\n"
	 "  -s, --sort KEY    health, name, traffic, latency or iops\n"},
	{"support", "[FILE]", "collect all reports in one archive",
	 "Writes an archive (tar, gzip) for a person who looks for a fault without access to this\n"
	 "host: state, events, history, configuration, plan, inventory, doctor's report, metrics, the\n"
	 "headers of two seconds of packets, and the logs of agent and kernel. Its contents.txt lists\n"
	 "the reports; a report that fails does not stop the others. The archive has no keys and no\n"
	 "tokens, but names, addresses and logs. Takes half a minute; an existing FILE is not\n"
	 "overwritten. FILE defaults to plenum-support-HOST-TIME.tar.gz in the current folder. Needs no\n"
	 "agent and no privileges, but collects less without them.\n"},
	{"worker logs", "ID | agent [-n N] [--follow]", "print what a worker has logged",
	 "Prints the lines that a worker, by its ID in 'plenum processes', or the agent has written to\n"
	 "the journal, also by its earlier processes, and the agent's lines about it: time (UTC),\n"
	 "level, process and text. If the agent does not log to the journal, says where the log is.\n"
	 "Needs no agent, but the right to read the journal.\n\n"
	 "  -n, --lines N     the last N lines; default 100\n"
	 "  -f, --follow      also print new lines until interrupted; with -j one object per line\n"},
	{"validate", "[FILE]", "check a configuration",
	 "Checks a configuration, together with the *.yaml of plenum.d beside it, and prints every\n"
	 "error. FILE defaults to "
	 CONFIG_FILE
	 "; - is standard input.\n"},
	{"config show", "[FILE | --running | --staged]", "print a complete configuration",
	 "Prints a configuration in normal form: every key, with defaults filled in. FILE defaults\n"
	 "to " CONFIG_FILE "; - is standard input.\n\n"
	 "      --running   print the configuration that the agent applied last\n"
	 "      --staged    print the configuration that the agent would apply next\n"},
	{"config generate", "", "print a first configuration",
	 "Prints a first configuration for the devices of this host. It contains only settings that\n"
	 "'plenum plan' accepts here; other devices are in comments, with the reason.\n"},
	{"setup", "[--answers FILE] [--dry-run]", "make and apply a first configuration",
	 "Asks for the name of the host, its data legs, exports, mounts, peers and cores, shows the\n"
	 "configuration and its plan, writes it to " CONFIG_FILE " after consent, and has the\n"
	 "agent apply it: 'plenum confirm' keeps the apply, which is otherwise rolled back after two\n"
	 "minutes. An existing file is first saved with ~ at the end of the name.\n\n"
	 "      --answers FILE  take the answers from FILE, a YAML map, and ask nothing:\n"
	 "                      {legs: [eth1 10.0.0.1-10.0.0.4/24 switch-a], exports: [data /srv/data],\n"
	 "                      mounts: [/mnt/x HOST/EXPORT], peers: [HOST 10.0.0.9], cores: '2,3'}\n"
	 "      --dry-run     write and apply nothing\n"},
	{"join", "[URL] [--token-file FILE] [--role ROLE] [--cores LIST] [--nic POOL=DEVICE] [--yes]",
	 "join a cluster as a new host",
	 "Asks the cluster's etcd for its pools, makes a configuration with a leg for each pool that\n"
	 "this host uses, shows it and its plan, writes it to " CONFIG_FILE " after\n"
	 "consent, and has the agent apply it, as 'plenum setup' does. Refused if the file exists.\n"
	 "URL is that of an etcd member; an invitation has the URLs of all.\n\n"
	 "      --token-file FILE  an invitation by 'plenum cluster invite', or a JSON object with\n"
	 "                    those of its members that etcd needs: cluster, user, password, ca\n"
	 "      --cluster NAME  name of the cluster, if the invitation does not say it\n"
	 "      --role ROLE   frontend (default) or compute\n"
	 "      --cores LIST  cores of the workers, such as 2,4-7; default: the last one\n"
	 "      --nic POOL=DEVICE, --nic 'POOL={MATCH}'  the leg's device, by name, PCI or MAC\n"
	 "                    address, or by net[].match; default: as the invitation says, else the\n"
	 "                    devices that have an address in the subnet of a pool\n"
	 "      --dry-run     write and apply nothing\n"
	 "      --yes         do not ask\n"},
	{"cluster invite", "FILE [HOST] [--valid TIME]", "write an invitation for new hosts",
	 "Writes FILE for 'plenum join --token-file FILE' on a new host: the URLs, CA, user and password\n"
	 "of etcd, the cluster's name and key, and the legs of this host that select their devices.\n"
	 "FILE has secrets: copy it over a safe way, and delete it. A join refuses it when its time\n"
	 "is over, but the secrets in it stay valid. An existing file is not overwritten.\n"
	 "With HOST, it also has a permission for the identity of that host: run this on the host\n"
	 "that has the cluster's signing key.\n\n"
	 "      --valid TIME  how long, such as 30m, 8h or 7d; default 1h, at most 30d\n"},
	{"cluster authority", "", "make the cluster's signing key",
	 "Makes the key that signs the identities of hosts, in " PLENUM_SYSCONFDIR "/cluster.signer.\n"
	 "An existing file is not overwritten.\n"},
	{"cluster identity", "FILE", "make this host's identity",
	 "Makes a new key pair of this host, and its certificate with the permission in FILE, an\n"
	 "invitation by 'plenum cluster invite FILE HOST'. See cluster.identity in plenum.yaml(5).\n"},
	{"cluster revoke", "HOST", "revoke a host's identity",
	 "Signs a revocation of all identities that HOST has received so far, and writes it to etcd.\n"
	 "All hosts with cluster.identity end the sessions of HOST and refuse new ones. Run this on the\n"
	 "host that has the cluster's signing key.\n"},
	{"diff", "[FILE]", "compare configurations and the host",
	 "Compares the running configuration with the staged one, or with FILE, both in normal\n"
	 "form. Without FILE also compares the host with the running configuration, and shows drift\n"
	 "as the steps that would repair it. Exit status 1: there are differences.\n"},
	{"history diff", "NUMBER [FROM]", "compare with the configuration of an apply",
	 "Compares the running configuration, or the configuration of apply FROM, with the\n"
	 "configuration of apply NUMBER in 'plenum history': shows what 'plenum rollback NUMBER' would\n"
	 "change. Exit status 1: there are differences.\n"},
	{"config schema", "", "print the JSON Schema",
	 "Prints the JSON Schema of plenum.yaml, for editors.\n"},
	{"secret generate", "[FILE]", "create a cluster key",
	 "Creates a file with a new random key, which all hosts of a cluster share: copy the file to\n"
	 "all hosts, and name it in cluster.secret-file. FILE defaults to " CTL_SECRET_FILE ". An\n"
	 "existing file is not overwritten.\n"},
	{"secret add", "[FILE]", "add the next cluster key",
	 "First step of a key change: adds a new key after the key in use. Then copy FILE to all\n"
	 "hosts and run 'plenum apply' there, in any order; after that all hosts accept both keys.\n"},
	{"secret switch", "[FILE]", "use the next cluster key",
	 "Second step of a key change: moves the new key to the first place, so that hosts use\n"
	 "it. Then copy FILE to all hosts and run 'plenum apply' there, in any order.\n"},
	{"secret drop", "[FILE]", "remove the former cluster key",
	 "Last step of a key change: removes the former key, so that hosts no longer accept it. Then\n"
	 "copy FILE to all hosts and run 'plenum apply' there, in any order.\n"},
	{"token add", "NAME --role ROLE [FILE]", "make a token for the API",
	 "Makes a token for a program or a person that uses the API over the network, and prints the\n"
	 "token. The token is not shown again, because FILE (api.tokens in the configuration) has only\n"
	 "its hash. FILE defaults to " CTL_TOKENS_FILE ".\n\n"
	 "      --role ROLE   view: read; operate: also restart, stop and start workers, confirm,\n"
	 "                    roll back, capture packets, measure RDMA; admin: everything\n"},
	{"token list", "[FILE]", "list the tokens for the API",
	 "Lists the names and roles of the tokens in FILE ("
	 CTL_TOKENS_FILE
	 ").\n"},
	{"token remove", "NAME [FILE]", "remove a token for the API",
	 "Removes a token from FILE (" CTL_TOKENS_FILE "). The agent refuses the token after\n"
	 "its next reload.\n"},
	{"help", "[COMMAND]", "explain a command",
	 "Explains a command, or lists all commands. 'plenum COMMAND --help' does the same.\n"},
	{"version", "", "print the version",
	 "Prints the version of this program.\n"},
};
/* clang-format on */

static int cmd_help(const struct ctl_args *a);

static const struct ctl_command commands[] = {
	{"processes", 0, 0, TAKES_TABLE, ctl_cmd_processes},
	{"workers", 0, 0, TAKES_TABLE, ctl_cmd_workers},
	{"status", 0, 0, TAKES_WATCH, ctl_cmd_status},
	{"mounts", 0, 0, TAKES_TABLE, ctl_cmd_mounts},
	/* mount disrupts nothing, but must not be suggested for 'umoun'. */
	{"mount", 2, 2, TAKES_OUTPUT | TAKES_WORKER | DISRUPTS | ONLY_HERE, ctl_cmd_mount},
	{"umount", 1, 1, TAKES_DETACH | DISRUPTS | ONLY_HERE, ctl_cmd_umount},
	{"exports", 0, 0, TAKES_TABLE, ctl_cmd_exports},
	{"clients", 0, 0, TAKES_TABLE, ctl_cmd_clients},
	{"peers", 0, 0, TAKES_TABLE, ctl_cmd_peers},
	{"paths", 0, 0, TAKES_TABLE, ctl_cmd_paths},
	{"sessions", 0, 0, TAKES_TABLE, ctl_cmd_sessions},
	/* A command of two words precedes its first word alone, because the first match counts. */
	{"locks break", 1, 1, DISRUPTS, ctl_cmd_locks_break},
	{"locks", 0, 0, TAKES_TABLE, ctl_cmd_locks},
	{"cluster status", 0, 0, 0, ctl_cmd_cluster_status},
	{"cluster hosts", 0, 0, TAKES_TABLE, ctl_cmd_cluster_hosts},
	{"cluster processes", 0, 0, TAKES_TABLE, ctl_cmd_cluster_processes},
	{"cluster net", 0, 0, TAKES_TABLE, ctl_cmd_cluster_net},
	{"cluster links", 0, 0, TAKES_TABLE, ctl_cmd_cluster_links},
	{"cluster exports", 0, 0, TAKES_TABLE, ctl_cmd_cluster_exports},
	{"cluster forget", 1, 1, TAKES_FORCE | DISRUPTS, ctl_cmd_cluster_forget},
	{"cluster leave", 0, 0, DISRUPTS, ctl_cmd_cluster_leave},
	{"cluster invite", 1, 2, TAKES_INVITE | ONLY_HERE, ctl_cmd_cluster_invite},
	{"cluster authority", 0, 0, ONLY_HERE, ctl_cmd_cluster_authority},
	{"cluster identity", 1, 1, ONLY_HERE, ctl_cmd_cluster_identity},
	{"cluster revoke", 1, 1, ONLY_HERE, ctl_cmd_cluster_revoke},
	{"pool show", 0, 0, TAKES_TABLE, ctl_cmd_pool_show},
	{"pool add", 1, 1, TAKES_POOL | TAKES_SUBNET, ctl_cmd_pool_add},
	{"pool set", 1, 1, TAKES_POOL | TAKES_SUBNET | DISRUPTS, ctl_cmd_pool_set},
	{"pool remove", 1, 1, DISRUPTS, ctl_cmd_pool_remove},
	{"pool addresses", 0, 0, TAKES_TABLE, ctl_cmd_pool_addresses},
	{"document show", 0, 0, 0, ctl_cmd_document_show},
	{"document set", 1, 1, 0, ctl_cmd_document_set},
	{"rollout status", 0, 0, TAKES_TABLE, ctl_cmd_rollout_status},
	{"rollout start", 0, 0, TAKES_ROLLOUT | DISRUPTS, ctl_cmd_rollout_start},
	{"rollout pause", 0, 0, 0, ctl_cmd_rollout_pause},
	{"rollout resume", 0, 0, DISRUPTS, ctl_cmd_rollout_resume},
	{"rollout abort", 0, 0, DISRUPTS, ctl_cmd_rollout_abort},
	{"events", 0, 0, TAKES_FOLLOW | TAKES_EVENTS | TAKES_LINES, ctl_cmd_events},
	{"metrics", 0, 1, 0, ctl_cmd_metrics},
	{"net show", 0, 1, TAKES_TABLE, ctl_cmd_net_show},
	{"net add", 1, 1, TAKES_NET | TAKES_SUBNET | TAKES_NAME | TAKES_EXPECT, ctl_cmd_net_add},
	{"net set", 1, 1, TAKES_NET | TAKES_SUBNET | TAKES_SET | TAKES_EXPECT, ctl_cmd_net_set},
	{"net label", 2, 2, TAKES_EXPECT, ctl_cmd_net_label},
	{"net disable", 1, 1, TAKES_EXPECT | DISRUPTS, ctl_cmd_net_disable},
	{"net enable", 1, 1, TAKES_EXPECT, ctl_cmd_net_enable},
	{"net remove", 1, 1, TAKES_EXPECT | DISRUPTS, ctl_cmd_net_remove},
	{"restore", 0, 0, TAKES_EXPECT | DISRUPTS, ctl_cmd_restore},
	{"inventory", 0, 1, TAKES_SNAPSHOT | TAKES_TABLE, ctl_cmd_inventory},
	{"rdma devices", 0, 0, TAKES_TABLE | ONLY_HERE, ctl_cmd_rdma_devices},
	{"rdma ping", 1, 1, TAKES_LEG | TAKES_SIZE | TAKES_COUNT, ctl_cmd_rdma_ping},
	{"plan", 0, 1, TAKES_INVENTORY, ctl_cmd_plan},
	{"doctor", 0, 1, TAKES_PEER | TAKES_DOCTOR, ctl_cmd_doctor},
	{"ping", 1, 1, TAKES_LEG | TAKES_SIZE | TAKES_COUNT | ONLY_HERE, ctl_cmd_ping},
	{"top", 0, 0, TAKES_TOP | TAKES_SORT | TAKES_SECONDS | TAKES_COUNT, ctl_cmd_top},
	{"capture", 0, 0, TAKES_LEG | TAKES_SIZE | TAKES_SECONDS | TAKES_CAPTURE | TAKES_WORKER,
	 ctl_cmd_capture},
	{"captures end", 1, 1, DISRUPTS, ctl_cmd_captures_end},
	{"captures", 0, 0, TAKES_TABLE, ctl_cmd_captures},
	{"support", 0, 1, ONLY_HERE, ctl_cmd_support},
	{"apply", 0, 0, TAKES_APPLY | TAKES_FORCE | TAKES_DRY_RUN | TAKES_EXPECT | DISRUPTS,
	 ctl_cmd_apply},
	{"confirm", 0, 1, TAKES_FORCE, ctl_cmd_confirm},
	{"rollback", 0, 1, TAKES_APPLY | TAKES_FORCE | TAKES_DRY_RUN | DISRUPTS, ctl_cmd_rollback},
	{"history show", 1, 1, 0, ctl_cmd_history_show},
	{"history diff", 1, 2, 0, ctl_cmd_history_diff},
	{"history", 0, 0, TAKES_TABLE, ctl_cmd_history},
	{"fault add", 0, 0, TAKES_LEG | TAKES_PEER | TAKES_FAULT | DISRUPTS, ctl_cmd_fault_add},
	{"fault show", 0, 0, TAKES_TABLE, ctl_cmd_fault_show},
	{"fault remove", 1, 1, 0, ctl_cmd_fault_remove},
	{"worker restart", 0, 1, TAKES_OUTDATED | DISRUPTS, ctl_cmd_worker_restart},
	{"worker stop", 1, 1, DISRUPTS, ctl_cmd_worker_stop},
	{"worker start", 1, 1, 0, ctl_cmd_worker_start},
	{"worker show", 1, 1, 0, ctl_cmd_worker_show},
	{"worker move", 1, 1, TAKES_CORE | TAKES_EXPECT | DISRUPTS, ctl_cmd_worker_move},
	{"worker log-level", 2, 2, 0, ctl_cmd_worker_log_level},
	{"worker logs", 1, 1, TAKES_FOLLOW | TAKES_LINES, ctl_cmd_worker_logs},
	{"stop", 0, 0, TAKES_DETACH | DISRUPTS, ctl_cmd_stop},
	{"validate", 0, 1, ONLY_HERE, ctl_cmd_validate},
	{"config show", 0, 1, TAKES_WHICH, ctl_cmd_config_show},
	{"config generate", 0, 0, ONLY_HERE, ctl_cmd_config_generate},
	{"setup", 0, 0, TAKES_ANSWERS | TAKES_DRY_RUN | DISRUPTS | ONLY_HERE, ctl_cmd_setup},
	{"join", 0, 1, TAKES_JOIN | TAKES_ROLE | TAKES_DRY_RUN | DISRUPTS | ONLY_HERE,
	 ctl_cmd_join},
	{"diff", 0, 1, 0, ctl_cmd_diff},
	{"config stage", 1, 1, TAKES_EXPECT | DISRUPTS, ctl_cmd_config_stage},
	{"config schema", 0, 0, ONLY_HERE, ctl_cmd_config_schema},
	{"secret generate", 0, 1, ONLY_HERE, ctl_cmd_secret_generate},
	{"secret add", 0, 1, ONLY_HERE, ctl_cmd_secret_add},
	{"secret switch", 0, 1, DISRUPTS | ONLY_HERE, ctl_cmd_secret_switch},
	{"secret drop", 0, 1, DISRUPTS | ONLY_HERE, ctl_cmd_secret_drop},
	{"token add", 1, 2, TAKES_ROLE | ONLY_HERE, ctl_cmd_token_add},
	{"token list", 0, 1, ONLY_HERE, ctl_cmd_token_list},
	{"token remove", 1, 2, DISRUPTS | ONLY_HERE, ctl_cmd_token_remove},
	{"help", 0, 2, ONLY_HERE, cmd_help},
	{"version", 0, 0, ONLY_HERE, ctl_cmd_version},
};

static const struct resource_command *text_of(const struct ctl_command *c)
{
	static const struct resource_command none = {"", "", "", ""};
	const struct resource_command *text = resource_find_command(c->words);

	for (size_t i = 0; i < ARRAY_SIZE(local_texts) && !text; i++)
		if (strcmp(local_texts[i].words, c->words) == 0)
			text = &local_texts[i];
	return text ? text : &none;
}

static void print_usage(FILE *out)
{
	fputs("Usage: plenum [--socket PATH | --host HOST] [-j] COMMAND [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-16s %s\n", commands[i].words, text_of(&commands[i])->summary);
	fputs("\n  -j, --json       print JSON\n      --socket PATH  the agent's socket "
	      "(" CTL_SOCKET ", or PLENUM_SOCKET)\n      --host HOST    ask the agent of another "
	      "host, NAME[:PORT] or "
	      "ADDRESS[:PORT], by TLS\n      --token-file FILE  the token for that agent, or "
	      "PLENUM_TOKEN_FILE\n      --ca FILE      the authorities to trust, or "
	      "PLENUM_CA_FILE; default: the system's\n      --pin SHA256   the public key to "
	      "trust\n  -h, --help       explain the command, as 'plenum help "
	      "COMMAND'\n  -V, --version    print the version\n\nExit status: 0 success, 1 "
	      "differences or warnings, 2 problems found, 3 "
	      "rolled back, 64\nwrong usage, 65 invalid configuration or request, 66 not found, 69 "
	      "no agent, 70 the agent\nfailed, 71 the host cannot be read, 74 output failed, 75 "
	      "another change is in progress,\n77 no permission. See plenum(1).\n",
	      out);
}

static void print_help(const struct ctl_command *c)
{
	const struct resource_command *text = text_of(c);

	printf("Usage: plenum %s%s%s [-j]\n\n%s", c->words, *text->operands ? " " : "",
	       text->operands, text->help);
	if ((c->takes & TAKES_TABLE) == TAKES_TABLE)
		fputs(TABLE_HELP, stdout);
}

/* Finds the command at the start of the operands. *ret_words: count of operands that form its
 * name. */
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

/* Returns whether `word` is the first word of commands that have two words. */
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
			fprintf(out, "  plenum %-16s %s\n", commands[i].words,
				text_of(&commands[i])->summary);
}

/* Prints the error that the operands do not start with a known command. There is at least one
 * operand. */
static int complain_unknown(char **operands, int n)
{
	const char *near = NULL;
	bool group = is_group(operands[0]);
	char typed[80];

	if (group && n == 1) {
		fprintf(stderr, "plenum: '%s' needs one more word:\n", operands[0]);
		print_group(operands[0], stderr);
		return CTL_USAGE;
	}
	/* Looks for a similar command: first by the first word only, then by both words. */
	for (int n_typed = group ? 2 : 1; !near && n_typed <= MIN_OF(n, 2); n_typed++) {
		snprintf(typed, sizeof(typed), "%.38s%s%.38s", operands[0], n_typed > 1 ? " " : "",
			 n_typed > 1 ? operands[1] : "");
		near = ctl_suggest(typed, commands, ARRAY_SIZE(commands));
	}
	if (near && strstr(near, "--help"))
		ctl_complain("unknown command '%s'; see 'plenum %s'", typed, near);
	else if (near)
		ctl_complain("unknown command '%s'; did you mean '%s'?", typed, near);
	else
		ctl_complain("unknown command '%s'; see 'plenum%s%s --help'", typed,
			     group ? " " : "", group ? operands[0] : "");
	return CTL_USAGE;
}

/* Prints the help of all commands, of the commands that start with a word, or of one command. */
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

static void put_title(const struct ctl_command *c, unsigned long seconds)
{
	const time_t now = time(NULL);
	char text[40];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	printf("%s  plenum %s, every %lu s\n\n", text, c->words, seconds);
	fflush(stdout); /* print the output before an error message of the command */
}

/* Runs the command again and again, also while the agent does not answer. A program that reads
 * JSON or CSV gets nothing but the output of the command. */
static int run_repeatedly(const struct ctl_args *a, const struct ctl_command *c)
{
	const bool terminal = isatty(STDOUT_FILENO);
	const bool titled = terminal || !(a->json || a->view.csv);
	unsigned long seconds;
	int r = ctl_take_number("--watch", a->watch, 1, WATCH_S_MAX, &seconds);

	while (r != CTL_USAGE && r != CTL_IO) {
		if (terminal)
			fputs("\033[H\033[2J", stdout);
		if (titled)
			put_title(c, seconds);
		r = c->run(a);
		if (titled)
			putchar('\n');
		if (fflush(stdout) != 0)
			break;
		nanosleep(&(struct timespec){(time_t)seconds, 0}, NULL);
	}
	return r;
}

static int run_once(const struct ctl_args *a, const struct ctl_command *c)
{
	return a->watch ? run_repeatedly(a, c) : c->run(a);
}

/* Runs the command with the agent that the options name. */
static int run_at(struct ctl_parsed *p, const struct ctl_command *c)
{
	struct ctl_args *a = &p->args;
	int r;

	/* The file of join is an invitation, for a host that has no agent yet. */
	if (!a->host && ((a->token_file && !(c->takes & TAKES_JOIN)) || a->ca || a->pin)) {
		ctl_complain("--token-file, --ca and --pin need --host");
		return CTL_USAGE;
	}
	if (!a->host)
		return run_once(a, c);
	if (p->socket) {
		ctl_complain("--socket names the agent of this host; remove it, or --host");
		return CTL_USAGE;
	}
	r = ctl_remote_open(a);
	if (r == CTL_OK)
		r = run_once(a, c);
	ctl_remote_close(a);
	return r;
}

static int run_command(struct ctl_parsed *p, char **operands, int n)
{
	int n_words = 0;
	const struct ctl_command *c = find_command(operands, n, &n_words);

	if (p->version)
		return ctl_cmd_version(&p->args);
	/* 'plenum help X --help' explains X, not the command 'help'. */
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
	if (p->args.host && (c->takes & ONLY_HERE)) {
		ctl_complain("'plenum %s' works on this host only, without --host; run it on that "
			     "host",
			     c->words);
		return CTL_USAGE;
	}
	if (p->args.n_operands < c->min_operands || p->args.n_operands > c->max_operands ||
	    (p->given & ~c->takes)) {
		const char *takes = text_of(c)->operands;

		ctl_complain("usage: plenum %s%s%s; see 'plenum %s --help'", c->words,
			     *takes ? " " : "", takes, c->words);
		return CTL_USAGE;
	}
	if (p->args.json && (p->given & TAKES_TABLE) && (c->takes & TAKES_TABLE) == TAKES_TABLE) {
		ctl_complain("-j prints everything as JSON; remove the table options");
		return CTL_USAGE;
	}
	return run_at(p, c);
}

int ctl_run(int argc, char **argv)
{
	const char *socket = getenv("PLENUM_SOCKET");
	struct ctl_parsed p = {.args.socket = socket && *socket ? socket : CTL_SOCKET};
	int first, r = ctl_options_parse(argc, argv, &p, &first);

	if (r != CTL_OK)
		return r;
	if (p.socket)
		p.args.socket = p.socket;
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
