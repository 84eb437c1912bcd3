/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet loss of one path, per direction: the share, and a verdict with hysteresis. Fed with counts
 * of packet numbers that the sender used and of those that did not arrive, so reordered, duplicated
 * and needlessly retransmitted packets do not count. Pure numbers; knows nothing of packets or
 * sessions. Times in ns, shares in packets per million.
 */
#ifndef PLENUM_DATAPLANE_RUDP_QUALITY_H
#define PLENUM_DATAPLANE_RUDP_QUALITY_H

#include "netcfg/base/base.h"

#define RUDP_LOSS_UNKNOWN UINT32_MAX
#define RUDP_LOSS_LEAST_PPM 5000U /* a smaller share is shown, without a verdict */
#define RUDP_LOSS_MOST_PPM 20000U /* more is a verdict, however usual it is */

struct rudp_loss_rate { /* one direction; zeros: nothing known */
	/* The current window. `lost` falls below 0 if packets of the last one arrive late. */
	uint64_t window_ns;
	int64_t expected, lost;
	/* What the share is computed of: the last windows, up to about a thousand packets. */
	int64_t shown_expected, shown_lost;
	uint32_t usual_ppm;	   /* average while there was no verdict */
	uint32_t lossy_ppm;	   /* the share that the verdict is about; 0: no verdict */
	uint8_t bad_run, good_run; /* windows in a row */
};

struct rudp_quality { /* of one path; zeros: nothing known */
	struct rudp_loss_rate out, in;
	/* Counts at the last report from the peer, to which the next is compared. */
	bool counts;
	uint64_t out_from; /* while it does not count: the first packet after an outage */
	uint64_t report_ns, out_top, in_top;
	uint32_t out_missing, in_missing;
	int64_t in_missing_sum; /* falls when late packets arrive */
	uint64_t in_lost;	/* its maximum: packets of the peer that did not arrive */
	uint32_t peer_srtt_us;	/* as the peer measures it; 0: unknown */
	/* Our probes, which carry our reports. */
	uint64_t probe_ns, probed_ns; /* of the next, of the last one */
	uint64_t probed_pn;	      /* the next packet number after the last one */
	bool heard;		      /* the peer reports */
	uint64_t heard_ns;	      /* when it did last */
	uint64_t peer_interval_ns;    /* between its last two reports; 0: unknown */
	uint64_t out_ended_ns;	      /* when the last verdict about `out` ended; 0: never */
	uint64_t unanswered_ns;	      /* when a packet last got no answer in time; 0: never */
	uint8_t sent;		      /* the first probes, counted to a limit */
	bool avoided;		      /* another path loses much less, and carries the load */
};

enum rudp_loss_news { RUDP_LOSS_NO_NEWS, RUDP_LOSS_BEGINS, RUDP_LOSS_ENDS };

/* Of `expected` further packet numbers `lost` did not arrive; lost < 0: late ones have arrived. */
void rudp_loss_add(struct rudp_loss_rate *t, int64_t expected, int64_t lost, uint64_t now);
/* Ends the window if it says enough. sister_ppm: share of the best other path to the same peer. */
enum rudp_loss_news rudp_loss_close(struct rudp_loss_rate *t, uint32_t sister_ppm, uint64_t now);
uint32_t rudp_loss_share(const struct rudp_loss_rate *t);
/* Packets were lost in this window, or the path is lossy: more probes tell sooner. */
static inline bool rudp_loss_is_suspected(const struct rudp_loss_rate *t)
{
	return t->lost > 0 || t->lossy_ppm;
}
/* The share of the worse direction, if it is lossy; else 0. */
static inline uint32_t rudp_quality_lossy(const struct rudp_quality *q)
{
	return MAX_OF(q->out.lossy_ppm, q->in.lossy_ppm);
}

#endif
