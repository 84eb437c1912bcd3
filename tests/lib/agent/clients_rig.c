/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements clients_rig.h: runs the monitor's side, and sends the answers that an agent would
 * send. */
#include "tests/lib/agent/clients_rig.h"
#include "agent/api/api_internal.h"
#include "netcfg/base/os/memfd.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#define PATIENCE_NS (60 * NSEC_PER_SEC)
#define ENV_KIND "PLENUM_TEST_CHILD"
#define ENV_ROLE "PLENUM_TEST_ROLE"

/* Acts as the agent: admits a stream (200) or refuses it (429). */
static void answer_stream(struct clients_rig *w, uint64_t id)
{
	const bool may = clients_stream(w->clients, id) >= 0;
	const struct privsep_reply reply = {may ? 200 : 429, PRIVSEP_JSON, 2, 0, ""};
	autoclose int fd = memfd_new_sealed("reply", "{}", 2);

	assert_int_equal(clients_answer(w->clients, id, &reply, fd), 0);
}

void clients_rig_answer_look(struct clients_rig *w)
{
	const struct privsep_shared_read *q = &w->shared_read;
	const struct events_filter f = {.since = q->since, .instance = q->instance};
	json_t *o = q->what == PRIVSEP_EVENTS ? events_to_json(&w->events, &f)
					      : json_pack("{s:i}", "look", (int)w->n_looks);
	autofree char *text = json_dumps(o, JSON_COMPACT);
	const struct privsep_reply reply = {200, PRIVSEP_JSON, strlen(text), 0, ""};
	autoclose int fd = memfd_new_sealed("seen", text, strlen(text));

	json_decref(o);
	assert_int_equal(clients_answer(w->clients, clients_shared_read_id(PRIVSEP_API, q->what),
					&reply, fd),
			 0);
}

static void on_shared_read(void *user, enum privsep_role role, const struct privsep_shared_read *q)
{
	struct clients_rig *w = user;

	assert_int_equal(role, PRIVSEP_API);
	w->n_looks++;
	w->shared_read = *q;
	if (!w->hold_looks)
		clients_rig_answer_look(w);
}

static void answer(struct clients_rig *w, uint64_t id)
{
	static const char text[] = "{\"fine\":true}";
	const struct privsep_reply reply = {200, PRIVSEP_JSON, strlen(text), 0, ""};
	autoclose int fd = memfd_new_sealed("reply", text, strlen(text));

	assert_int_equal(clients_answer(w->clients, id, &reply, fd), 0);
}

static void on_request(void *user, struct client *c, const struct privsep_msg *m, int fd)
{
	struct clients_rig *w = user;

	w->n_requests++;
	w->peer = c->peer;
	w->last = *m;
	w->may_change = clients_may_change(w->clients, c);
	w->change_allowed |= w->may_change && privsep_is_change((enum privsep_type)m->type);
	if (m->type == PRIVSEP_STREAM)
		answer_stream(w, c->id);
	else if (!w->hold_answer)
		answer(w, c->id);
}

static int on_timer(void *user)
{
	struct clients_rig *w = user;
	ssize_t n;

	if (w->client >= 0) {
		n = recv(w->client, w->got + w->n_got, sizeof(w->got) - 1 - w->n_got, MSG_DONTWAIT);
		if (n > 0)
			w->n_got += (size_t)n;
		w->got[w->n_got] = '\0';
	}
	if (w->done(w) || clock_now_ns() > w->give_up_ns)
		loop_exit(w->loop, 0);
	else
		loop_timer_arm(w->timer, NSEC_PER_MSEC);
	return 0;
}

struct clients_rig *clients_rig_new(const char *kind, const char *role)
{
	struct clients_rig *w = calloc(1, sizeof(*w));
	struct clients_setup setup = {.log_level = LOG_LEVEL_ERR,
				      .on_request = on_request,
				      .on_shared_read = on_shared_read};

	assert_non_null(w);
	setenv(ENV_KIND, kind, 1);
	setenv(ENV_ROLE, role, 1);
	w->client = w->waiting = -1;
	strcpy(w->dir, "/tmp/plenum-clients.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->read_path, sizeof(w->read_path), "%s/plenumd.sock", w->dir);
	snprintf(w->admin_path, sizeof(w->admin_path), "%s/plenumd-admin.sock", w->dir);
	events_init(&w->events);
	log_set_level(LOG_LEVEL_ERR - 1);
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(loop_add_timer(w->loop, NSEC_PER_MSEC, on_timer, w, &w->timer), 0);
	setup.loop = w->loop;
	setup.idle_ns = strcmp(role, "none") == 0 || strcmp(kind, "hoard") == 0 ? NSEC_PER_SEC
										: CLIENTS_IDLE_NS;
	setup.events = &w->events;
	setup.read_path = w->read_path;
	setup.admin_path = w->admin_path;
	setup.user = w;
	assert_int_equal(clients_new(&setup, &w->clients), 0);
	return w;
}

void clients_rig_free(struct clients_rig *w)
{
	cleanup_close(&w->client);
	cleanup_close(&w->waiting);
	clients_free(w->clients);
	assert_int_equal(access(w->read_path, F_OK), -1);
	loop_source_free(w->timer);
	loop_free(w->loop);
	rmdir(w->dir);
	free(w);
}

void clients_rig_finish(struct clients_rig *w, bool (*done)(struct clients_rig *w))
{
	w->done = done;
	w->give_up_ns = clock_now_ns() + PATIENCE_NS;
	loop_timer_arm(w->timer, 0);
	assert_int_equal(loop_run(w->loop), 0);
}

bool clients_rig_run(struct clients_rig *w, bool (*done)(struct clients_rig *w))
{
	clients_rig_finish(w, done);
	return done(w);
}

int clients_rig_connect(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

void clients_rig_ask(struct clients_rig *w, const char *path, const char *request)
{
	w->client = clients_rig_connect(path);
	assert_int_equal(send(w->client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
}

void clients_rig_next(struct clients_rig *w, const char *request)
{
	w->n_got = 0;
	w->got[0] = '\0';
	clients_rig_ask(w, w->read_path, request);
}

bool clients_rig_answered(struct clients_rig *w)
{
	const char *body = strstr(w->got, "\r\n\r\n");

	return body && strchr(body, '}');
}

bool clients_rig_is_child(int argc, char **argv)
{
	return argc > 2 && strcmp(argv[1], "--role") == 0;
}

int clients_rig_child(char **argv, int (*other)(const char *kind))
{
	const char *kind = getenv(ENV_KIND), *name = argv[2];
	enum privsep_role role = PRIVSEP_API;

	while (strcmp(privsep_role_to_string(role), name) != 0)
		role++;
	if (strcmp(kind, "real") == 0 || strcmp(getenv(ENV_ROLE), name) != 0)
		return api_main(role, LOG_LEVEL_ERR);
	return other ? other(kind) : 1;
}
