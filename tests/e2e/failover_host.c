/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that serves an export while its lease lasts. The export is a file: as long as the host
 * serves, it appends a line with its name and epoch every 5 ms. On SIGUSR1 it releases the export
 * for the host TO. It prints each change of its state.
 *
 *	failover_host NAME START TO FILE ENDPOINT...
 */
#include "agent/cluster/failover/failover_hold.h"
#include "agent/cluster/store/http_client.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITE_NS (5 * NSEC_PER_MSEC)

struct host {
	struct loop_source *writer;
	struct failover_hold *hold;
	struct failover_report r;
	int file;
	const char *name, *to;
};

static volatile sig_atomic_t must_release;

static void on_usr1(int signal)
{
	(void)signal;
	must_release = 1;
}

static void on_member(void *user, const struct cluster_report *r)
{
	(void)user;
	printf("member registered %d: %s\n", r->registered, r->text);
}

static void on_report(void *user, const struct failover_report *r)
{
	struct host *h = user;

	if (r->state != h->r.state || r->epoch != h->r.epoch)
		printf("%s epoch %llu holder %s\n", failover_state_to_string(r->state),
		       (unsigned long long)r->epoch, r->holder);
	h->r = *r;
}

static int on_writer(void *user)
{
	struct host *h = user;
	char line[128];
	int n;

	loop_timer_arm(h->writer, WRITE_NS);
	if (must_release && h->r.state == FAILOVER_ACTIVE) {
		must_release = 0;
		failover_hold_stop(h->hold, h->to);
		failover_hold_stopped(h->hold); /* it writes in this loop only */
	}
	n = snprintf(line, sizeof(line), "%s %llu\n", h->name, (unsigned long long)h->r.epoch);
	if (clock_boot_ns() < h->r.until_ns && write(h->file, line, (size_t)n) != n)
		return -EIO;
	return 0;
}

int main(int argc, char **argv)
{
	struct record_owner self = {.epoch = argc > 2 ? strtoull(argv[2], NULL, 10) : 0};
	struct host h = {.name = argc > 1 ? argv[1] : "", .to = argc > 3 ? argv[3] : ""};
	struct kv_setup kv = {.endpoints = (const char *const *)&argv[5],
			      .n_endpoints = argc > 5 ? (size_t)argc - 5 : 0,
			      .timeout_s = 1};
	struct member_setup member = {.ops = &kv_etcd,
				      .cluster = "test",
				      .host = h.name,
				      .on_report = on_member,
				      .user = &h};
	struct failover_hold_setup hold = {.ops = &kv_etcd,
					   .cluster = "test",
					   .host = h.name,
					   .export_name = "x",
					   .self = &self,
					   .times = &failover_times,
					   .on_report = on_report,
					   .user = &h};
	struct member *m;
	struct loop *loop;

	if (argc < 6)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGUSR1, on_usr1);
	snprintf(self.id, sizeof(self.id), "%.31s", h.name);
	snprintf(self.nonce, sizeof(self.nonce), "%d", getpid());
	member.self = self;
	h.file = open(argv[4], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (h.file < 0 || loop_new(&loop) < 0)
		return 1;
	kv.loop = member.loop = hold.loop = loop;
	if (http_client_prepare() < 0 || kv_etcd.open(&kv, &member.kv) < 0 ||
	    member_new(&member, &m) < 0)
		return 1;
	hold.kv = member.kv;
	hold.member = m;
	if (failover_hold_new(&hold, &h.hold) < 0 ||
	    loop_add_timer(loop, NSEC_PER_MSEC, on_writer, &h, &h.writer) < 0)
		return 1;
	failover_hold_set_eligible(h.hold, true);
	loop_timer_arm(h.writer, 0);
	return loop_run(loop) < 0;
}
