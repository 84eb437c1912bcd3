/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lab's virtual switches: one per leg. Every port of a virtual host is a pair of unix datagram
 * sockets, QEMU's HOST.LEG and ours HOST.LEG.switch; a frame goes to the other ports of its leg, to
 * one of them once its address is learnt. Frames are passed whole and unchanged: VLAN tags, LACP
 * and LLDP reach the far end, as over a cable when a leg has two ports.
 *
 *	switch DIR HOST.LEG...        serves until its standard input ends
 *	switch --set DIR HOST.LEG SETTING...
 *
 * Settings of a port, for frames in both directions: `silent=on|off` (swallow everything, the
 * carrier stays), `loss=PERCENT%`, `delay=MILLISECONDSms`, `mtu=BYTES` (longer frames are lost; 0:
 * none), `group=N` (ports see only ports of their own group: a misconfigured switch), `switch=LEG`
 * (it is a port of that leg's switch), `clear`.
 * HOST.LEG may be `all`; `all capture=FILE` writes what enters the switches to a pcapng file, one
 * interface a port, until `all capture=off`.
 */
#include "netcfg/base/base.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PORTS_MAX 64
#define MACS_MAX 512
#define FRAME_MAX 65536
#define BURST 64
#define DELAYED_MAX 4096
#define FRAME_MIN 60
#define CAPTURE_BYTES_MAX (64L << 20)

struct port {
	char name[64];
	char leg[32];
	unsigned leg_number; /* equal for the ports of one switch */
	unsigned own_number; /* by its leg */
	int fd;
	struct sockaddr_un peer;
	bool silent;
	unsigned mtu; /* 0: any */
	unsigned group;
	double loss; /* 0 to 1 */
	uint64_t delay_ns;
	uint64_t forwarded, dropped;
};

struct mac_entry {
	uint8_t mac[6];
	unsigned leg_number, port;
	bool used;
};

struct delayed {
	uint64_t due_ns;
	unsigned to;
	size_t len;
	uint8_t *data;
};

struct fabric {
	const char *dir;
	struct port ports[PORTS_MAX];
	unsigned n_ports;
	struct mac_entry macs[MACS_MAX];
	struct delayed queue[DELAYED_MAX]; /* kept in order of due_ns */
	unsigned n_queue;
	int control;
	uint64_t random;
	FILE *capture;
};

static int unix_address(const char *dir, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	return snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", dir, name) <
			       (int)sizeof(ret->sun_path)
		       ? 0
		       : -ENAMETOOLONG;
}

static int unix_bind(const char *dir, const char *name)
{
	struct sockaddr_un sa;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || unix_address(dir, name, &sa))
		return -errno;
	unlink(sa.sun_path);
	return bind(fd, (struct sockaddr *)&sa, sizeof(sa)) ? -errno : fd;
}

static double fabric_chance(struct fabric *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (double)(f->random >> 11) / (double)(1ULL << 53);
}

/* The entry of an address, or the one to learn it in: a bond has one address on two switches. */
static struct mac_entry *fabric_mac(struct fabric *f, unsigned leg_number, const uint8_t *mac)
{
	unsigned h = (mac[5] * 31U + mac[4] * 7U + mac[3] * 131U + mac[0] + leg_number) % MACS_MAX;

	for (unsigned i = 0; i < MACS_MAX; i++) {
		struct mac_entry *e = &f->macs[(h + i) % MACS_MAX];

		if (!e->used || (e->leg_number == leg_number && memcmp(e->mac, mac, 6) == 0))
			return e;
	}
	f->macs[h].used = false;
	return &f->macs[h];
}

static void fabric_send(struct fabric *f, unsigned to, const uint8_t *data, size_t len)
{
	struct port *p = &f->ports[to];

	if (sendto(p->fd, data, len, 0, (struct sockaddr *)&p->peer, sizeof(p->peer)) ==
	    (ssize_t)len)
		p->forwarded++;
	else
		p->dropped++; /* the host is off, or slow: as a full switch port */
}

