/* SPDX-License-Identifier: BSD-3-Clause */
/* plenumd(8): parses the arguments and starts the monitor or one of its child roles. This file is
 * separate because tests link all other files. */
#include "agent/agent.h"
#include "agent/supervise/handover/fd_holder.h"
#include "plugins/plugins.h"
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { OPT_RUN_DIR = 256, OPT_STATE_DIR, OPT_CHECK, OPT_FOREGROUND, OPT_ROLE, OPT_LOG_LEVEL };

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"run-dir", required_argument, NULL, OPT_RUN_DIR},
	{"state-dir", required_argument, NULL, OPT_STATE_DIR},
	{"check", no_argument, NULL, OPT_CHECK},
	{"foreground", no_argument, NULL, OPT_FOREGROUND},
	{"verbose", no_argument, NULL, 'v'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	/* Internal option that the monitor passes to its child processes. */
	{"role", required_argument, NULL, OPT_ROLE},
	{"log-level", required_argument, NULL, OPT_LOG_LEVEL},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"Usage: plenumd [-v] [-c FILE] [--run-dir DIR] [--state-dir DIR] [--check]\n"
	"\n"
	"  -c, --config FILE   configuration (" PLENUM_SYSCONFDIR "/plenum.yaml), with the *.yaml\n"
	"                      of plenum.d beside it\n"
	"      --run-dir DIR   lock, sockets, journal, record of workers (" PLENUM_RUNDIR ")\n"
	"      --state-dir DIR staged configuration, the last one applied (" PLENUM_STATEDIR ")\n"
	"      --check         check the configuration, print its errors, exit\n"
	"      --foreground    accepted and ignored: plenumd never forks away\n"
	"  -v, --verbose       log debug messages\n"
	"      --version, --help\n";

/* Finds the worker program: in the build tree if this program runs from there, else the installed
 * one. */
static const char *find_worker(char *buf, size_t size)
{
	const char *named = getenv("PLENUM_WORKER");
	char self[PATH_MAX];
	ssize_t n;
	char *slash;

	if (named && named[0]) {
		log_notice("worker program: %s (from PLENUM_WORKER)", named);
		return named;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		if ((size_t)snprintf(buf, size, "%s/../dataplane/plenum-worker", self) < size &&
		    access(buf, X_OK) == 0)
			return buf;
	}
	return PLENUM_LIBEXECDIR "/plenum-worker";
}

/* Only the monitor can start these roles, because they need descriptors from it. */
static int run_role(const char *role, enum log_level level)
{
	for (enum privsep_role r = PRIVSEP_API; r < PRIVSEP_ROLE_MAX; r++) {
		if (strcmp(role, privsep_role_to_string(r)) != 0)
			continue;
		if (r == PRIVSEP_CLUSTER)
			return cluster_main(level);
		if (r == PRIVSEP_LINKS)
			return links_main(level);
		return r == PRIVSEP_LLDP ? lldp_main(level) : api_main(r, level);
	}
	if (strcmp(role, FD_HOLDER_ROLE) == 0)
		return fd_holder_main(level);
	log_err("unknown role %s", role);
	return 2;
}

static bool is_root(void)
{
	if (geteuid() == 0)
		return true;
	log_err("cannot run as uid %u: the agent changes the network and mounts file systems, so "
		"it needs root; 'systemctl start plenumd' starts it, 'plenumd --check' needs no "
		"root",
		(unsigned)geteuid());
	return false;
}

static int run_agent(struct agent_options *opt)
{
	char worker[PATH_MAX + 64];

	if (!is_root())
		return 1;
	opt->worker = find_worker(worker, sizeof(worker));
	return agent_main(opt);
}

int main(int argc, char **argv)
{
	struct agent_options opt = {.config = PLENUM_SYSCONFDIR "/plenum.yaml",
				    .run_dir = PLENUM_RUNDIR,
				    .state_dir = PLENUM_STATEDIR,
				    .log_level = LOG_LEVEL_INFO};
	const char *role = NULL;
	bool check = false;
	int c;

	while ((c = getopt_long(argc, argv, "c:vVh", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			opt.config = optarg;
			break;
		case OPT_RUN_DIR:
			opt.run_dir = optarg;
			break;
		case OPT_STATE_DIR:
			opt.state_dir = optarg;
			break;
		case OPT_CHECK:
			check = true;
			break;
		case OPT_FOREGROUND:
			break;
		case OPT_ROLE:
			role = optarg;
			break;
		case OPT_LOG_LEVEL:
			opt.log_level = (enum log_level)atoi(optarg);
			break;
		case 'v':
			opt.log_level = LOG_LEVEL_DEBUG;
			break;
		case 'V':
			printf("plenumd %s\n", PLENUM_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "plenumd: '%s' is not an option\n%s", argv[optind], usage);
		return 2;
	}
	log_open("plenumd", opt.log_level);
	/* Without this, a write beyond the file size limit would end the process. Now the write
	 * fails with an error, as on a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	if (role)
		return run_role(role, opt.log_level);
	plugins_register();
	return check ? agent_check(&opt) : run_agent(&opt);
}
