/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulator's applications at both ends, and its virtual time. rudp_sim_net.c is the network.
 */
#include <malloc.h>

#include "tests/lib/rudp/rudp_sim_internal.h"

#define WAIT_AGAIN_NS (100 * NSEC_PER_USEC)
/* Length of a request's header: cookie, length of the response, execution time. */
#define HEADER 16

struct sim_job { /* a request that the server is executing */
	struct sim_job *next;
	uint64_t at;
	struct rudp_call *call;
	unsigned cookie;
	uint32_t req_len;
	void *buf;
	struct block *answer;
};

struct block { /* a buffer that was passed to rudp or received from it */
	struct block *next, **prev;
	struct sim_end *end;
	unsigned *used, *used_by; /* the counters of the buffer's class, or NULL */
	unsigned *on_trial;	  /* the class's counter for clients on trial */
	uint8_t data[];
};

/* These sizes equal the buffer sizes of the file system's server. */
static const size_t class_bytes[SIM_BUF_CLASSES] = {7680, (132U << 10) - 512, (1U << 20) + 7680};

uint64_t sim_random_of(uint64_t *state, uint64_t below)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return below ? x % below : x;
}

uint64_t sim_random(struct sim *sim, uint64_t below)
{
	return sim_random_of(&sim->rng, below);
}

static struct block *block_new(struct sim_end *end, size_t len)
{
	struct block *b = malloc(sizeof(*b) + len);

	if (!b)
		abort();
	b->end = end;
	b->used = b->used_by = b->on_trial = NULL;
	b->next = end->blocks;
	b->prev = &end->blocks;
	if (b->next)
		b->next->prev = &b->next;
	end->blocks = b;
	return b;
}

static void block_free(struct block *b)
{
	b->end->wait_due = true;
	*b->prev = b->next;
	if (b->next)
		b->next->prev = b->prev;
	if (b->used) {
		--*b->used;
		--*b->used_by;
	}
	if (b->on_trial)
		--*b->on_trial;
	free(b);
}

/* Returns the number of free buffers of a class for small or big messages. Big messages must leave
 * a quarter of the buffers free, except in the largest class. */
static unsigned class_free(const struct sim *sim, const struct sim_memory *m, unsigned class,
			   bool big)
{
	unsigned n = sim->cfg.bufs[class], most = class == SIM_BUF_CLASSES - 1 ? n : n - n / 4;
	unsigned used = m->used[class][0] + m->used[class][1];

	if (used >= n || (big && m->used[class][1] >= most))
		return 0;
	return big ? MIN_OF(n - used, most - m->used[class][1]) : n - used;
}

/* Returns a block of the server's classes for client `who`, or NULL if none is free for this
 * client. If the smallest class that fits is used up, it takes a larger one, but the largest class
 * is reserved for messages that fit no other class. */
static struct block *block_of_class(struct sim_end *end, struct sim_memory *m, unsigned who,
				    size_t len)
{
	bool big = len > RUDP_SMALL_BYTES;
	struct block *b;

	for (unsigned i = 0; i < SIM_BUF_CLASSES; i++) {
		if (len > class_bytes[i] ||
		    (end->sim->cfg.bufs[i] &&
		     !rudp_incast_allows(m->used_by[who][i][big], class_free(end->sim, m, i, big),
					 end->sim->cfg.bufs[i])))
			continue;
		if (i == SIM_BUF_CLASSES - 1 && len <= class_bytes[i - 1])
			return NULL;
		b = block_new(end, len);
		b->used = &m->used[i][big];
		b->used_by = &m->used_by[who][i][big];
		++*b->used;
		++*b->used_by;
		return b;
	}
	return NULL;
}

static unsigned client_of(const struct rudp_session *s)
{
	return (unsigned)(rudp_session_peer(s, NULL) - 100) % (SIM_CLIENTS_MAX + 1);
}

static struct block *block_of(void *data)
{
	return (struct block *)((uint8_t *)data - offsetof(struct block, data));
}

/* ---- the application ---- */

static void op_flush(void *user)
{
	struct sim_end *end = user;
	struct sim *sim = end->sim;

	for (unsigned i = 0; i < sim->cfg.legs && rudp_tx_wants_stamp(end->r); i++)
		rudp_tx_stamp(end->r, i, MAX_OF(sim->now, end->flushed_ns));
	for (unsigned i = 0; i < SIM_LEGS_MAX; i++)
		end->links[i].burst = NULL;
	end->flushed_ns = end->sending_until;
}