static void fabric_delay(struct fabric *f, unsigned to, const uint8_t *data, size_t len,
			 uint64_t due)
{
	unsigned at = f->n_queue;
	uint8_t *copy = f->n_queue < DELAYED_MAX ? malloc(len) : NULL;

	if (!copy) {
		f->ports[to].dropped++;
		return;
	}
	memcpy(copy, data, len);
	while (at > 0 && f->queue[at - 1].due_ns > due)
		at--;
	memmove(&f->queue[at + 1], &f->queue[at], (f->n_queue - at) * sizeof(f->queue[0]));
	f->queue[at] = (struct delayed){.due_ns = due, .to = to, .len = len, .data = copy};
	f->n_queue++;
}

static void fabric_release(struct fabric *f, uint64_t now)
{
	unsigned n = 0;

	while (n < f->n_queue && f->queue[n].due_ns <= now) {
		fabric_send(f, f->queue[n].to, f->queue[n].data, f->queue[n].len);
		free(f->queue[n].data);
		n++;
	}
	f->n_queue -= n;
	memmove(f->queue, f->queue + n, f->n_queue * sizeof(f->queue[0]));
}

static void fabric_pass(struct fabric *f, unsigned from, unsigned to, const uint8_t *data,
			size_t len)
{
	const struct port *a = &f->ports[from], *b = &f->ports[to];

	if (from == to || a->leg_number != b->leg_number || a->group != b->group || b->silent)
		return;
	if ((b->mtu && len > b->mtu + 18U) || (b->loss > 0 && fabric_chance(f) < b->loss))
		return;
	if (a->delay_ns + b->delay_ns)
		fabric_delay(f, to, data, len, clock_now_ns() + a->delay_ns + b->delay_ns);
	else
		fabric_send(f, to, data, len);
}

static void fabric_frame(struct fabric *f, unsigned from, const uint8_t *data, size_t len)
{
	struct port *p = &f->ports[from];
	struct mac_entry *e;

	if (len < 14 || p->silent || (p->mtu && len > p->mtu + 18U) ||
	    (p->loss > 0 && fabric_chance(f) < p->loss))
		return;
	if (!(data[6] & 1)) {
		e = fabric_mac(f, p->leg_number, data + 6);
		memcpy(e->mac, data + 6, 6);
		e->leg_number = p->leg_number;
		e->used = true;
		e->port = from;
	}
	e = data[0] & 1 ? NULL : fabric_mac(f, p->leg_number, data);
	if (e && e->used) {
		fabric_pass(f, from, e->port, data, len);
		return;
	}
	for (unsigned to = 0; to < f->n_ports; to++)
		fabric_pass(f, from, to, data, len);
}

/* --- the capture: pcapng, draft-ietf-opsawg-pcapng, sections 4.1, 4.2 and 4.3 -------------------
 */

static void capture_block(FILE *file, uint32_t type, const void *head, uint32_t head_len,
			  const void *data, uint32_t data_len)
{
	uint32_t padded = (data_len + 3) & ~3U, len = 12 + head_len + padded;
	static const char zeros[4];

	fwrite(&type, 4, 1, file);
	fwrite(&len, 4, 1, file);
	fwrite(head, head_len, 1, file);
	fwrite(data, data_len, 1, file);
	fwrite(zeros, padded - data_len, 1, file);
	fwrite(&len, 4, 1, file);
}

static void capture_close(struct fabric *f)
{
	if (f->capture)
		fclose(f->capture);
	f->capture = NULL;
}

static bool capture_open(struct fabric *f, const char *path)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		int64_t section_len;
	} section = {0x1a2b3c4d, 1, 0, -1};
	struct {
		uint16_t linktype, reserved;
		uint32_t snaplen;
		uint16_t option, option_len; /* if_name */
	} interface = {1, 0, 0, 2, 0};

	capture_close(f);
	f->capture = fopen(path, "we");
	if (!f->capture)
		return false;
	capture_block(f->capture, 0x0a0d0d0a, &section, sizeof(section), NULL, 0);
	for (unsigned i = 0; i < f->n_ports; i++) {
		interface.option_len = (uint16_t)strlen(f->ports[i].name);
		capture_block(f->capture, 1, &interface, sizeof(interface), f->ports[i].name,
			      interface.option_len);
	}
	return true;
}

