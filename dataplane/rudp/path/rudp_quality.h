/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet loss of one path, per direction: the share of lost packets, and whether it is too large,
 * with hysteresis. The caller reports how many packet numbers the sender used and how many of them
 * did not arrive, so reordered, duplicated and unnecessarily retransmitted packets do not count as
 * lost. It only computes, and does not depend on packets or sessions. Times are in ns, shares in
 * packets per million.
 */
#ifndef PLENUM_DATAPLANE_RUDP_QUALITY_H
#define PLENUM_DATAPLANE_RUDP_QUALITY_H

#include "netcfg/base/base.h"

#define RUDP_LOSS_UNKNOWN UINT32_MAX
/* A path that loses a smaller share of its packets is never lossy, but its share is reported. */
#define RUDP_LOSS_LEAST_PPM 5000U
/* A path that loses a larger share of its packets is lossy, even if it always loses that many. */
#define RUDP_LOSS_MOST_PPM 20000U

struct rudp_loss_rate { /* one direction; all zeros: nothing is known yet */
	/* The current window. `lost` is negative if packets that the previous window counted as
	 * lost arrive late. */
	uint64_t window_ns;
	int64_t expected, lost;
	/* Sums over the last windows, up to about a thousand packets. The reported share is
	 * computed from these. */
	int64_t shown_expected, shown_lost;
	uint32_t usual_ppm; /* average share while the path was not lossy */
	uint32_t lossy_ppm; /* loss share because of which the path counts as lossy; 0: the path
			       is not lossy */
	uint8_t bad_run, good_run; /* consecutive bad windows, consecutive good windows */
};

struct rudp_quality { /* one path; all zeros: nothing is known yet */
	struct rudp_loss_rate out, in;
	/* Whether the counts at the peer's last report are known. If so, its next report can be
	 * compared with them. */
	bool counts;
	uint64_t out_from; /* number of the first packet after an outage; used while `counts` is
			      false */
	uint64_t report_ns, out_top, in_top;
	uint32_t out_missing, in_missing;
	int64_t in_missing_sum; /* count of the peer's packets that are missing; decreases when late
				   packets arrive */
	uint64_t in_lost;	/* maximum of in_missing_sum: how many packets of the peer were
				   lost */
	uint32_t peer_srtt_us;	/* round trip as the peer measures it; 0: unknown */
	/* The PINGs by which this side sends its reports. */
	uint64_t probe_ns, probed_ns; /* probe_ns: when the next PING is due; probed_ns: when the
					 last PING was sent */
	uint64_t probed_pn;	      /* the packet number after the last probe */
	bool heard;		      /* the peer has sent a report */
	uint64_t heard_ns;	      /* when the peer's last report arrived */
	uint64_t peer_interval_ns;    /* time between the peer's last two reports; 0: unknown */
	uint64_t out_ended_ns;	      /* when this side's packets last stopped being lossy; 0:
					 never */
	uint64_t unanswered_ns;	      /* when a packet last got no answer in time; 0: never */
	uint8_t sent;		      /* count of probes that were sent, up to a limit */
	bool avoided; /* another path loses much less and carries the load instead */
};

enum rudp_loss_news { RUDP_LOSS_NO_NEWS, RUDP_LOSS_BEGINS, RUDP_LOSS_ENDS };

/* Adds `expected` further packet numbers, of which `lost` did not arrive. lost is negative if
 * packets that were counted as lost have arrived late. */
void rudp_loss_add(struct rudp_loss_rate *t, int64_t expected, int64_t lost, uint64_t now);
/* Ends the window if it has enough packets, and decides whether the path is lossy. sister_ppm: the
 * loss share of the best other path to the same peer. */
enum rudp_loss_news rudp_loss_close(struct rudp_loss_rate *t, uint32_t sister_ppm, uint64_t now);
uint32_t rudp_loss_share(const struct rudp_loss_rate *t);
/* Returns whether to probe more often: packets were lost in this window, or the path is lossy. */
static inline bool rudp_loss_is_suspected(const struct rudp_loss_rate *t)
{
	return t->lost > 0 || t->lossy_ppm;
}
/* Returns the loss share of the worse direction if it is lossy; 0 if neither direction is. */
static inline uint32_t rudp_quality_lossy(const struct rudp_quality *q)
{
	return MAX_OF(q->out.lossy_ppm, q->in.lossy_ppm);
}

#endif