static void *op_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			size_t len)
{
	struct sim_end *end = user;
	struct block *b;

	if (len > RUDP_MSG_BYTES_MAX || is_response != (end->index != SIM_SERVER))
		FAULT(end->sim, "buf_get of %zu", len);
	if (sim_chance(end->sim, end->sim->cfg.no_buf) || end->slow_reader)
		return NULL;
	b = is_response ? block_new(end, len)
			: block_of_class(end, &end->requests, client_of(s), len);
	if (!b)
		return NULL;
	end->bufs++;
	return b->data;
}

static void op_buf_put(void *user, struct rudp_session *s, void *buf)
{
	struct sim_end *end = user;

	end->bufs--;
	block_free(block_of(buf));
}

/* The memory of a request is freed together with its response, as in the file system. */
static void child_task_free(struct sim_job *job, bool answered)
{
	block_free(block_of(job->buf));
	if (job->answer && !answered)
		block_free(job->answer);
	free(job);
}

static void answer(struct sim_end *end, struct sim_job *job)
{
	struct sim_call *c = &end->sim->calls[job->cookie];
	struct block *t = job->answer;

	sim_pattern_put(t->data, c->resp_len, job->cookie * 2ULL + 1);
	end->tokens++;
	end->calls--;
	end->bufs--;
	end->request_bytes -= job->req_len;
	rudp_respond(job->call, t->data, c->resp_len, t);
	child_task_free(job, true);
}

/* Returns memory for a response, or NULL. Clients share the memory as in server_wait.c of the file
 * system's server. */
static struct block *answer_block(struct sim_end *end, struct rudp_session *s, uint32_t len)
{
	struct sim_memory *m = &end->answers;
	unsigned c = 0, n, n_free;
	enum rudp_standing standing;
	struct block *b;

	while (c + 1 < SIM_BUF_CLASSES && len > class_bytes[c])
		c++;
	n = end->sim->cfg.bufs[c];
	n_free = n - MIN_OF(n, m->used[c][0] + m->used[c][1]);
	if (n == 0 || n_free >= n - n / 4)
		return block_of_class(end, m, client_of(s), len);
	standing = rudp_session_standing(s);
	if (standing == RUDP_STANDING_SILENT)
		return NULL;
	if (standing == RUDP_STANDING_NEW && m->on_trial[c] >= n / 2)
		b = NULL;
	else
		b = block_of_class(end, m, client_of(s), len);
	if (!b && ((standing == RUDP_STANDING_NEW && m->on_trial[c] >= n / 2) || n_free < n / 8))
		rudp_responses_short(end->r);
	if (b && standing == RUDP_STANDING_NEW) {
		b->on_trial = &m->on_trial[c];
		++*b->on_trial;
	}
	return b;
}

static bool child_task_start(struct sim_end *end, struct sim_job *job)
{
	struct sim *sim = end->sim;

	job->answer =
		answer_block(end, rudp_call_session(job->call), sim->calls[job->cookie].resp_len);
	if (!job->answer)
		return false;
	if (job->at <= sim->now) {
		answer(end, job);
		return true;
	}
	job->next = end->jobs;
	end->jobs = job;
	return true;
}

static void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	struct sim_end *end = user;
	struct sim *sim = end->sim;
	uint32_t head[4] = {0};
	struct sim_job *job = calloc(1, sizeof(*job));
	struct sim_call *c;

	if (!job)
		abort();
	memcpy(head, buf, MIN_OF(len, sizeof(head)));
	c = &sim->calls[head[0] < sim->n_calls ? head[0] : 0];
	if (head[0] >= sim->n_calls || c->req_len != len ||
	    !sim_pattern_holds((uint8_t *)buf + HEADER, len - HEADER, head[0] * 2ULL))
		FAULT(sim, "request %u of %zu bytes is damaged", head[0], len);
	else if (++c->executed > 1)
		FAULT(sim, "request %u was executed twice", head[0]);
	end->calls++;
	end->request_bytes += len;
	end->request_bytes_most = MAX_OF(end->request_bytes_most, end->request_bytes);
	*job = (struct sim_job){.at = sim->now + head[2] * NSEC_PER_USEC,
				.call = call,
				.cookie = (unsigned)(c - sim->calls),
				.req_len = (uint32_t)len,
				.buf = buf};
	rudp_call_set_user(call, job);
	if (rudp_call_session(call) != s || rudp_call_user(call) != job)
		FAULT(sim, "call's user or session");
	if (child_task_start(end, job))
		return;
	*end->waiting_tail = job;
	end->waiting_tail = &job->next;
}