static void capture_frame(struct fabric *f, unsigned from, const uint8_t *data, size_t len)
{
	uint64_t now_us;
	struct timespec ts;

	if (!f->capture || ftell(f->capture) > CAPTURE_BYTES_MAX)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	now_us = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
	capture_block(f->capture, 6,
		      (uint32_t[]){from, (uint32_t)(now_us >> 32), (uint32_t)now_us, (uint32_t)len,
				   (uint32_t)len},
		      20, data, (uint32_t)len);
}

/* --- settings ----------------------------------------------------------------------------------
 */

static void port_clear(struct port *p)
{
	p->silent = false;
	p->mtu = 0;
	p->leg_number = p->own_number;
	p->group = 0;
	p->loss = 0;
	p->delay_ns = 0;
}

static bool port_join(struct fabric *f, struct port *p, const char *leg)
{
	for (unsigned i = 0; i < f->n_ports; i++)
		if (strcmp(f->ports[i].leg, leg) == 0) {
			p->leg_number = f->ports[i].own_number;
			return true;
		}
	return false;
}

static bool port_set(struct fabric *f, struct port *p, const char *setting)
{
	double number;

	if (sscanf(setting, "loss=%lf%%", &number) == 1 && number >= 0 && number <= 100)
		p->loss = number / 100;
	else if (sscanf(setting, "delay=%lfms", &number) == 1 && number >= 0 && number <= 10000)
		p->delay_ns = (uint64_t)(number * NSEC_PER_MSEC);
	else if (sscanf(setting, "group=%u", &p->group) == 1 ||
		 sscanf(setting, "mtu=%u", &p->mtu) == 1)
		return true;
	else if (strcmp(setting, "silent=on") == 0 || strcmp(setting, "silent=off") == 0)
		p->silent = setting[8] == 'n';
	else if (strncmp(setting, "switch=", 7) == 0)
		return port_join(f, p, setting + 7);
	else if (strcmp(setting, "clear") == 0)
		port_clear(p);
	else
		return false;
	return true;
}

/* Returns what is wrong, or "ok". */
static const char *fabric_set(struct fabric *f, const char *name, const char *setting)
{
	const char *answer = "no such port";
	bool all = strcmp(name, "all") == 0;

	if (all && strcmp(setting, "capture=off") == 0) {
		capture_close(f);
		return "ok";
	}
	if (all && strncmp(setting, "capture=", 8) == 0)
		return capture_open(f, setting + 8) ? "ok" : strerror(errno);
	for (unsigned i = 0; i < f->n_ports; i++)
		if (all || strcmp(f->ports[i].name, name) == 0)
			answer = port_set(f, &f->ports[i], setting) ? "ok" : "unknown setting";
	memset(f->macs, 0, sizeof(f->macs)); /* learnt addresses may be stale */
	return answer;
}

/* "HOST.LEG SETTING"; answers "ok", or what is wrong. */
static void fabric_control(struct fabric *f)
{
	char text[1024], name[64], setting[960];
	const char *answer = "what?";
	struct sockaddr_un from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(f->control, text, sizeof(text) - 1, 0, (struct sockaddr *)&from,
			     &from_len);

	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "%63s %959[^\n]", name, setting) == 2)
		answer = fabric_set(f, name, setting);
	sendto(f->control, answer, strlen(answer), 0, (struct sockaddr *)&from, from_len);
}

/* Ports of one leg are ports of one switch: numbers the leg of the last port. */
static void fabric_number(struct fabric *f)
{
	struct port *last = &f->ports[f->n_ports - 1];

	for (unsigned i = 0; i < f->n_ports; i++)
		if (strcmp(f->ports[i].leg, last->leg) == 0) {
			last->leg_number = last->own_number = i;
			return;
		}
}

