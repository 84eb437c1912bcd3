/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor store: what a holder keeps, what the next agent gets back, and what happens when
 * either of them ends. The holder is a process of this program. */
#include "agent/supervise/handover/exports.h"
#include "agent/supervise/handover/fd_holder.h"
#include "agent/supervise/handover/fd_store.h"
#include "agent/supervise/handover/pinned_files.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define TAKEN_MAX 8

struct ground {
	char top[64], run[80], state[80];
	struct events events;
	struct rundir rundir;
	struct loop *loop;
	struct {
		int fd;
		char name[FD_HOLDER_NAME_MAX];
	} taken[TAKEN_MAX];
	size_t n_taken;
};

static void agent_start(struct ground *g)
{
	assert_return_code(loop_new(&g->loop), 0);
	assert_return_code(fd_store_open(&(struct fd_store_setup){.loop = g->loop,
								  .events = &g->events,
								  .rundir = &g->rundir,
								  .log_level = LOG_LEVEL_ERR}),
			   0);
}

/* As when it was killed, or after an orderly stop. */
static void agent_end(struct ground *g, bool for_good)
{
	fd_store_close(for_good);
	g->loop = loop_free(g->loop);
}

static int setup(void **state)
{
	struct ground *g = calloc(1, sizeof(*g));
	struct reason why;
	pid_t owner;

	strcpy(g->top, "/tmp/plenum-fd-store.XXXXXX");
	assert_non_null(mkdtemp(g->top));
	snprintf(g->run, sizeof(g->run), "%s/run", g->top);
	snprintf(g->state, sizeof(g->state), "%s/state", g->top);
	events_init(&g->events);
	assert_return_code(rundir_open(g->run, g->state, &g->rundir, &owner, &why), 0);
	agent_start(g);
	*state = g;
	return 0;
}

static void forget_taken(struct ground *g)
{
	while (g->n_taken)
		close(g->taken[--g->n_taken].fd);
}

static int teardown(void **state)
{
	struct ground *g = *state;
	char command[128];

	forget_taken(g);
	agent_end(g, true);
	rundir_done(&g->rundir);
	snprintf(command, sizeof(command), "rm -rf '%s'", g->top);
	assert_int_equal(system(command), 0);
	free(g);
	return 0;
}

static void on_taken(void *user, int fd, const char *name)
{
	struct ground *g = user;

	assert_in_range(g->n_taken, 0, TAKEN_MAX - 1);
	g->taken[g->n_taken].fd = fd;
	snprintf(g->taken[g->n_taken++].name, FD_HOLDER_NAME_MAX, "%s", name);
}

static void agent_again(struct ground *g, bool for_good)
{
	agent_end(g, for_good);
	agent_start(g);
	forget_taken(g);
	fd_store_take(on_taken, g);
}

static void put_memory(const char *name, const char *text)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	assert_return_code(fd, errno);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
	fd_store_put(fd, name);
	close(fd);
}