/* Runs the waiting jobs in order. Skips the jobs of clients that have used up their share of memory
 * for responses. */
static void jobs_waiting_run(struct sim_end *end)
{
	struct sim_job *left = end->waiting;

	if (!left || (!end->wait_due && end->sim->now < end->wait_again_ns))
		return;
	end->wait_due = false;
	end->wait_again_ns = end->sim->now + WAIT_AGAIN_NS;
	end->waiting = NULL;
	end->waiting_tail = &end->waiting;
	while (left) {
		struct sim_job *job = left;

		left = job->next;
		job->next = NULL;
		if (child_task_start(end, job))
			continue;
		*end->waiting_tail = job;
		end->waiting_tail = &job->next;
	}
}

static void op_sent(void *user, struct rudp_session *s, void *token)
{
	struct block *t = token;
	struct sim_end *end = user;

	if (t->end != end)
		FAULT(end->sim, "foreign token");
	end->tokens--;
	block_free(t);
	jobs_waiting_run(end); /* waiting jobs may need the memory */
}

static void op_call_gone(void *user, struct rudp_session *s, struct rudp_call *call)
{
	struct sim_end *end = user;
	struct sim_job **lists[2] = {&end->jobs, &end->waiting};

	for (unsigned i = 0; i < 2; i++) {
		for (struct sim_job **p = lists[i]; *p; p = &(*p)->next) {
			struct sim_job *job = *p;

			if (job->call != call)
				continue;
			*p = job->next;
			if (end->waiting_tail == &job->next)
				end->waiting_tail = p;
			end->calls--;
			end->bufs--;
			end->request_bytes -= job->req_len;
			child_task_free(job, false);
			return;
		}
	}
	FAULT(end->sim, "call_gone for an unknown call");
}

static void op_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			size_t len)
{
	struct sim_end *end = user;
	struct sim *sim = end->sim;
	struct sim_call *c = &sim->calls[cookie < sim->n_calls ? cookie : 0];

	if (cookie >= sim->n_calls || c->state != SIM_CALL_OPEN || ++c->answered > 1) {
		FAULT(sim, "answer to call %llu, which is not open", (unsigned long long)cookie);
		return;
	}
	if (status == 0 && (c->executed != 1 || len != c->resp_len ||
			    !sim_pattern_holds(buf, len, cookie * 2 + 1)))
		FAULT(sim, "answer to call %llu is wrong", (unsigned long long)cookie);
	if (status != 0 && buf)
		FAULT(sim, "a failed call has a buffer");
	c->state = SIM_CALL_DONE;
	c->status = status;
	c->done_ns = sim->now;
	if (sim->last_answer_ns)
		sim->longest_gap_ns = MAX_OF(sim->longest_gap_ns, sim->now - sim->last_answer_ns);
	sim->last_answer_ns = sim->now;
	sim->n_open--;
	free(c->req); /* free it, so that the sanitizer detects a later read */
	c->req = NULL;
	if (buf) {
		end->bufs--;
		block_free(block_of(buf));
	}
	if (sim->on_done)
		sim->on_done(sim, end->index);
}

static int op_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
		     void **ret_user)
{
	if (len != 5 || memcmp(hello, "hello", 5))
		return -EPROTO;
	*ret_user = user;
	return ((struct sim_end *)user)->sim->cfg.refuse;
}

static void op_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	struct sim_end *end = user;
	struct sim_end *client = &end->sim->ends[client_of(s)];

	end->events[e]++;
	end->last_code = code;
	if (e == RUDP_SESSION_STUCK && end->sim->now >= client->heard_ns + SIM_SILENT_NS)
		client->was_silent = true;
}

static bool op_may_end(void *user, struct rudp_session *s)
{
	const struct sim_end *end = user;

	return client_of(s) > end->sim->cfg.keeps;
}

