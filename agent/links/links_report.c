/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the report about a leg for the monitor. */
#include "agent/links/links.h"
#include <string.h>

#define LOSS_PACKETS 4 /* a loss of fewer packets says little */

void links_report_make(const struct links_leg *leg, struct links_report *ret)
{
	memset(ret, 0, sizeof(*ret)); /* so that memcmp() can compare reports */
	ret->ifindex = leg->ifindex;
	ret->verdict = leg->verdict;
	ret->answered = leg->answered;
	ret->alone = leg->alone;
	ret->known = leg->n_peers;
	ret->has_loss = leg->n_history >= LOSS_PACKETS;
	ret->has_full_loss = leg->n_full >= LOSS_PACKETS;
	ret->loss_percent = ret->has_loss ? links_loss_percent(leg, false) : 0;
	ret->full_loss_percent = ret->has_full_loss ? links_loss_percent(leg, true) : 0;
	ret->rtt_ns = leg->rtt_ns;
	links_count(leg, &ret->asked, &ret->answering);
	/* A leg that is at fault, or that receives no answers, cannot tell whether other legs
	 * work. */
	for (uint32_t i = 0; i < leg->n_peers && leg->verdict != LINKS_OWN_LEG && !leg->alone;
	     i++) {
		const struct links_peer *p = &leg->peers[i];
		struct links_report_fault *f = &ret->faults[ret->n_faults];

		if (!links_is_faulty(p))
			continue;
		if (ret->n_faults == LINKS_FAULTS_MAX) {
			ret->n_omitted++;
			continue;
		}
		f->ip = p->ip;
		f->verdict = links_fault(leg, p);
		memcpy(f->host, p->host, sizeof(f->host));
		memcpy(f->leg, p->leg, sizeof(f->leg));
		ret->n_faults++;
	}
}
