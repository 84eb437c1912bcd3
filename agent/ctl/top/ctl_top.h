/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum top`: rates of legs, workers, peers, mounts and exports, from two consecutive answers of
 * the agent. ctl_top_poll.c polls the agent. ctl_top.c prints lines if standard output is not a
 * terminal. ctl_top_model.c makes rows and sentences about problems. ctl_top_screen.c draws on the
 * terminal.
 */
#ifndef PLENUM_AGENT_CTL_TOP_H
#define PLENUM_AGENT_CTL_TOP_H

#include "agent/ctl/ctl.h"

enum top_kind { TOP_LEGS, TOP_WORKERS, TOP_PEERS, TOP_MOUNTS, TOP_EXPORTS, TOP_KIND_MAX };
enum top_sort {
	TOP_BY_HEALTH,
	TOP_BY_NAME,
	TOP_BY_TRAFFIC,
	TOP_BY_LATENCY,
	TOP_BY_OPS,
	TOP_SORT_MAX
};
extern const char *const top_sort_names[TOP_SORT_MAX];
extern const char *const top_kind_names[TOP_KIND_MAX]; /* such as "legs" */

struct top_row { /* one object; rates are per second */
	char name[256], state[24], role[16], network[32], about[160];
	unsigned paths, paths_up;
	/* for a leg or peer with paths that are down: seconds since the latest failure */
	uint64_t since_s;
	bool bad;
	double tx_bytes, rx_bytes, packets, resent, lost; /* sums over the paths of the object */
	double rdma_read, rdma_write; /* bytes of file data by RDMA, of the object's sessions */
	double rtt_us;		      /* mean over the paths that are up and in use */
	unsigned paths_rtt;	      /* count of the paths that rtt_us covers */
	double loss_percent; /* of the path and direction with the largest loss; < 0: unknown */
	double ops, read_bytes, write_bytes, errors; /* set only for workers */
	uint64_t failovers, sessions;
	const json_t *object; /* the mount or export, borrowed from the answer */
};
struct top_table {
	struct top_row *rows;
	size_t n;
};
struct top_view {
	char host[PLENUM_NAME_MAX], state[24];
	uint64_t workers_up, workers;
	struct top_table tables[TOP_KIND_MAX];
	json_t *wrong; /* problems, the most severe first */
	bool out_of_memory;
};

struct top_sample { /* an answer of the agent */
	json_t *status, *processes;
	uint64_t at_ns;
};
void top_sample_done(struct top_sample *s);

/* Makes the rows. before: the previous sample; if it is NULL or has no answers, all rates are 0. */
void top_view_make(const struct top_sample *before, const struct top_sample *now,
		   enum top_sort sort, struct top_view *ret);
void top_view_done(struct top_view *v);

#define TOP_COLUMNS_MAX 14
#define TOP_CELL_MAX 64
/* Returns the heading of a column, or NULL if the table has no such column. */
const char *top_heading(enum top_kind k, unsigned column);
/* Writes the text of a cell to buf (TOP_CELL_MAX bytes), and returns buf. */
const char *top_cell(enum top_kind k, const struct top_row *r, unsigned column, char *buf);

/* ---- ctl_top_poll.c ---- */

struct top {
	const struct ctl_args *args;
	enum top_sort sort;
	uint64_t interval_ns, count; /* count 0: run until interrupted */
	struct top_sample before, now;
	uint64_t gone_ns; /* since when the agent has not answered; 0: it answers */
	int error;	  /* negative errno of the last attempt */
};
/* Polls the agent. If it does not answer, the last answer is kept. */
void top_ask(struct top *t);
/* Writes "the agent has not answered for 3 s ..." to buf, or "" if the agent answers. Returns
 * buf. */
const char *top_gone(const struct top *t, char *buf, size_t size);

/* ---- ctl_top_screen.c ---- */

/* Shows the screen until interrupted. Returns -ENOTTY if the terminal cannot position the
 * cursor. */
int top_screen(struct top *t);
/* Installs handlers: signals that would end the program end its loops instead. */
void top_signals(void);
bool top_interrupted(void);

#endif