static const struct rudp_ops ops = {
	.tx = sim_net_tx,
	.tx_flush = op_flush,
	.buf_get = op_buf_get,
	.buf_put = op_buf_put,
	.request = op_request,
	.call_gone = op_call_gone,
	.response = op_response,
	.sent = op_sent,
	.accept = op_accept,
	.may_end = op_may_end,
	.event = op_event,
};

bool sim_call(struct sim *sim, unsigned end, uint32_t req_len, uint32_t resp_len, uint32_t delay_us)
{
	unsigned cookie = sim->n_calls;
	uint32_t head[4] = {cookie, resp_len, delay_us, 0};
	struct sim_call *c;

	if (cookie == sim->calls_size) {
		sim->calls_size = MAX_OF(2 * cookie, 256U);
		sim->calls = realloc(sim->calls, sim->calls_size * sizeof(*sim->calls));
		if (!sim->calls)
			abort();
	}
	c = &sim->calls[cookie];
	req_len = MAX_OF(req_len, HEADER);
	*c = (struct sim_call){.state = SIM_CALL_OPEN,
			       .client = (uint16_t)end,
			       .req_len = req_len,
			       .resp_len = resp_len,
			       .sent_ns = sim->now,
			       .req = malloc(req_len)};
	if (!c->req)
		abort();
	memcpy(c->req, head, HEADER);
	sim_pattern_put(c->req + HEADER, req_len - HEADER, cookie * 2ULL);
	sim->n_calls++;
	sim->n_open++;
	sim->ends[end].due_ns = 0;
	if (rudp_call_send(sim->ends[end].session, c->req, req_len, cookie)) {
		sim->n_calls--;
		sim->n_open--;
		free(c->req);
		c->req = NULL;
		return false;
	}
	if (sim->n_open == 1)
		sim->last_answer_ns = sim->now;
	return true;
}

void sim_abandon(struct sim *sim, unsigned cookie)
{
	struct sim_call *c = &sim->calls[cookie];

	if (c->state != SIM_CALL_OPEN)
		return;
	c->state = SIM_CALL_ABANDONED;
	sim->n_open--;
	free(c->req);
	c->req = NULL;
}

void sim_abandon_all(struct sim *sim, unsigned end)
{
	for (unsigned i = 0; i < sim->n_calls; i++)
		if (sim->calls[i].client == end)
			sim_abandon(sim, i);
}

/* ---- time ---- */

static struct rudp_port_info port_info(const struct sim_end *end, unsigned i)
{
	const struct sim *sim = end->sim;
	uint8_t prefix_len = sim->cfg.ipv6 ? 64 : 16;

	return (struct rudp_port_info){.local = sim_end_addr(sim, end->index, i),
				       .prefix_len = sim->cfg.routed ? 2 * prefix_len : prefix_len,
				       .routed = sim->cfg.routed &&
						 !(end->index && sim->cfg.unrouted >> i & 1),
				       .mtu = sim->cfg.mtu,
				       .label = sim->cfg.labels ? 77 + i : 0,
				       .sources = (uint8_t)sim->cfg.sources,
				       .up = !end->links[i].cut_out};
}

static void end_start(struct sim_end *end)
{
	struct sim *sim = end->sim;
	struct rudp_config cfg = {.identity = 100 + end->index,
				  .epoch = ++end->epoch,
				  .seed = sim_random(sim, 0),
				  .limits = sim->cfg.limits,
				  .security = sim->cfg.security,
				  .n_keys = sim->cfg.security ? 1 : 0,
				  .keys = {{0x5e, 0xc2, 0xe7}},
				  .ops = &ops,
				  .user = end,
				  .n_ports = sim->cfg.legs - (end->index == SIM_SERVER
								      ? sim->cfg.late_server
								      : sim->cfg.late_client)};
	struct datagram_addr seed = sim_end_addr(sim, SIM_SERVER, 0);

	for (unsigned i = 0; i < cfg.n_ports; i++)
		cfg.ports[i] = port_info(end, i);
	end->n_ports = cfg.n_ports;
	if (rudp_new(&cfg, sim->now, &end->r))
		abort();
	rudp_ack_at_once(end->r, sim->cfg.rests);
	if (end->index != SIM_SERVER &&
	    rudp_connect(end->r, &seed, 1, "hello", 5, end, sim->now, &end->session))
		abort();
}

static void memory_init(struct sim_memory *m, unsigned clients)
{
	m->used_by = calloc(clients + 1, sizeof(*m->used_by));
	if (!m->used_by)
		abort();
}

