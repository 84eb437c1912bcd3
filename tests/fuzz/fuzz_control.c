/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages from an agent to a running worker: links, labels, the cluster's keys, ports, faults, log
 * level.
 * Input: records of a type, a code, an index (a byte each), the length of the text or keys, and
 * those. After any input the transport has keys: those of the last message that named one or two.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "dataplane/worker/run/worker_run.h"
#include "dataplane/worker/worker_role.h"
#include "netcfg/base/log.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>

#define QUIET ((enum log_level)(LOG_LEVEL_ERR - 1)) /* no output */
#define RECORD_BYTES 4
#define TEXT_BYTES ((size_t)LAUNCH_REASON_MAX * 2)

static bool taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	return 0;
}

static void op_flush(void *user)
{
}

static const struct rudp_ops ops = {.tx = op_tx, .tx_flush = op_flush};

static void port_close(struct port *p)
{
}

/* A port that cannot announce itself. */
static const struct port_ops port = {.name = "udp", .reopens = true, .close = port_close};

static struct rudp *transport(void)
{
	struct datagram_addr to = {{AF_INET, {10, 0, 0, 9}}, 7000};
	struct rudp_config cfg = {.identity = 1,
				  .epoch = 1,
				  .ops = &ops,
				  .n_ports = 2,
				  .security = RUDP_AUTH,
				  .n_keys = 1,
				  .keys = {{7}},
				  .limits = {.sessions = 2}};
	struct rudp_session *s;
	struct rudp *r;

	for (unsigned i = 0; i < cfg.n_ports; i++)
		cfg.ports[i] =
			(struct rudp_port_info){.local = {{AF_INET, {10, (uint8_t)i, 0, 1}}, 7000},
						.prefix_len = 24,
						.mtu = 1500,
						.up = true};
	if (rudp_new(&cfg, NSEC_PER_SEC, &r) ||
	    rudp_connect(r, &to, 1, "fuzz", 4, NULL, NSEC_PER_SEC, &s))
		abort();
	rudp_poll(r, NSEC_PER_SEC);
	return r;
}

static void ignore_break(struct worker *w, uint64_t id)
{
	(void)w;
	(void)id;
}

static const struct worker_role role = {.lock_break = ignore_break};

static void tell(struct worker *w, int fd, const uint8_t *rec, const uint8_t *text, size_t len)
{
	struct launch_msg m = {.type = rec[0], .code = (int8_t)rec[1], .index = rec[2]};
	struct rudp_config was = w->rudp->cfg;
	const struct rudp_config *is = &w->rudp->cfg;
	bool good = m.type == LAUNCH_MSG_KEYS && (m.code == 1 || m.code == 2);

	memcpy(m.text, text, MIN_OF(len, TEXT_BYTES));
	if (send(fd, &m, sizeof(m), 0) != (ssize_t)sizeof(m))
		abort();
	worker_control_read(w);
	if (is->n_keys != (good ? (unsigned)m.code : was.n_keys) ||
	    memcmp(is->keys, good ? m.keys : was.keys, is->n_keys * RUDP_KEY_BYTES) != 0)
		abort();
	taken = w->stopping || w->faults || memcmp(is, &was, sizeof(was)) != 0 ||
		log_get_level() != QUIET;
	log_set_level(QUIET);
	rudp_poll(w->rudp, w->now_ns += NSEC_PER_MSEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct launch_config cfg = {.n_ports = 2, .ports = {{.leg = "leg-a"}, {.leg = "leg-b"}}};
	struct launch_stats stats = {.seq = 0};
	struct worker *w = calloc(1, sizeof(*w));
	int pair[2];

	if (!w || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		abort();
	log_set_level(QUIET);
	w->cfg = &cfg;
	w->stats = &stats;
	w->ops = &port;
	w->role = &role;
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++)
		w->ports[i].ops = &port;
	for (unsigned i = 0; i < cfg.n_ports; i++)
		w->port_open[i] = w->port_up[i] = true;
	w->control_fd = pair[0];
	w->now_ns = NSEC_PER_SEC;
	w->rudp = transport();
	taken = false;
	while (size >= RECORD_BYTES) {
		size_t len = MIN_OF((size_t)data[3], size - RECORD_BYTES);

		tell(w, pair[1], data, data + RECORD_BYTES, len);
		data += RECORD_BYTES + len;
		size -= RECORD_BYTES + len;
	}
	worker_fault_free(w);
	rudp_free(w->rudp);
	close(pair[0]);
	close(pair[1]);
	free(w);
	return 0;
}