/* The text of the descriptor of that name; "" if there is none. */
static const char *taken_text(const struct ground *g, const char *name)
{
	static char text[64];
	ssize_t n = 0;

	for (size_t i = 0; i < g->n_taken; i++)
		if (strcmp(g->taken[i].name, name) == 0)
			n = pread(g->taken[i].fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static pid_t holder_pid(const struct ground *g)
{
	return g->rundir.n_processes == 1 ? g->rundir.processes[0].pid : -1;
}

static void test_next_agent_gets_descriptors(void **state)
{
	struct ground *g = *state;
	pid_t holder = holder_pid(g);

	put_memory("one", "first");
	put_memory("two", "second");
	put_memory("one", "third");
	put_memory("three", "fourth");
	fd_store_drop("three");
	agent_again(g, false);
	assert_int_equal(holder_pid(g), holder);
	assert_int_equal(g->n_taken, 2);
	assert_string_equal(taken_text(g, "one"), "third");
	assert_string_equal(taken_text(g, "two"), "second");
}

static void test_unclaimed_descriptors_are_dropped(void **state)
{
	struct ground *g = *state;

	put_memory("one", "first");
	put_memory("two", "second");
	agent_again(g, false);
	fd_store_put(g->taken[0].fd, g->taken[0].name);
	fd_store_drop(g->taken[1].name);
	agent_again(g, false);
	assert_int_equal(g->n_taken, 1);
}

static void test_orderly_stop_leaves_nothing(void **state)
{
	struct ground *g = *state;
	pid_t holder = holder_pid(g);

	put_memory("one", "first");
	agent_again(g, true);
	assert_int_equal(g->n_taken, 0);
	assert_int_not_equal(holder_pid(g), holder);
	assert_int_equal(kill(holder, 0), -1);
}

static bool has_event(const struct ground *g, const char *text)
{
	for (size_t i = 0; i < EVENTS_KEPT; i++)
		if (strstr(g->events.ring[i].text, text))
			return true;
	return false;
}

static void test_ended_holder_is_replaced_and_filled(void **state)
{
	struct ground *g = *state;
	pid_t holder = holder_pid(g);

	put_memory("one", "first");
	put_memory("two", "second");
	assert_return_code(kill(holder, SIGKILL), errno);
	for (int i = 0; i < 200 && (holder_pid(g) < 0 || holder_pid(g) == holder); i++)
		loop_turn(g->loop, NSEC_PER_SEC / 10);
	assert_int_not_equal(holder_pid(g), holder);
	assert_true(has_event(g, "descriptor holder: ended; starting another holder"));
	agent_again(g, false);
	assert_int_equal(g->n_taken, 2);
	assert_string_equal(taken_text(g, "two"), "second");
}

/* A stopped holder takes no more messages than its socket holds; the agent must not wait for it. */
static void test_stopped_holder_is_replaced(void **state)
{
	struct ground *g = *state;
	pid_t holder = holder_pid(g);

	assert_return_code(kill(holder, SIGSTOP), errno);
	for (int i = 0; i < 2000 && holder_pid(g) == holder; i++) {
		char name[32];

		snprintf(name, sizeof(name), "memory-%d", i % TAKEN_MAX);
		put_memory(name, name);
	}
	assert_int_not_equal(holder_pid(g), holder);
	assert_true(has_event(g, "descriptor holder: does not take a descriptor"));
	for (int i = 0; i < 200 && holder_pid(g) < 0; i++)
		loop_turn(g->loop, NSEC_PER_SEC / 10);
	agent_again(g, false);
	assert_int_equal(g->n_taken, TAKEN_MAX);
}

/* ---- the holder itself ---- */

struct served {
	char path[64];
	pid_t pid;
};

static struct served serve(uint64_t alone_ns)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct served s;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(s.path, sizeof(s.path), "/tmp/plenum-fd-holder.%d", getpid());
	unlink(s.path);
	strcpy(addr.sun_path, s.path);
	assert_return_code(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), errno);
	assert_return_code(listen(fd, 4), errno);
	s.pid = fork();
	if (s.pid == 0)
		_exit(fd_holder_serve(fd, alone_ns));
	close(fd);
	return s;
}

static int reach(const struct served *s)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, s->path);
	assert_return_code(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), errno);
	return fd;
}

static int ended(struct served *s)
{
	int status;

	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	unlink(s->path);
	return status;
}

static void send_type(int sock, enum fd_holder_type type, const char *name, int fd)
{
	struct fd_holder_msg m = {.magic = FD_HOLDER_MAGIC, .type = (uint16_t)type};

	strcpy(m.name, name);
	assert_return_code(fd_holder_send(sock, &m, fd, 0), 0);
}