struct sim *sim_new(const struct sim_config *cfg)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		abort();
	/* Large messages are allocated often, and these settings avoid a system call for each of
	 * them. */
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
	memory_init(&sim->ends[SIM_SERVER].requests, cfg->clients);
	memory_init(&sim->ends[SIM_SERVER].answers, cfg->clients);
	sim->cfg = *cfg;
	sim->rng = cfg->seed;
	sim->now = 10 * NSEC_PER_SEC;
	sim->cfg.mtu = cfg->mtu ? cfg->mtu : 1500;
	sim->cfg.turn_ns = cfg->turn_ns ? cfg->turn_ns : 2000;
	for (unsigned i = 0; i <= cfg->clients; i++) {
		struct sim_end *end = &sim->ends[i];

		end->sim = sim;
		end->index = i;
		end->rx_tail = &end->rx_head;
		end->waiting_tail = &end->waiting;
		end_start(end);
	}
	return sim;
}

static void end_clear(struct sim_end *end)
{
	while (end->rx_head) {
		struct sim_pkt *p = end->rx_head;

		end->rx_head = p->next;
		free(p);
	}
	end->rx_tail = &end->rx_head;
	*end->waiting_tail = end->jobs;
	while (end->waiting) {
		struct sim_job *job = end->waiting;

		end->waiting = job->next;
		free(job);
	}
	end->jobs = NULL;
	end->waiting_tail = &end->waiting;
	while (end->blocks)
		block_free(end->blocks);
}

struct sim *sim_free(struct sim *sim)
{
	if (!sim)
		return NULL;
	for (unsigned i = 0; i <= sim->cfg.clients; i++) {
		end_clear(&sim->ends[i]);
		rudp_free(sim->ends[i].r);
	}
	free(sim->ends[SIM_SERVER].requests.used_by);
	free(sim->ends[SIM_SERVER].answers.used_by);
	while (sim->heap_n)
		free(sim->heap[--sim->heap_n]);
	for (unsigned i = 0; i < sim->n_calls; i++)
		free(sim->calls[i].req);
	free(sim->calls);
	free(sim->heap);
	free(sim);
	return NULL;
}

static uint64_t end_due(struct sim_end *end)
{
	uint64_t d;

	if (end->due_ns)
		return end->due_ns;
	d = end->rx_head ? 0 : rudp_deadline(end->r);

	for (const struct sim_job *j = end->jobs; j; j = j->next)
		d = MIN_OF(d, j->at);
	if (end->waiting)
		d = end->wait_due ? 0 : MIN_OF(d, end->wait_again_ns);
	end->due_ns = MAX_OF(MAX_OF(d, end->next_turn), end->stalled_until);
	end->due_ns = MAX_OF(end->due_ns, 1U);
	return end->due_ns;
}

/* Makes each endpoint compute the time of its next work again, because a test may have changed the
 * endpoints. */
static void dues_forget(struct sim *sim)
{
	for (unsigned i = 0; i <= sim->cfg.clients; i++)
		sim->ends[i].due_ns = 0;
}

static void end_turn(struct sim_end *end)
{
	struct sim *sim = end->sim;
	unsigned n = 0;

	end->due_ns = 0;
	end->turns++;
	while (end->rx_head && n++ < 256) {
		struct sim_pkt *p = end->rx_head;

		end->rx_head = p->next;
		if (!end->rx_head)
			end->rx_tail = &end->rx_head;
		rudp_rx_waited(end->r, sim->now - p->at);
		if (rudp_rx(end->r, p->leg, &p->src, p->data, p->len, sim->now) == 0)
			p->from->heard_ns = sim->now;
		free(p);
	}
	for (struct sim_job **p = &end->jobs; *p;) {
		struct sim_job *job = *p;

		if (job->at > sim->now) {
			p = &job->next;
			continue;
		}
		*p = job->next;
		answer(end, job);
	}
	jobs_waiting_run(end);
	rudp_poll(end->r, sim->now);
	jobs_waiting_run(end); /* waiting jobs may need memory that is free now */
	end->polls++;
	end->next_turn = sim->now + sim->cfg.turn_ns;
}

/* Advances the time to the next event, but not beyond `until`. Returns false if there is no event
 * until then. */
