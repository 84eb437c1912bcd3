/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suggests a command for unknown words: first by meaning, for words that other tools use, then by
 * spelling. A user, or a script, may run a suggestion without checking it. So no command is
 * suggested that interrupts service or discards work; instead, the help of a group of commands is
 * suggested.
 */
#include "agent/ctl/ctl_options.h"

#include "netcfg/base/diag.h"
#include <string.h>

#define COMMANDS_MAX 128

/* Words with the command that they mean, alone or after the first word of a group. */
static const struct {
	const char *word, *suggestion;
} meanings[] = {
	{"list", "processes"},
	{"ls", "processes"},
	{"ps", "processes"},
	{"show", "status"},
	{"info", "status"},
	{"state", "status"},
	{"health", "status"},
	{"mounts", "status"},
	{"unmount", "mounts"},
	{"exports", "status"},
	{"peers", "status"},
	{"paths", "status"},
	{"diag", "doctor"},
	{"diagnose", "doctor"},
	{"check", "doctor"},
	{"test", "doctor"},
	{"log", "events"},
	{"logs", "events"},
	{"journal", "events"},
	{"monitor", "top"},
	{"watch", "top"},
	{"stat", "top"},
	{"stats", "top"},
	{"tcpdump", "capture"},
	{"trace", "capture"},
	{"dump", "capture"},
	{"device", "inventory"},
	{"devices", "inventory"},
	{"link", "net show"},
	{"links", "net show"},
	{"interface", "net show"},
	{"interfaces", "net show"},
	{"leg", "net show"},
	{"legs", "net show"},
	{"neighbours", "net show"},
	{"lldp", "net show"},
	{"schema", "config schema"},
	{"generate", "config generate"},
	{"reload", "plan"},
	{"undo", "history"},
	{"revert", "history"},
	{"up", "net --help"},
	{"down", "net --help"},
	{"add", "net --help"},
	{"set", "net --help"},
	{"rm", "net --help"},
	{"delete", "net --help"},
	{"remove", "net --help"},
	{"start", "worker --help"},
	{"restart", "worker --help"},
	{"kill", "worker --help"},
	{"net list", "net show"},
	{"net ls", "net show"},
	{"net get", "net show"},
	{"net up", "net --help"},
	{"net down", "net --help"},
	{"net delete", "net --help"},
	{"net rm", "net --help"},
	{"config list", "config show"},
	{"config get", "config show"},
	{"config check", "validate"},
	{"config validate", "validate"},
	{"config diff", "diff"},
	{"history list", "history"},
	{"history ls", "history"},
	{"fault list", "fault show"},
	{"fault ls", "fault show"},
	{"worker kill", "worker --help"},
	{"worker list", "processes"},
	{"worker ls", "processes"},
	{"worker show", "processes"},
	{"worker logs", "events"},
	{"rdma list", "rdma devices"},
	{"rdma show", "rdma devices"},
};

static const char *find_meaning(const char *typed)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (strcmp(meanings[i].word, typed) == 0)
			return meanings[i].suggestion;
	return NULL;
}

const char *ctl_suggest(const char *typed, const struct ctl_command *commands, size_t n)
{
	const char *words[COMMANDS_MAX], *found = find_meaning(typed);
	size_t n_words = 0;

	for (size_t i = 0; i < n && n_words < COMMANDS_MAX; i++)
		if (!(commands[i].takes & DISRUPTS))
			words[n_words++] = commands[i].words;
	return found ? found : diag_suggest(typed, words, n_words);
}