static size_t count_listed(int sock)
{
	struct fd_holder_msg m;
	size_t n = 0;
	int fd;

	send_type(sock, FD_HOLDER_LIST, "", -1);
	while (fd_holder_receive(sock, &m, &fd, 0) == 1 && m.type == FD_HOLDER_ITEM) {
		assert_true(fd >= 0);
		close(fd);
		n++;
	}
	assert_int_equal(m.type, FD_HOLDER_LISTED);
	return n;
}

static void test_malformed_messages_end_the_connection_only(void **state)
{
	struct served s = serve(60 * NSEC_PER_SEC);
	struct fd_holder_msg m = {.magic = FD_HOLDER_MAGIC, .type = FD_HOLDER_PUT};
	int good = reach(&s), bad, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char byte;

	send_type(good, FD_HOLDER_PUT, "one", null);
	send_type(good, FD_HOLDER_PUT, "without a descriptor", -1);
	send_type(good, 999, "of a later version", null);
	for (int i = 0; i < 3; i++) {
		bad = reach(&s);
		if (i == 0)
			m.magic++;
		if (i == 1)
			memset(m.name, 'x', sizeof(m.name));
		assert_true(send(bad, &m, i == 2 ? 7 : sizeof(m), 0) > 0);
		assert_true(recv(bad, &byte, 1, 0) <= 0);
		close(bad);
		m = (struct fd_holder_msg){.magic = FD_HOLDER_MAGIC, .type = FD_HOLDER_PUT};
	}
	assert_int_equal(count_listed(good), 1);
	send_type(good, FD_HOLDER_QUIT, "", -1);
	assert_int_equal(ended(&s), 0);
	close(good);
	close(null);
}

static void test_holder_without_agents_ends(void **state)
{
	struct served s = serve(NSEC_PER_SEC / 5);
	int sock = reach(&s), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	send_type(sock, FD_HOLDER_PUT, "one", null);
	assert_int_equal(count_listed(sock), 1);
	close(sock);
	assert_int_equal(ended(&s), 0);
	close(null);
}

static void test_number_of_descriptors_is_bounded(void **state)
{
	struct served s = serve(60 * NSEC_PER_SEC);
	int sock = reach(&s), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char name[32];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "null-%u", i);
		send_type(sock, FD_HOLDER_PUT, name, null);
	}
	assert_int_equal(count_listed(sock), 300);
	for (unsigned i = 300; i < FD_HOLDER_FDS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "null-%u", i);
		send_type(sock, FD_HOLDER_PUT, name, null);
	}
	assert_in_range(count_listed(sock), 300, FD_HOLDER_FDS_MAX);
	send_type(sock, FD_HOLDER_QUIT, "", -1);
	assert_int_equal(ended(&s), 0);
	close(sock);
	close(null);
}

/* The names in the descriptor store stay those of all earlier versions, since the next agent may be
 * an older or a newer one. */
static void test_stored_names_of_pinned_files_are_kept(void **state)
{
	struct exports x = {0};
	uint64_t key;
	int fd = open("/", O_PATH | O_CLOEXEC);

	assert_string_equal(pinned_files_parse_name("hold-2a-scratch", &key), "scratch");
	assert_int_equal(key, 42);
	assert_null(pinned_files_parse_name("export-scratch", &key));
	assert_int_equal(exports_adopt_stored(&x, fd, "hold-2a-scratch"), 0);
	exports_drop(&x, 42);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was kept under that key */
	exports_done(&x, true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_next_agent_gets_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unclaimed_descriptors_are_dropped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_orderly_stop_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_holder_is_replaced_and_filled, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_stopped_holder_is_replaced, setup, teardown),
		cmocka_unit_test(test_stored_names_of_pinned_files_are_kept),
		cmocka_unit_test(test_malformed_messages_end_the_connection_only),
		cmocka_unit_test(test_holder_without_agents_ends),
		cmocka_unit_test(test_number_of_descriptors_is_bounded),
	};

	/* fd_store_open starts this program as the agent's. */
	if (argc > 2 && strcmp(argv[1], "--role") == 0)
		return fd_holder_main(LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
