/* SPDX-License-Identifier: BSD-3-Clause */
/* `plenum top`: polls the agent, and reports for how long it has not answered. */
#include "agent/ctl/ctl_options.h"
#include "agent/ctl/top/ctl_top.h"

#include <string.h>

#define ASK_LIMIT_S 3 /* an agent that needs longer for an answer counts as not answering */

static int ask(const struct top *t, enum resource_id resource, json_t **ret)
{
	const struct ctl_request rq = {.resource = resource, .timeout_s = ASK_LIMIT_S};
	struct ctl_reply reply;
	int r = ctl_http(t->args, &rq, &reply);

	if (r < 0)
		return r;
	*ret = reply.status == 200 ? ctl_parse_if_any(&reply) : NULL;
	r = *ret ? 0 : reply.status == 403 ? -EACCES : -EPROTO;
	ctl_reply_done(&reply);
	return r;
}

void top_ask(struct top *t)
{
	struct top_sample s = {0};

	t->error = ask(t, RESOURCE_STATUS, &s.status);
	if (t->error == 0)
		t->error = ask(t, RESOURCE_PROCESSES, &s.processes);
	s.at_ns = clock_now_ns();
	if (t->error < 0) {
		t->gone_ns = t->gone_ns ? t->gone_ns : s.at_ns;
		top_sample_done(&s);
		return;
	}
	/* After a restart or a missed answer, rates cover the whole time between the two
	 * answers. */
	t->gone_ns = 0;
	top_sample_done(&t->before);
	t->before = t->now;
	t->now = s;
}

const char *top_gone(const struct top *t, char *buf, size_t size)
{
	char since[32];

	buf[0] = '\0';
	if (t->gone_ns)
		snprintf(buf, size,
			 "the agent has not answered for %s (%s): the values are its last ones, "
			 "and are updated when it answers",
			 ctl_format_seconds(
				 (json_int_t)((clock_now_ns() - t->gone_ns) / NSEC_PER_SEC), since,
				 sizeof(since)),
			 strerror(-t->error));
	return buf;
}