static bool step(struct sim *sim, uint64_t until)
{
	struct sim_end *first = NULL;
	uint64_t at = UINT64_MAX;

	for (unsigned i = 0; i <= sim->cfg.clients; i++) {
		uint64_t due = end_due(&sim->ends[i]);

		if (due < at) {
			at = due;
			first = &sim->ends[i];
		}
	}
	if (sim->heap_n && sim->heap[0]->at <= at) {
		struct sim_pkt *p;
		struct sim_end *end;

		if (sim->heap[0]->at > until)
			return false;
		p = sim_net_pop(sim);
		end = p->to;
		sim->now = MAX_OF(sim->now, p->at);
		if (p->at_switch && !p->vanishes) {
			sim_net_forward(sim, p);
			return true;
		}
		if (end->links[p->leg].cut_in || p->vanishes) {
			free(p);
			return true;
		}
		p->next = NULL;
		*end->rx_tail = p;
		end->rx_tail = &p->next;
		end->due_ns = 0;
		return true;
	}
	if (!first || at > until)
		return false;
	sim->now = MAX_OF(sim->now, at);
	end_turn(first);
	return true;
}

bool sim_pass(struct sim *sim, uint64_t ns)
{
	uint64_t until = sim->now + ns;

	dues_forget(sim);
	while (!sim->fault[0] && step(sim, until))
		;
	sim->now = MAX_OF(sim->now, until);
	return !sim->fault[0];
}

bool sim_finish(struct sim *sim, uint64_t max_ns)
{
	uint64_t until = sim->now + max_ns;

	dues_forget(sim);
	while (!sim->fault[0] && sim->n_open && step(sim, until))
		;
	if (sim->n_open)
		FAULT(sim, "%u of %u calls were not answered in time", sim->n_open, sim->n_calls);
	return !sim->fault[0];
}

static bool all_up(const struct sim *sim)
{
	for (unsigned i = 1; i <= sim->cfg.clients; i++)
		if (!rudp_session_is_up(sim->ends[i].session))
			return false;
	return true;
}

bool sim_connect(struct sim *sim, uint64_t max_ns)
{
	uint64_t until = sim->now + max_ns;

	dues_forget(sim);
	while (!sim->fault[0] && !all_up(sim) && step(sim, until))
		;
	if (!all_up(sim))
		FAULT(sim, "not connected in time");
	return !sim->fault[0];
}

void sim_stall(struct sim *sim, unsigned end, uint64_t ns)
{
	sim->ends[end].stalled_until = sim->now + ns;
}

void sim_leg(struct sim *sim, unsigned end, unsigned leg, bool up, bool announced)
{
	struct sim_end *e = &sim->ends[end];

	e->links[leg].cut_in = e->links[leg].cut_out = !up;
	if (announced)
		rudp_port_set_up(e->r, leg, up, sim->now);
}

int sim_port_add(struct sim *sim, unsigned index)
{
	struct sim_end *end = &sim->ends[index];
	const struct rudp_port_info info = port_info(end, end->n_ports);
	int r = rudp_port_add(end->r, &info, sim->now);

	end->n_ports += r == 0;
	return r;
}

void sim_restart(struct sim *sim, unsigned index)
{
	struct sim_end *end = &sim->ends[index];

	rudp_free(end->r);
	end_clear(end);
	end->bufs = end->tokens = end->calls = 0;
	end->request_bytes = 0;
	end_start(end);
}

bool sim_close(struct sim *sim)
{
	if (sim->n_open)
		FAULT(sim, "%u calls never ended", sim->n_open);
	for (unsigned i = 1; i <= sim->cfg.clients; i++) {
		rudp_session_close(sim->ends[i].session, sim->now);
		sim->ends[i].session = NULL;
	}
	/* CLOSE packets may be lost; the server then notices that the client is silent. */
	sim_pass(sim, 12 * NSEC_PER_SEC);
	for (unsigned i = 0; i <= sim->cfg.clients && !sim->fault[0]; i++) {
		struct sim_end *end = &sim->ends[i];

		if (end->bufs || end->tokens || end->calls || rudp_session_next(end->r, NULL))
			FAULT(sim, "end %u keeps %ld buffers, %ld responses, %ld calls, %s", i,
			      end->bufs, end->tokens, end->calls,
			      rudp_session_next(end->r, NULL) ? "a session" : "no session");
	}
	return !sim->fault[0];
}
