/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the role `links` reports to the monitor about a leg of this host (privsep.h). The values
 * have a fixed size, and both processes check them.
 */
#ifndef PLENUM_AGENT_LINKS_REPORT_H
#define PLENUM_AGENT_LINKS_REPORT_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

/* Maximum number of other hosts' faulty legs in a report about a leg. */
#define LINKS_FAULTS_MAX 8

enum links_verdict {
	LINKS_UNKNOWN,	/* no verdict: the leg was not asked, or the answers do not suffice */
	LINKS_OK,	/* answers arrive */
	LINKS_OWN_LEG,	/* no host answers this leg */
	LINKS_PEER_LEG, /* the other host's leg answers none of the hosts that asked it */
	LINKS_SWITCH,	/* the other host's leg answers others, but not this leg */
	LINKS_VERDICT_MAX
};

struct links_report_fault { /* a leg of another host that does not answer */
	char host[PLENUM_NAME_MAX], leg[PLENUM_NAME_MAX];
	struct ip_addr ip;
	uint32_t verdict; /* enum links_verdict, not LINKS_OK */
};

struct links_report {
	uint32_t ifindex;
	uint32_t verdict;  /* about the leg of this host */
	uint32_t answered; /* 1: a host has answered this leg since the probes began */
	uint32_t alone;	   /* 1: no host answers any leg, so the other hosts may be down */
	uint32_t known, asked, answering;	  /* hosts on this leg */
	uint32_t has_loss, has_full_loss;	  /* 1: enough packets of that size for a loss */
	uint32_t loss_percent, full_loss_percent; /* share of lost packets among the latest small
						     and full packets */
	uint64_t rtt_ns;			  /* 0: unknown */
	uint32_t n_faults, n_omitted;
	struct links_report_fault faults[LINKS_FAULTS_MAX];
};

#endif
