/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages the connections of clients in the monitor. control.c answers their requests; api.c parses
 * them without privileges.
 */
#include "agent/api/rest/problem.h"
#include "agent/clients/clients_internal.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define TICK_NS NSEC_PER_SEC
/* After this many connections, the loop handles other events. */
#define ACCEPTS_AT_ONCE 16
#define NETWORK_TICK_NS (2 * NSEC_PER_SEC) /* time until the network listener is retried */

/* Sends a fixed error answer to a client for which no child has room. */
static void refuse(int fd)
{
	static const char text[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: " PROBLEM_TYPE "\r\n"
		"Retry-After: 1\r\nConnection: close\r\n\r\n"
		"{\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"too many requests "
		"of "
		"this user wait for the agent\",\"code\":\"busy\",\"details\":[]}";

	/* If the socket is full, the answer is lost, because the monitor must not wait for a
	 * client. */
	if (send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("cannot send a refusal to a client: %s", strerror(errno));
}

/* ---- accepting connections ---- */

static void arm_timer(struct clients *c)
{
	if (c->list && !loop_timer_armed(c->timer))
		loop_timer_arm(c->timer, TICK_NS);
}

static int hand_over(struct clients *c, struct client *cl)
{
	struct privsep_msg m = {
		.type = PRIVSEP_CONNECTION, .connection = cl->id, .peer = {cl->barred}};

	return child_role_send(c->roles[cl->role], &m, cl->fd);
}

/* Adds a connection. Becomes the owner of fd and of the peer's groups, even on an error. Returns 0
 * or negative errno. */
static int admit(struct clients *c, enum privsep_role role, bool barred, bool needs_right, int fd,
		 struct clients_peer *peer)
{
	struct client *cl = calloc(1, sizeof(*cl));
	int r;

	if (!cl) {
		close(fd);
		free(peer->groups);
		return -ENOMEM;
	}
	cl->fd = fd;
	cl->peer = *peer;
	cl->role = role;
	cl->barred = barred;
	cl->needs_right = needs_right;
	clients_set_state(cl, CLIENT_NEW);
	r = clients_new_id(c, &cl->id);
	if (r >= 0)
		r = hand_over(c, cl);
	if (r < 0) {
		clients_client_free(cl);
		return r;
	}
	clients_append(c, cl);
	arm_timer(c);
	return 0;
}

static void admit_or_refuse(struct clients *c, enum privsep_role role, bool barred,
			    bool needs_right, int fd, struct clients_peer *peer)
{
	bool full = false;
	struct client *victim = clients_victim(c->list, role, peer, &full);
	int r;

	if (full) {
		/* A client of the network expects TLS, not plain text. */
		if (role != PRIVSEP_API_TLS)
			refuse(fd);
		close(fd);
		free(peer->groups);
		return;
	}
	if (victim)
		clients_drop(c, victim);
	r = admit(c, role, barred, needs_right, fd, peer);
	if (r < 0)
		log_debug("cannot serve a client: %s", strerror(-r));
}

/* A client whose address connects too often gets no answer: an answer would need the TLS handshake,
 * which the limit has to prevent. */
static void arrive_by_network(struct clients *c, int fd)
{
	struct clients_peer peer = {.uid = CLIENTS_NO_UID, .gid = (gid_t)-1};

	if (network_peer(fd, &peer.address) < 0) {
		close(fd);
		return;
	}
	peer.key = limits_key(&peer.address);
	if (!limits_connect(&c->network.limits, &peer.key, clock_now_ns())) {
		close(fd);
		return;
	}
	network_tune(fd);
	admit_or_refuse(c, PRIVSEP_API_TLS, false, false, fd, &peer);
}

/*
 * Accepts a client of this host. A client without the right for this socket is passed to the child
 * that cannot make changes. That child sends an error with an explanation, which is better than a
 * closed connection.
 */
static void arrive(struct listener *l, int fd)
{
	struct clients *c = l->clients;
	struct clients_peer peer = {0};
	bool admin, barred;
	int r;

	if (!l->path) {
		arrive_by_network(c, fd);
		return;
	}
	r = clients_peer_of(fd, &peer);
	if (r < 0) {
		log_debug("cannot read a client's credentials: %s", strerror(-r));
		close(fd);
		return;
	}
	admin = l->role == PRIVSEP_ADMIN && clients_rights_change(&c->rights, &peer);
	barred = l->role == PRIVSEP_ADMIN && !clients_rights_read(&c->rights, &peer);
	admit_or_refuse(c, admin ? PRIVSEP_ADMIN : PRIVSEP_API, barred, l->role == PRIVSEP_ADMIN,
			fd, &peer);
}

static void pause_listener(struct listener *l)
{
	l->source = loop_source_free(l->source);
}

static int on_listener(void *user, int fd, uint32_t revents)
{
	struct listener *l = user;

	for (unsigned i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int peer;

		/* While the child is being restarted, clients wait in the socket's queue. */
		if (!child_role_is_up(l->clients->roles[l->role])) {
			pause_listener(l);
			return 0;
		}
		peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (peer >= 0) {
			arrive(l, peer);
			continue;
		}
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return 0;
		/* The agent has no more descriptors or memory: pauses the socket until the timer
		 * fires. */
		log_warning("%s: %s", l->path ? l->path : "api.listen", strerror(errno));
		pause_listener(l);
		loop_timer_arm(l->clients->timer, TICK_NS);
		return 0;
	}
	return 0;
}

static void resume_listener(struct listener *l)
{
	struct clients *c = l->clients;
	int r;

	if (l->source || l->fd < 0 || !child_role_is_up(c->roles[l->role]) ||
	    (!l->path && !c->network_is_ready))
		return;
	r = loop_add_fd(c->setup.loop, l->fd, EPOLLIN, false, on_listener, l, &l->source);
	if (r < 0)
		loop_timer_arm(c->timer, TICK_NS);
}

static bool is_there(const struct client *cl)
{
	struct pollfd p = {.fd = cl->fd};

	return cl->fd >= 0 && poll(&p, 1, 0) == 0;
}

static bool is_idle(const struct client *cl)
{
	return cl->state != CLIENT_ASKED && cl->state != CLIENT_WAITS &&
	       cl->state != CLIENT_DROPPED;
}

static bool is_late(const struct clients *c, const struct client *cl, uint64_t now)
{
	const uint64_t age = now - cl->since_ns;

	if (cl->state == CLIENT_STREAM)
		return false;
	if (cl->state == CLIENT_HELD || cl->state == CLIENT_WAITS)
		return age > (cl->state == CLIENT_HELD ? CLIENTS_HELD_NS : CLIENTS_WAITS_NS);
	return is_idle(cl) && age > c->setup.idle_ns;
}

static int on_tick(void *user)
{
	struct clients *c = user;
	uint64_t now = clock_now_ns();

	for (struct client *cl = c->list; cl; cl = cl->next) {
		if (is_late(c, cl, now) || (is_idle(cl) && !is_there(cl)))
			clients_drop(c, cl);
		else if (cl->state == CLIENT_DROPPED && now - cl->since_ns > c->setup.idle_ns)
			child_role_end(c->roles[cl->role],
				       "did not close the connections that the agent dropped");
	}
	for (size_t i = 0; i < PRIVSEP_ROLE_MAX; i++)
		if (c->listeners[i].clients)
			resume_listener(&c->listeners[i]);
	arm_timer(c);
	return 0;
}

/* ---- process and socket of the network service ---- */

static void report_network(struct clients *c)
{
	if (c->setup.on_network)
		c->setup.on_network(c->setup.user);
}

static void listen_to_network(struct clients *c)
{
	struct listener *l = &c->listeners[PRIVSEP_API_TLS];
	char buf[IP_ADDR_STR_MAX];

	if (!c->network_is_ready)
		return;
	/* The process was just started, and clients may be waiting in the socket's queue. */
	if (l->fd >= 0) {
		resume_listener(l);
		return;
	}
	l->clients = c;
	l->role = PRIVSEP_API_TLS;
	l->fd = network_listen(&c->network);
	if (l->fd < 0) {
		l->fd = -1;
		return;
	}
	events_add(c->setup.events, LOG_LEVEL_INFO, "api-tls", "the API is served at %s port %u",
		   ip_addr_format(&c->network.config.listen, buf, sizeof(buf)),
		   c->network.config.port);
	resume_listener(l);
}

static void take_tls_state(struct clients *c, const struct privsep_tls_state *state)
{
	network_take_state(&c->network, state);
	c->network_is_ready = c->network_is_ready || state->good;
	listen_to_network(c);
	report_network(c);
}

/* ---- messages from the children ---- */

static const char *take_request(struct clients *c, struct client *cl, const struct privsep_msg *m,
				int fd)
{
	if (cl->state != CLIENT_NEW && cl->state != CLIENT_HELD)
		return "second request before the end of the first one";
	if (cl->changes)
		return "request after a change on one connection";
	if (clients_is_nameless(cl))
		return "request without a login";
	clients_set_state(cl, CLIENT_ASKED);
	cl->changes = privsep_is_change((enum privsep_type)m->type);
	c->setup.on_request(c->setup.user, cl, m, fd);
	return NULL;
}

/* Returns whether the client still has the rights that it had when its connection was accepted or,
 * for a network client, the role that its last token had. */
static bool is_entitled(const struct clients *c, const struct client *cl)
{
	const struct access_entry *e;

	if (cl->role == PRIVSEP_API_TLS) {
		e = access_find(&c->network.access, cl->hash);
		return cl->access == ACCESS_NONE || (e && e->role == cl->access);
	}
	if (cl->role == PRIVSEP_ADMIN)
		return clients_rights_change(&c->rights, &cl->peer);
	/* A client may have gained the right to make changes after it connected to the admin
	 * socket. It has to connect again, because only the process `admin` can make changes. */
	return !cl->needs_right || (!clients_rights_change(&c->rights, &cl->peer) &&
				    clients_rights_read(&c->rights, &cl->peer) == !cl->barred);
}

/* Prepares the connection for its next request. Call when the child has sent an answer, or has
 * received the first bytes of the next request. */
static const char *take_next(struct clients *c, struct client *cl)
{
	if (cl->state == CLIENT_ASKED || cl->state == CLIENT_STREAM)
		return "another request before the first was answered";
	if (cl->changes)
		return "another request on a connection that has made a change";
	if (is_entitled(c, cl))
		clients_set_state(cl, CLIENT_NEW);
	else
		clients_drop(c, cl);
	return NULL;
}

static const char *on_message(void *user, struct child_role *r, const struct privsep_msg *m, int fd)
{
	struct clients *c = user;
	struct client *cl = clients_find(c, m->connection);

	if (m->type == PRIVSEP_TLS_STATE) {
		take_tls_state(c, &m->tls_state);
		return NULL;
	}
	if (m->type == PRIVSEP_SHARED_READ) {
		if (child_role_kind(r) == PRIVSEP_API_TLS && !c->network.has_logins)
			return "read for many clients before any login";
		c->setup.on_shared_read(c->setup.user, child_role_kind(r), &m->shared_read);
		return NULL;
	}
	if (!cl || cl->role != child_role_kind(r))
		return "unknown connection";
	if (m->type == PRIVSEP_CLOSED) {
		clients_forget(c, cl);
		if (c->setup.on_gone)
			c->setup.on_gone(c->setup.user);
		return NULL;
	}
	/* The child sent this before it learned that the connection was closed. */
	if (cl->state == CLIENT_DROPPED)
		return NULL;
	if (m->type == PRIVSEP_NEXT)
		return take_next(c, cl);
	if (m->type == PRIVSEP_LOGIN)
		return clients_take_login(c, cl, m);
	if (m->type != PRIVSEP_HELD && m->type != PRIVSEP_WAITS)
		return take_request(c, cl, m, fd);
	if (clients_is_nameless(cl))
		return "wait message without a login";
	if (cl->state != CLIENT_NEW)
		return "wait message after a request";
	clients_set_state(cl, m->type == PRIVSEP_HELD ? CLIENT_HELD : CLIENT_WAITS);
	return NULL;
}

static void on_child_start(void *user, struct child_role *r)
{
	struct clients *c = user;
	struct privsep_msg m = {.type = PRIVSEP_EVENT_NOTE,
				.event_note = {c->next_event, c->instance}};

	if (child_role_kind(r) == PRIVSEP_API_TLS) {
		c->network_is_ready = c->network.has_logins = false;
		network_offer_again(&c->network);
		clients_offer_files(c, r);
	}
	/* Tells a child that has just started the number of the latest event. */
	if (c->next_event)
		child_role_send(r, &m, -1);
	resume_listener(&c->listeners[child_role_kind(r)]);
}

static void on_child_end(void *user, struct child_role *r)
{
	struct clients *c = user;

	clients_forget_all(c, child_role_kind(r));
	if (c->setup.on_gone)
		c->setup.on_gone(c->setup.user);
}

/* ---- functions for the agent ---- */

bool clients_may_change(const struct clients *c, const struct client *cl)
{
	if (cl->role == PRIVSEP_API_TLS)
		return cl->access > ACCESS_VIEW && is_there(cl);
	return cl->role == PRIVSEP_ADMIN && clients_rights_change(&c->rights, &cl->peer) &&
	       is_there(cl);
}

/* Tells the children that there is an event or a change. */
static void note(struct clients *c)
{
	struct privsep_msg m = {.type = PRIVSEP_EVENT_NOTE,
				.event_note = {c->next_event, c->instance}};

	for (size_t i = 0; i < PRIVSEP_ROLE_MAX; i++)
		if (c->roles[i])
			child_role_send(c->roles[i], &m, -1);
}

uint64_t clients_shared_read_id(enum privsep_role role, uint32_t what)
{
	return (uint64_t)role * PRIVSEP_WHAT_MAX + what + 1;
}

static int answer_shared_read(struct clients *c, uint64_t id, const struct privsep_reply *reply,
			      int body)
{
	const uint64_t role = (id - 1) / PRIVSEP_WHAT_MAX;
	struct privsep_msg m = {.type = PRIVSEP_SHARED_ANSWER,
				.shared_answer = {(uint32_t)((id - 1) % PRIVSEP_WHAT_MAX), *reply}};

	_Static_assert(PRIVSEP_ROLE_MAX * PRIVSEP_WHAT_MAX < SHARED_READ_IDS,
		       "ids of shared reads are reserved");
	return child_role_send(c->roles[role], &m, body);
}

int clients_stream(struct clients *c, uint64_t id)
{
	struct client *cl = clients_find(c, id), *victim;
	bool full;

	if (!cl)
		return -ENOENT;
	victim = clients_stream_victim(c->list, cl->role, &cl->peer, &full);
	if (full)
		return -EMFILE;
	if (victim)
		clients_drop(c, victim);
	cl->streams = true;
	return 0;
}

int clients_answer(struct clients *c, uint64_t id, const struct privsep_reply *reply, int body)
{
	struct privsep_msg m = {.type = PRIVSEP_REPLY, .connection = id, .reply = *reply};
	struct client *cl = clients_find(c, id);

	if (id > 0 && id < SHARED_READ_IDS)
		return answer_shared_read(c, id, reply, body);
	if (!cl || cl->state != CLIENT_ASKED)
		return -ENOENT;
	/* The children learn of the change before the client gets its answer. So the client can
	 * read its change at once, from either child. */
	if (cl->changes)
		note(c);
	clients_set_state(cl, cl->streams ? CLIENT_STREAM : CLIENT_ANSWERED);
	return child_role_send(c->roles[cl->role], &m, body);
}

/* Only clients of the admin socket count: others must not be able to delay the agent's exit. */
bool clients_answer_pending(const struct clients *c)
{
	for (const struct client *cl = c ? c->list : NULL; cl; cl = cl->next)
		if (cl->role == PRIVSEP_ADMIN && cl->state == CLIENT_ANSWERED)
			return true;
	return false;
}

void clients_note_event(struct clients *c, uint64_t next, uint64_t instance)
{
	if (!c)
		return;
	c->next_event = next;
	c->instance = instance;
	note(c);
}

/* Ends the connections of clients whose rights have changed. A connection whose answer is being
 * sent is checked before its next request instead. */
static void drop_changed(struct clients *c)
{
	for (struct client *cl = c->list; cl; cl = cl->next)
		if (cl->state != CLIENT_ASKED && cl->state != CLIENT_ANSWERED &&
		    cl->state != CLIENT_DROPPED && !is_entitled(c, cl))
			clients_drop(c, cl);
}

/* The mode of the socket's file lets all users connect, because any of them may be listed in the
 * configuration. The credentials from the kernel decide about each client. */
void clients_set_rights(struct clients *c, struct clients_rights *rights)
{
	bool others = rights->n_users > 0 || rights->n_groups > 0;
	struct listener *l = &c->listeners[PRIVSEP_ADMIN];

	clients_rights_done(&c->rights);
	c->rights = *rights;
	*rights = (struct clients_rights){0};
	drop_changed(c);
	l->mode = others ? 0666 : 0600;
	if (l->fd >= 0 && chmod(l->path, l->mode) < 0)
		events_add(c->setup.events, LOG_LEVEL_WARNING, "agent", "%s: %s", l->path,
			   strerror(errno));
}

static int listener_open(struct listener *l)
{
	struct stat st;
	int fd, r = listen_open(l->path, l->mode, l->group, &fd);

	if (r < 0)
		return r;
	cleanup_close(&l->fd);
	l->fd = fd;
	/* If another process has just removed the file, clients_restore creates it again. */
	if (stat(l->path, &st) < 0)
		st = (struct stat){0};
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

static int open_listener(struct clients *c, enum privsep_role role, const char *path, mode_t mode,
			 const char *group)
{
	struct listener *l = &c->listeners[role];

	l->clients = c;
	l->role = role;
	l->path = path;
	l->mode = mode;
	l->group = group;
	return listener_open(l);
}

static bool is_named(const struct listener *l)
{
	struct stat st;

	return lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino;
}

int clients_restore(struct clients *c)
{
	int n = 0;

	for (size_t i = 0; i < PRIVSEP_ROLE_MAX; i++) {
		struct listener *l = &c->listeners[i];
		int r;

		if (!l->clients || !l->path || is_named(l))
			continue;
		pause_listener(l);
		r = listener_open(l);
		resume_listener(l);
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

static int open_child(struct clients *c, enum privsep_role role)
{
	struct child_role_setup setup = {.role = role,
					 .loop = c->setup.loop,
					 .events = c->setup.events,
					 .log_level = c->setup.log_level,
					 .on_message = on_message,
					 .on_start = on_child_start,
					 .on_end = on_child_end,
					 .user = c};
	int r = child_role_new(&setup, &c->roles[role]);

	if (r >= 0)
		resume_listener(&c->listeners[role]);
	return r;
}

/* ---- configuration of the network service ---- */

static void close_network(struct clients *c)
{
	struct listener *l = &c->listeners[PRIVSEP_API_TLS];

	pause_listener(l);
	cleanup_close(&l->fd);
	l->fd = -1;
	c->roles[PRIVSEP_API_TLS] = child_role_free(c->roles[PRIVSEP_API_TLS]);
	clients_forget_all(c, PRIVSEP_API_TLS);
	network_done(&c->network);
	c->network_is_ready = false;
}

static void change_network(struct clients *c)
{
	int r = 0;

	c->network_changes = false;
	close_network(c);
	c->network.config = c->next_network;
	c->next_network = (struct network_config){.port = 0};
	if (c->network.config.listen.family) {
		network_load(&c->network);
		r = open_child(c, PRIVSEP_API_TLS);
	}
	if (r < 0)
		events_add(c->setup.events, LOG_LEVEL_ERR, "api-tls",
			   "cannot start the process that serves the API over the network: %s",
			   strerror(-r));
	report_network(c);
}

void clients_reload_network(struct clients *c)
{
	if (!c->network.config.listen.family)
		return;
	network_load(&c->network);
	drop_changed(c);
	note(c); /* the process asks for the role of each token again */
	clients_offer_files(c, c->roles[PRIVSEP_API_TLS]);
	report_network(c);
}

static int on_network_timer(void *user)
{
	struct clients *c = user;

	if (c->network_changes)
		change_network(c);
	else if (network_needs_files(&c->network))
		clients_reload_network(c);
	if (!c->network.config.listen.family)
		return 0;
	listen_to_network(c);
	clients_report_refusals(c);
	report_network(c);
	return loop_timer_arm(c->network_timer, NETWORK_TICK_NS);
}

/* Makes the change later, in a turn of the event loop, because the caller may be a handler of the
 * process that the change replaces. */
void clients_set_network(struct clients *c, struct network_config *config)
{
	if (!c->network_changes && network_config_equal(&c->network.config, config)) {
		network_config_done(config);
		clients_reload_network(c);
		return;
	}
	network_config_done(&c->next_network);
	c->next_network = *config;
	*config = (struct network_config){.port = 0};
	c->network_changes = true;
	loop_timer_arm(c->network_timer, 0);
}

json_t *clients_network_problems(const struct clients *c)
{
	return c ? network_problems(&c->network, (uint64_t)time(NULL)) : json_array();
}

int clients_new(const struct clients_setup *setup, struct clients **ret)
{
	struct clients *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->setup = *setup;
	for (size_t i = 0; i < PRIVSEP_ROLE_MAX; i++)
		c->listeners[i].fd = -1;
	network_init(&c->network);
	r = clients_rights_resolve(NULL, 0, NULL, 0, setup->events, &c->rights);
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC * 100, on_tick, c, &c->timer);
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC * 100, on_network_timer, c,
				   &c->network_timer);
	if (r >= 0)
		r = open_listener(c, PRIVSEP_API, setup->read_path, 0660, "plenum");
	if (r >= 0)
		r = open_listener(c, PRIVSEP_ADMIN, setup->admin_path, 0600, NULL);
	if (r >= 0)
		r = open_child(c, PRIVSEP_API);
	if (r >= 0)
		r = open_child(c, PRIVSEP_ADMIN);
	if (r < 0) {
		clients_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

pid_t clients_child_pid(const struct clients *c, enum privsep_role role)
{
	return c ? child_role_pid(c->roles[role]) : 0;
}

struct clients *clients_free(struct clients *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < PRIVSEP_ROLE_MAX; i++) {
		struct listener *l = &c->listeners[i];

		child_role_free(c->roles[i]);
		loop_source_free(l->source);
		if (l->fd >= 0 && l->path)
			unlink(l->path);
		cleanup_close(&l->fd);
	}
	while (c->list)
		clients_forget(c, c->list);
	loop_source_free(c->timer);
	loop_source_free(c->network_timer);
	network_config_done(&c->next_network);
	network_done(&c->network);
	clients_rights_done(&c->rights);
	free(c);
	return NULL;
}
