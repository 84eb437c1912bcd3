/* SPDX-License-Identifier: BSD-3-Clause */
/* 'plenum metrics': prints the agent's metrics, or writes them to a file that a collector may read
 * at any moment. */
#include "agent/ctl/ctl.h"

#include "netcfg/base/file.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The collector runs as another user and must be able to read the file. */
#define FILE_MODE 0644

int ctl_cmd_metrics(const struct ctl_args *a)
{
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	const struct ctl_request rq = {.resource = RESOURCE_METRICS};
	int r;

	if (a->json) {
		ctl_complain("metrics are in the text format of Prometheus; 'plenum status -j' has "
			     "the same values as JSON");
		return CTL_USAGE;
	}
	r = ctl_ask(a, &rq, &reply);
	if (r != CTL_OK)
		return r;
	if (a->n_operands == 0) {
		/* On a terminal, the text of an agent must not control the terminal. */
		if (isatty(STDOUT_FILENO))
			return ctl_put_text(reply.body);
		fwrite(reply.body, 1, reply.len, stdout);
		return CTL_OK;
	}
	r = file_write(a->operands[0], reply.body, reply.len, FILE_MODE);
	if (r < 0) {
		ctl_complain("cannot write %s: %s", a->operands[0], strerror(-r));
		return CTL_IO;
	}
	return CTL_OK;
}