static int fabric_open(struct fabric *f, const char *dir, int n, char **names)
{
	char ours[80];
	const char *leg;

	f->dir = dir;
	if (getrandom(&f->random, sizeof(f->random), 0) < 0 || n > PORTS_MAX)
		return -EINVAL;
	f->random |= 1;
	for (int i = 0; i < n; i++) {
		struct port *p = &f->ports[f->n_ports++];

		leg = strrchr(names[i], '.');
		if (!leg)
			return -EINVAL;
		snprintf(p->name, sizeof(p->name), "%s", names[i]);
		snprintf(p->leg, sizeof(p->leg), "%s", leg + 1);
		fabric_number(f);
		snprintf(ours, sizeof(ours), "%s.switch", names[i]);
		p->fd = unix_bind(dir, ours);
		if (p->fd < 0 || unix_address(dir, names[i], &p->peer))
			return -EADDRNOTAVAIL;
	}
	f->control = unix_bind(dir, "switch.control");
	return f->control < 0 ? f->control : 0;
}

static void fabric_receive(struct fabric *f, unsigned port)
{
	static uint8_t data[FRAME_MAX];

	for (unsigned i = 0; i < BURST; i++) {
		ssize_t n = recv(f->ports[port].fd, data, sizeof(data), 0);

		if (n <= 0)
			return;
		if (n < FRAME_MIN) { /* a wire's frames are never shorter */
			memset(data + n, 0, (size_t)(FRAME_MIN - n));
			n = FRAME_MIN;
		}
		capture_frame(f, port, data, (size_t)n);
		fabric_frame(f, port, data, (size_t)n);
	}
}

static int serve(struct fabric *f)
{
	struct pollfd p[PORTS_MAX + 2];
	unsigned n = f->n_ports;

	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = f->ports[i].fd, .events = POLLIN};
	p[n] = (struct pollfd){.fd = f->control, .events = POLLIN};
	p[n + 1] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		uint64_t now = clock_now_ns();
		int wait_ms = -1;
		char byte;

		if (f->n_queue)
			wait_ms = f->queue[0].due_ns <= now
					  ? 0
					  : (int)((f->queue[0].due_ns - now) / NSEC_PER_MSEC) + 1;
		poll(p, n + 2, wait_ms);
		for (unsigned i = 0; i < n; i++)
			if (p[i].revents)
				fabric_receive(f, i);
		if (p[n].revents)
			fabric_control(f);
		if (p[n + 1].revents && read(STDIN_FILENO, &byte, 1) <= 0)
			return 0;
		fabric_release(f, clock_now_ns());
	}
}

static int set(const char *dir, const char *port, int n, char **settings)
{
	char name[64], text[1024];
	struct sockaddr_un sa;
	int fd, r = 0;

	snprintf(name, sizeof(name), "switch.set.%d", (int)getpid());
	fd = unix_bind(dir, name);
	if (fd < 0 || unix_address(dir, "switch.control", &sa))
		return 1;
	fcntl(fd, F_SETFL, 0);
	for (int i = 0; i < n && r == 0; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t len;

		snprintf(text, sizeof(text), "%s %s", port, settings[i]);
		if (sendto(fd, text, strlen(text), 0, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
		    poll(&p, 1, 30000) <= 0 || (len = recv(fd, text, sizeof(text) - 1, 0)) < 0) {
			fprintf(stderr, "switch: no answer\n");
			r = 1;
			break;
		}
		text[len] = '\0';
		if (strcmp(text, "ok") != 0) {
			fprintf(stderr, "switch: %s %s: %s\n", port, settings[i], text);
			r = 1;
		}
	}
	if (unix_address(dir, name, &sa) == 0)
		unlink(sa.sun_path);
	return r;
}

int main(int argc, char **argv)
{
	static struct fabric f;
	int r;

	if (argc > 4 && strcmp(argv[1], "--set") == 0)
		return set(argv[2], argv[3], argc - 4, argv + 4);
	if (argc < 3) {
		fprintf(stderr,
			"usage: switch DIR HOST.LEG... | switch --set DIR HOST.LEG SETTING...\n");
		return 2;
	}
	r = fabric_open(&f, argv[1], argc - 2, argv + 2);
	if (r) {
		fprintf(stderr, "switch: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	return serve(&f);
}
