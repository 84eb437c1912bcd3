/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of all hosts, from a store in memory that answers with small pages, and from one that never
 * answers. */
#include "agent/base/child/child_role.h"
#include "agent/cluster/view/view.h"
#include "netcfg/base/os/memfd.h"
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#define ANSWER_MAX 400 /* bytes of values in an answer */
#define PAGE 2	       /* keys in an answer, whatever the limit is */
#define ENTRIES_MAX 16

struct entry {
	char key[KV_KEY_MAX], value[1024];
};

static struct {
	struct entry entries[ENTRIES_MAX];
	size_t n;
	bool down;
	bool stuck; /* ranges begin at the first key, whatever is requested */
	/* the request that has no answer yet */
	char first[KV_KEY_MAX], end[KV_KEY_MAX];
	struct kv_range range;
	kv_answer_cb cb;
	void *user;
} store;

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static void put(const char *key, const char *value)
{
	struct entry *e = &store.entries[store.n++];

	assert_true(store.n <= ENTRIES_MAX);
	snprintf(e->key, sizeof(e->key), "%s", key);
	snprintf(e->value, sizeof(e->value), "%s", value);
	qsort(store.entries, store.n, sizeof(*store.entries), compare);
}

static int fake_range(struct kv *kv, const struct kv_range *r, kv_answer_cb cb, void *user)
{
	assert_null(store.cb);
	snprintf(store.first, sizeof(store.first), "%s", r->first);
	snprintf(store.end, sizeof(store.end), "%s", r->end);
	store.range = *r;
	store.cb = cb;
	store.user = user;
	return 0;
}

static const struct kv_ops fake = {.range = fake_range};

static bool is_in_range(const char *key)
{
	return (store.stuck || strcmp(key, store.first) >= 0) && strcmp(key, store.end) < 0;
}

/* Answers the request. */
static void deliver(void)
{
	const kv_answer_cb cb = store.cb;
	struct kv_pair pairs[PAGE];
	struct kv_answer a = {.pairs = pairs};
	size_t bytes = 0;

	assert_non_null(cb);
	store.cb = NULL;
	for (size_t i = 0; i < store.n && !a.more; i++) {
		struct entry *e = &store.entries[i];

		if (!is_in_range(e->key))
			continue;
		a.more = a.n_pairs == MIN_OF(store.range.limit, PAGE);
		if (a.more)
			break;
		pairs[a.n_pairs] = (struct kv_pair){
			.value = store.range.keys_only ? NULL : e->value, .len = strlen(e->value)};
		strcpy(pairs[a.n_pairs++].key, e->key);
		bytes += store.range.keys_only ? 0 : strlen(e->value);
	}
	if (store.down)
		a = (struct kv_answer){.trouble = CLUSTER_UNREACHABLE, .text = "down"};
	else if (bytes > ANSWER_MAX)
		a = (struct kv_answer){
			.trouble = CLUSTER_WRONG, .too_large = true, .text = "too large"};
	cb(store.user, &a);
}

static int setup(void **state)
{
	memset(&store, 0, sizeof(store));
	return 0;
}

static void serve(const char *host)
{
	char key[KV_KEY_MAX];

	record_key(RECORD_SERVING, "test", host, key);
	put(key, "{}");
}

static json_t *answer;
static char failure[CLUSTER_TEXT_MAX];

static void on_end(void *user, struct view *v, const char *text, enum cluster_trouble trouble,
		   const char *why)
{
	if (text)
		answer = json_loads(text, 0, NULL);
	else
		snprintf(failure, sizeof(failure), "%s", why);
	assert_int_equal(view_id(v), 7);
	view_free(v);
}

static void read_list(enum rows_kind kind)
{
	const struct view_setup s = {.ops = &fake,
				     .cluster = "test",
				     .host = "host-a",
				     .id = 7,
				     .kind = kind,
				     .on_end = on_end};
	struct view *v;

	answer = NULL;
	failure[0] = '\0';
	assert_int_equal(view_new(&s, &v), 0);
	while (!answer && !failure[0])
		deliver();
}

static void write_state(const char *host, const char *more)
{
	char key[KV_KEY_MAX], value[1024];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	record_key(RECORD_STATE, "test", host, key);
	snprintf(value, sizeof(value), "{\"v\":1,\"state\":\"running\",\"time_ms\":%lld%s}",
		 (long long)now.tv_sec * 1000, more);
	put(key, value);
}

