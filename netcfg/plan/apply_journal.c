/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/plan/apply_journal.h"
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LINE_BYTES_MAX 512
#define FILE_BYTES_MAX (16U << 20)

static const char *const state_words[APPLY_STEP_STATE_MAX] = {
	[APPLY_STEP_BEGUN] = "begin",
	[APPLY_STEP_DONE] = "done",
	[APPLY_STEP_KEPT] = "kept",
	[APPLY_STEP_ROLLED_BACK] = "rolled-back",
};

/* What names this network namespace of this boot. */
struct journal_home {
	char boot[40];
	uintmax_t netns;
};

static struct journal_home journal_home(void)
{
	struct journal_home h = {.boot = "-"};
	autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n = fd >= 0 ? read(fd, h.boot, sizeof(h.boot) - 1) : 0;

	h.boot[n > 0 ? n : 1] = '\0';
	h.boot[strcspn(h.boot, "\n")] = '\0';
	if (stat("/proc/self/ns/net", &st) == 0)
		h.netns = st.st_ino;
	return h;
}

static int append(const struct apply_journal *j, const char *line, size_t len)
{
	ssize_t n = write(j->fd, line, len);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

/* The name itself must survive a crash, too. */
static int sync_directory(const char *path)
{
	autofree char *copy = strdup(path);
	autoclose int fd = -1;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

int apply_journal_create(struct apply_journal *j, const char *path)
{
	struct journal_home home = journal_home();
	char line[LINE_BYTES_MAX];
	int len, r;

	*j = (struct apply_journal)APPLY_JOURNAL_INIT;
	j->path = path;
	j->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (j->fd < 0)
		return -errno;
	if (flock(j->fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		apply_journal_done(j);
		return r;
	}
	len = snprintf(line, sizeof(line), "plenum-journal %d boot %s netns %ju\n",
		       APPLY_JOURNAL_VERSION, home.boot, home.netns);
	r = append(j, line, (size_t)len);
	if (r == 0)
		r = sync_directory(path);
	if (r < 0) {
		unlink(path);
		apply_journal_done(j);
	}
	return r;
}

static const char *addr_or_dash(const struct ip_addr *a, char *buf)
{
	return a->family ? ip_addr_format(a, buf, IP_ADDR_STR_MAX) : "-";
}

static int format_step(const struct plan_step *s, char *buf, size_t size)
{
	char a[IP_ADDR_STR_MAX], g[IP_ADDR_STR_MAX], f[IP_ADDR_STR_MAX];
	const char *name = s->ifname[0] ? s->ifname : "-";

	switch (s->op) {
	case PLAN_LINK_SET:
		if (s->link.want.set_mtu)
			return snprintf(buf, size, "%u %s mtu %u %u", s->link.want.ifindex, name,
					s->link.was.mtu, s->link.want.mtu);
		return snprintf(buf, size, "%u %s up %d %d", s->link.want.ifindex, name,
				s->link.was.up, s->link.want.up);
	case PLAN_ADDR_ADD:
	case PLAN_ADDR_DEL:
		return snprintf(buf, size, "%u %s %s %u %d %d", s->addr.ifindex, name,
				ip_prefix_format(&s->addr.ip, a, sizeof(a)), s->addr.proto,
				s->addr.no_prefix_route, s->addr.optimistic);
	case PLAN_ROUTE_ADD:
	case PLAN_ROUTE_DEL:
		return snprintf(buf, size, "%u %s %u %u %u %u %u %u %s/%u %s %s", s->route.oif,
				name, s->route.family, s->route.table, s->route.metric,
				s->route.proto, s->route.scope, s->route.type,
				addr_or_dash(&s->route.dst.addr, a), s->route.dst.len,
				addr_or_dash(&s->route.gateway, g), addr_or_dash(&s->route.src, f));
	case PLAN_RULE_ADD:
	case PLAN_RULE_DEL:
		return snprintf(buf, size, "%u %u %u %u %s/%u", s->rule.family, s->rule.priority,
				s->rule.table, s->rule.proto, addr_or_dash(&s->rule.from.addr, a),
				s->rule.from.len);
	case PLAN_SYSCTL_SET:
		return snprintf(buf, size, "%s =%s =%s", s->sysctl.key, s->sysctl.was,
				s->sysctl.want);
	case PLAN_OP_MAX:
		break;
	}
	return -1;
}

static struct apply_journal_entry *entry_add(struct apply_journal *j)
{
	if (j->n == j->cap) {
		size_t cap = j->cap ? 2 * j->cap : 16;
		struct apply_journal_entry *grown = reallocarray(j->entries, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		j->entries = grown;
		j->cap = cap;
	}
	memset(&j->entries[j->n], 0, sizeof(j->entries[j->n]));
	return &j->entries[j->n++];
}

int apply_journal_begin(struct apply_journal *j, const struct plan_step *s)
{
	struct apply_journal_entry *e;
	char line[LINE_BYTES_MAX];
	int len, n, r;

	len = snprintf(line, sizeof(line), "begin %zu %s ", j->n, plan_op_to_string(s->op));
	n = format_step(s, line + len, sizeof(line) - (size_t)len);
	if (n < 0 || (size_t)(len + n) + 2 > sizeof(line))
		return -EINVAL;
	len += n;
	line[len++] = '\n';
	e = entry_add(j);
	if (!e)
		return -ENOMEM;
	e->step = *s;
	e->state = APPLY_STEP_BEGUN;
	r = append(j, line, (size_t)len);
	if (r == 0 && fdatasync(j->fd) < 0)
		r = -errno;
	if (r < 0)
		j->n--;
	return r;
}

int apply_journal_mark(struct apply_journal *j, size_t i, enum apply_step_state state)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s %zu\n", state_words[state], i);

	j->entries[i].state = state;
	return append(j, line, (size_t)len);
}

static int parse_addr(const char *text, struct ip_addr *ret)
{
	if (strcmp(text, "-") == 0) {
		*ret = (struct ip_addr){0};
		return 0;
	}
	return ip_addr_parse(text, ret);
}

/* "ADDRESS/LEN", where the address may be "-". */
static int parse_prefix(char *text, struct ip_prefix *ret)
{
	char *slash = strchr(text, '/');

	if (!slash)
		return -EINVAL;
	if (text[0] != '-')
		return ip_prefix_parse(text, ret);
	*ret = (struct ip_prefix){0};
	return strcmp(slash, "/0") == 0 ? 0 : -EINVAL;
}

static int parse_link(const char *args, struct plan_step *s)
{
	unsigned ifindex, was, want;
	char key[4];

	if (sscanf(args, "%u %15s %3s %u %u", &ifindex, s->ifname, key, &was, &want) != 5)
		return -EBADMSG;
	s->link.want.ifindex = ifindex;
	if (strcmp(key, "mtu") == 0) {
		s->link.want.set_mtu = true;
		s->link.was = s->link.want;
		s->link.want.mtu = want;
		s->link.was.mtu = was;
		return 0;
	}
	if (strcmp(key, "up") != 0)
		return -EBADMSG;
	s->link.want.set_up = true;
	s->link.was = s->link.want;
	s->link.want.up = want != 0;
	s->link.was.up = was != 0;
	return 0;
}

static int parse_addr_step(const char *args, struct plan_step *s)
{
	unsigned no_prefix_route, optimistic;
	char ip[IP_ADDR_STR_MAX];

	if (sscanf(args, "%" SCNu32 " %15s %63s %" SCNu8 " %u %u", &s->addr.ifindex, s->ifname, ip,
		   &s->addr.proto, &no_prefix_route, &optimistic) != 6 ||
	    no_prefix_route > 1 || optimistic > 1 || ip_prefix_parse(ip, &s->addr.ip) < 0)
		return -EBADMSG;
	s->addr.no_prefix_route = no_prefix_route;
	s->addr.optimistic = optimistic;
	return 0;
}

static int parse_route(const char *args, struct plan_step *s)
{
	char dst[IP_ADDR_STR_MAX], gateway[IP_ADDR_STR_MAX], src[IP_ADDR_STR_MAX];
	struct inv_route *r = &s->route;

	if (sscanf(args,
		   "%" SCNu32 " %15s %" SCNu8 " %" SCNu32 " %" SCNu32 " %" SCNu8 " %" SCNu8
		   " %" SCNu8 " %63s %63s %63s",
		   &r->oif, s->ifname, &r->family, &r->table, &r->metric, &r->proto, &r->scope,
		   &r->type, dst, gateway, src) != 11 ||
	    parse_prefix(dst, &r->dst) < 0 || parse_addr(gateway, &r->gateway) < 0 ||
	    parse_addr(src, &r->src) < 0)
		return -EBADMSG;
	return 0;
}

static int parse_rule(const char *args, struct plan_step *s)
{
	char from[IP_ADDR_STR_MAX];
	struct inv_rule *r = &s->rule;

	if (sscanf(args, "%" SCNu8 " %" SCNu32 " %" SCNu32 " %" SCNu8 " %63s", &r->family,
		   &r->priority, &r->table, &r->proto, from) != 5 ||
	    parse_prefix(from, &r->from) < 0)
		return -EBADMSG;
	return 0;
}

static int parse_sysctl(const char *args, struct plan_step *s)
{
	char was[33], want[33]; /* with the '=' that makes an empty value visible */

	if (sscanf(args, "%95s %32s %32s", s->sysctl.key, was, want) != 3 || was[0] != '=' ||
	    want[0] != '=')
		return -EBADMSG;
	snprintf(s->sysctl.was, sizeof(s->sysctl.was), "%s", was + 1);
	snprintf(s->sysctl.want, sizeof(s->sysctl.want), "%s", want + 1);
	return 0;
}

/* "OP ARGS" of a begin line. */
static int parse_step(const char *text, struct plan_step *s)
{
	int (*const parse[PLAN_OP_MAX])(const char *, struct plan_step *) = {
		[PLAN_LINK_SET] = parse_link,	   [PLAN_ADDR_ADD] = parse_addr_step,
		[PLAN_ADDR_DEL] = parse_addr_step, [PLAN_ROUTE_ADD] = parse_route,
		[PLAN_ROUTE_DEL] = parse_route,	   [PLAN_RULE_ADD] = parse_rule,
		[PLAN_RULE_DEL] = parse_rule,	   [PLAN_SYSCTL_SET] = parse_sysctl,
	};
	size_t len = strcspn(text, " ");
	int r;

	for (enum plan_op op = 0; op < PLAN_OP_MAX; op++) {
		const char *name = plan_op_to_string(op);

		if (strlen(name) != len || strncmp(name, text, len) != 0 || !text[len])
			continue;
		s->op = op;
		r = parse[op](text + len + 1, s);
		if (strcmp(s->ifname, "-") == 0)
			s->ifname[0] = '\0';
		return r;
	}
	return -EBADMSG;
}

static int parse_line(struct apply_journal *j, const char *line)
{
	struct apply_journal_entry *e;
	char word[16];
	size_t i;
	int at = 0;

	if (sscanf(line, "%15s %zu%n", word, &i, &at) != 2)
		return -EBADMSG;
	if (strcmp(word, state_words[APPLY_STEP_BEGUN]) == 0) {
		if (i != j->n || line[at] != ' ')
			return -EBADMSG;
		e = entry_add(j);
		return e ? parse_step(line + at + 1, &e->step) : -ENOMEM;
	}
	for (enum apply_step_state s = APPLY_STEP_DONE; s < APPLY_STEP_STATE_MAX; s++) {
		if (strcmp(word, state_words[s]) == 0 && i < j->n && !line[at]) {
			j->entries[i].state = s;
			return 0;
		}
	}
	return -EBADMSG;
}

static int parse_header(struct apply_journal *j, const char *line)
{
	struct journal_home home = journal_home();
	char boot[40];
	uintmax_t netns;
	int version;

	if (sscanf(line, "plenum-journal %d boot %39s netns %ju", &version, boot, &netns) != 3 ||
	    version != APPLY_JOURNAL_VERSION)
		return -EBADMSG;
	j->stale = strcmp(boot, home.boot) != 0 || netns != home.netns;
	return 0;
}

/* All whole lines; what follows the last newline was never finished. */
static int parse_all(struct apply_journal *j, char *text)
{
	char *end;
	int r = 0;

	for (size_t n = 1; (end = strchr(text, '\n')) && r == 0; n++, text = end + 1) {
		*end = '\0';
		r = n == 1 ? parse_header(j, text) : parse_line(j, text);
		if (r == -EBADMSG)
			j->bad_line = n;
	}
	return r;
}

static int read_all(int fd, size_t size, char **ret)
{
	autofree char *text = NULL;
	size_t n = 0;

	if (size > FILE_BYTES_MAX)
		return -EFBIG;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	while (n < size) {
		ssize_t got = pread(fd, text + n, size - n, (off_t)n);

		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	*ret = ptr_take(text);
	return 0;
}

/* A torn last line must not be glued to what is appended from now on. */
static int cut_torn_line(int fd, const char *text)
{
	const char *last = strrchr(text, '\n');

	return ftruncate(fd, last ? last + 1 - text : 0) < 0 ? -errno : 0;
}

int apply_journal_open(struct apply_journal *j, const char *path)
{
	autofree char *text = NULL;
	struct stat st;
	int r;

	*j = (struct apply_journal)APPLY_JOURNAL_INIT;
	j->path = path;
	j->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	if (j->fd < 0)
		return -errno;
	if (flock(j->fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (fstat(j->fd, &st) < 0)
		r = -errno;
	else if (st.st_nlink == 0) /* its writer has just finished */
		r = -ENOENT;
	else
		r = read_all(j->fd, (size_t)st.st_size, &text);
	if (r == 0)
		r = cut_torn_line(j->fd, text);
	if (r == 0)
		r = parse_all(j, text);
	return r;
}

int apply_journal_remove(struct apply_journal *j)
{
	if (unlink(j->path) < 0)
		return -errno;
	return sync_directory(j->path);
}

void apply_journal_done(struct apply_journal *j)
{
	free(j->entries);
	if (j->fd >= 0)
		close(j->fd);
	*j = (struct apply_journal)APPLY_JOURNAL_INIT;
}