static void test_all_pages_of_hosts_are_listed(void **state)
{
	static const char *const states[] = {"running", "running", "unknown", "running", "unknown"};
	const json_t *list;
	char host[16];

	for (unsigned i = 0; i < 5; i++) {
		snprintf(host, sizeof(host), "host-%u", i);
		if (i != 2) /* its lease has ended */
			serve(host);
		if (i != 4) /* it has written no summary yet */
			write_state(host, "");
	}
	read_list(ROWS_HOSTS);
	list = json_object_get(answer, "hosts");
	assert_int_equal(json_array_size(list), 5);
	for (unsigned i = 0; i < 5; i++) {
		const json_t *row = json_array_get(list, i);

		snprintf(host, sizeof(host), "host-%u", i);
		assert_string_equal(json_string_value(json_object_get(row, "host")), host);
		assert_string_equal(json_string_value(json_object_get(row, "state")), states[i]);
	}
	assert_int_equal(json_integer_value(json_object_get(answer, "omitted_hosts")), 0);
	json_decref(answer);
	store.down = true;
	read_list(ROWS_NET);
	assert_string_equal(failure, "down");
}

static void test_a_value_that_is_too_large_hides_no_other_host(void **state)
{
	char large[600] = ",\"later\":\"", half[330] = ",\"later\":\"";
	const json_t *list;

	memset(large + strlen(large), 'x', sizeof(large) - 16);
	strcat(large, "\"");
	memset(half + strlen(half), 'x', sizeof(half) - 32);
	strcat(half, "\"");
	serve("host-c");
	write_state("host-a", half); /* two of them are too large together */
	write_state("host-b", half);
	write_state("host-c", large);
	write_state("host-d", "");
	read_list(ROWS_HOSTS);
	list = json_object_get(answer, "hosts");
	assert_int_equal(json_array_size(list), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(list, i), "host")),
			i == 2	 ? "host-d"
			: i == 1 ? "host-b"
				 : "host-a");
	assert_int_equal(json_integer_value(json_object_get(answer, "omitted_hosts")), 1);
	json_decref(answer);
}

static void test_keys_that_do_not_ascend_are_an_error(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		char host[16];

		snprintf(host, sizeof(host), "host-%u", i);
		serve(host);
	}
	store.stuck = true;
	read_list(ROWS_HOSTS);
	assert_null(answer);
	assert_non_null(strstr(failure, "in the wrong order"));
}

/* ---- the process of the role ---- */

#define PORT 2379
#define LIMIT_NS (20 * NSEC_PER_SEC)

/* Makes a network with a store that accepts connections and answers nothing. */
static int listen_alone(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	struct ip_addr ip;
	struct sockaddr_storage at;
	socklen_t len;
	int fd;

	if (unshare(CLONE_NEWNET) < 0) {
		print_message("# cannot make a network namespace here: %s\n", strerror(errno));
		skip();
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	assert_int_equal(ip_addr_parse("127.0.0.1", &ip), 0);
	len = (socklen_t)ip_addr_to_sockaddr(&ip, PORT, &at);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static void send_settings(int sock, const char *host)
{
	char text[256];
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_SET};
	int fd;

	snprintf(text, sizeof(text),
		 "{\"cluster\":\"test\",\"host\":\"%s\",\"id\":\"aa\",\"epoch\":1,\"servers\":[],"
		 "\"endpoints\":[\"http://127.0.0.1:%d\"]}",
		 host, PORT);
	m.cluster_text.len = strlen(text);
	fd = memfd_new_sealed("test", text, strlen(text));
	assert_true(fd >= 0);
	assert_true(privsep_send(sock, PRIVSEP_MONITOR, &m, fd) >= 0);
	close(fd);
}

/* Waits for the failure of that list. Returns whether its text has `text`. */
static bool fails_with(int sock, uint64_t id, const char *text)
{
	const uint64_t end = clock_now_ns() + LIMIT_NS;
	struct pollfd p = {.fd = sock, .events = POLLIN};
	struct privsep_msg m;
	const char *why;
	int fd;

	while (clock_now_ns() < end && poll(&p, 1, 1000) >= 0) {
		fd = -1;
		if (privsep_recv(sock, PRIVSEP_CLUSTER, &m, &fd, &why) < 0)
			continue;
		cleanup_close(&fd);
		if (m.type == PRIVSEP_CLUSTER_FAILED && m.cluster_failed.id == id)
			return strstr(m.cluster_failed.text, text) != NULL;
	}
	return false;
}

static void test_changed_settings_end_lists_in_progress(void **state)
{
	const int store_fd = listen_alone();
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_READ, .cluster_read = {.id = 7}};
	bool fails;
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pair[1], PRIVSEP_FD_CONTROL);
		_exit(cluster_main(LOG_LEVEL_ERR));
	}
	close(pair[1]);
	send_settings(pair[0], "host-a");
	assert_true(privsep_send(pair[0], PRIVSEP_MONITOR, &m, -1) >= 0);
	send_settings(pair[0], "host-b");
	fails = fails_with(pair[0], 7, "settings have changed");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(fails);
	close(pair[0]);
	close(store_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_pages_of_hosts_are_listed, setup),
		cmocka_unit_test_setup(test_a_value_that_is_too_large_hides_no_other_host, setup),
		cmocka_unit_test_setup(test_keys_that_do_not_ascend_are_an_error, setup),
		cmocka_unit_test(test_changed_settings_end_lists_in_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
