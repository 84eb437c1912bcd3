/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A broken or hostile agent answers the command line. Input: a letter that selects the command, a
 * line end, then the agent's answers, one for each request, with a line "=====" between two. One
 * that begins with "HTTP/" is sent as it is, any other as the body of a 200. After the last one the
 * agent refuses every request. Whatever it answers, the command ends, prints no control characters
 * and no invalid UTF-8, and says why it failed.
 */
#include "agent/ctl/ctl.h"
#include "netcfg/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#define ANSWERS_MAX 64
#define REFUSED_MAX 4 /* requests after a refusal: a command may look again, or clean up */
#define REQUEST_MAX 16384
#define WORDS_MAX 16
#define SEPARATOR "\n=====\n"
#define LAST "END\r\n\r\n" /* a request of the harness: it comes after those of a command */

/* What a command writes on its standard output, other than text. */
enum output { OUTPUT_TEXT, OUTPUT_CSV, OUTPUT_PACKETS };

static const struct command {
	char letter;
	const char *words;
	enum output output;
} commands[] = {
	{'s', "status", OUTPUT_TEXT},
	{'S', "status -j", OUTPUT_TEXT},
	{'p', "processes", OUTPUT_TEXT},
	{'P', "processes --csv -o ID,IPS,SWITCHES,CORE,REASON,PORTS,LAST-DEATH", OUTPUT_CSV},
	{'q', "processes -s MEMORY -F HOST~a --no-header", OUTPUT_TEXT},
	{'n', "net show", OUTPUT_TEXT},
	{'N', "net show -o LEG,STAGED,VFS,ENABLED,FILE,REASON -s -MTU", OUTPUT_TEXT},
	{'h', "history", OUTPUT_TEXT},
	{'H', "history show 1", OUTPUT_TEXT},
	{'i', "history diff 1 2", OUTPUT_TEXT},
	{'e', "events", OUTPUT_TEXT},
	{'E', "events -f", OUTPUT_TEXT},
	{'J', "events -f -j", OUTPUT_TEXT},
	{'t', "top --once", OUTPUT_TEXT},
	{'T', "top --count 3", OUTPUT_TEXT},
	{'U', "top --count 2 -j", OUTPUT_TEXT},
	{'l', "plan", OUTPUT_TEXT},
	{'c', "config show --running", OUTPUT_TEXT},
	{'C', "config show --staged -j", OUTPUT_TEXT},
	{'d', "diff", OUTPUT_TEXT},
	{'a', "apply", OUTPUT_TEXT},
	{'A', "apply --dry-run", OUTPUT_TEXT},
	{'k', "confirm 3", OUTPUT_TEXT},
	{'f', "fault show", OUTPUT_TEXT},
	{'F', "fault add --ttl 60s --drop 1%", OUTPUT_TEXT},
	{'x', "fault remove 3", OUTPUT_TEXT},
	{'w', "worker restart 1", OUTPUT_TEXT},
	{'W', "worker restart --outdated", OUTPUT_TEXT},
	{'v', "worker show 1", OUTPUT_TEXT},
	{'m', "worker move 1 --core 2", OUTPUT_TEXT},
	{'y', "net set leg-a --label b", OUTPUT_TEXT},
	{'z', "net add eth9", OUTPUT_TEXT},
	{'g', "capture --packets 2 --seconds 1 -w PACKETS --keys KEYS", OUTPUT_PACKETS},
};

static struct {
	char dir[40], socket[64], packets[64], keys[64];
	struct sockaddr_un sun;
	int listen_fd;
	FILE *out, *err; /* of the harness */
	/* Written while no command runs; the agent's thread counts. */
	struct answer {
		const char *text;
		size_t len;
	} answers[ANSWERS_MAX];
	unsigned n_answers, n_asked;
} g;

static bool taken, running;

bool fuzz_input_taken(void)
{
	return taken;
}

static _Noreturn void end_with(const char *what, const char *text)
{
	running = false;
	fprintf(g.err, "%s: %s\n", what, text);
	abort();
}

/* ---- what would wait, or take the harness's signals ---- */

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return (int)syscall(SYS_poll, fds, n, running && n == 0 ? 0 : timeout_ms);
}

int(nanosleep)(const struct timespec *time, struct timespec *left)
{
	return running ? 0 : (int)syscall(SYS_nanosleep, time, left);
}

int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);

	if (running && act)
		return 0;
	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "sigaction");
	return real(signo, act, old);
}

/* ---- the agent ---- */

/* One complete request: its head, and as much body as it announces. False: none came. */
static bool read_request(int fd, char buf[REQUEST_MAX])
{
	size_t len = 0, want = SIZE_MAX;

	while (len < want && len + 1 < REQUEST_MAX) {
		ssize_t n = read(fd, buf + len, REQUEST_MAX - 1 - len);
		const char *head, *length;

		if (n <= 0)
			return false;
		len += (size_t)n;
		buf[len] = '\0';
		head = strstr(buf, "\r\n\r\n");
		length = strcasestr(buf, "Content-Length: ");
		if (head)
			want = (size_t)(head + 4 - buf) +
			       (length ? strtoul(length + 16, NULL, 10) : 0);
	}
	return true;
}

static void send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

static void answer(int fd, unsigned number)
{
	static const char no[] = "HTTP/1.1 403 x\r\nContent-Length: 23\r\n\r\n"
				 "{\"detail\":\"no answers\"}";
	const struct answer *a = &g.answers[number];
	char head[128];

	if (number >= g.n_answers) {
		send_all(fd, no, sizeof(no) - 1);
		return;
	}
	if (a->len < 5 || memcmp(a->text, "HTTP/", 5) != 0) {
		snprintf(head, sizeof(head),
			 "HTTP/1.1 200 x\r\nContent-Length: %zu\r\nETag: \"7\"\r\n\r\n", a->len);
		send_all(fd, head, strlen(head));
	}
	send_all(fd, a->text, a->len);
}

static void *serve(void *unused)
{
	(void)unused;
	for (;;) {
		autoclose int fd = accept4(g.listen_fd, NULL, NULL, SOCK_CLOEXEC);
		char request[REQUEST_MAX];
		unsigned number;

		if (fd < 0 || !read_request(fd, request) || strcmp(request, LAST) == 0)
			continue;
		number = __atomic_fetch_add(&g.n_asked, 1, __ATOMIC_SEQ_CST);
		if (number > g.n_answers + REFUSED_MAX)
			end_with("a command asks again and again", "");
		answer(fd, number);
	}
	return NULL;
}

/* ---- the command line ---- */

static void at_exit(void)
{
	unlink(g.socket);
	unlink(g.packets);
	unlink(g.keys);
	rmdir(g.dir);
}

static void setup(void)
{
	pthread_t thread;

	g.out = stdout;
	g.err = stderr;
	strcpy(g.dir, "/dev/shm/plenum-fuzz-ctl-XXXXXX");
	if (!mkdtemp(g.dir))
		end_with("no folder", g.dir);
	snprintf(g.socket, sizeof(g.socket), "%s/sock", g.dir);
	snprintf(g.packets, sizeof(g.packets), "%s/packets", g.dir);
	snprintf(g.keys, sizeof(g.keys), "%s/keys", g.dir);
	atexit(at_exit);
	g.sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	strcpy(g.sun.sun_path, g.socket);
	g.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(g.listen_fd, (struct sockaddr *)&g.sun, sizeof(g.sun)) < 0 ||
	    listen(g.listen_fd, 8) < 0 || pthread_create(&thread, NULL, serve, NULL) != 0)
		end_with("no agent", g.dir);
	unsetenv("COLUMNS");
	setenv("TZ", "UTC", 1);
}

/* Waits until the agent's thread has answered all requests of the command. */
static void await_agent(void)
{
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char end;

	if (connect(fd, (struct sockaddr *)&g.sun, sizeof(g.sun)) < 0 ||
	    send(fd, LAST, strlen(LAST), 0) != (ssize_t)strlen(LAST) || read(fd, &end, 1) != 0)
		end_with("the agent does not answer", g.dir);
}

/* Splits the input into answers of exactly their length. */
static void take_answers(char *text, size_t len)
{
	g.n_answers = 0;
	g.n_asked = 0;
	while (g.n_answers < ANSWERS_MAX) {
		const char *end = memmem(text, len, SEPARATOR, strlen(SEPARATOR));
		const size_t n = end ? (size_t)(end - text) : len;

		g.answers[g.n_answers++] = (struct answer){text, n};
		if (!end)
			return;
		text += n + strlen(SEPARATOR);
		len -= n + strlen(SEPARATOR);
	}
}

static const struct command *command_of(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].letter == letter)
			return &commands[i];
	return &commands[(unsigned char)letter % ARRAY_SIZE(commands)];
}

static char *word_of(char *word)
{
	if (strcmp(word, "PACKETS") == 0)
		return g.packets;
	return strcmp(word, "KEYS") == 0 ? g.keys : word;
}

/* The exit status, and what was printed. */
static int run(const struct command *c, char **ret_out, size_t *ret_out_len, char **ret_err)
{
	char *argv[WORDS_MAX + 4] = {(char *)"plenum", (char *)"--socket", g.socket};
	autofree char *words = strdup(c->words);
	char *rest = words, *word;
	size_t err_len;
	int argc = 3, r;

	while ((word = strsep(&rest, " ")) && argc < WORDS_MAX)
		argv[argc++] = word_of(word);
	stdout = open_memstream(ret_out, ret_out_len);
	stderr = open_memstream(ret_err, &err_len);
	if (!stdout || !stderr)
		end_with("no memory", c->words);
	running = true;
	r = ctl_run(argc, argv);
	running = false;
	fclose(stdout);
	fclose(stderr);
	stdout = g.out;
	stderr = g.err;
	return r;
}

/* ---- what the operator sees ---- */

static void check_text(const char *what, const char *text, size_t len, bool csv)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t c;

	for (size_t i = 0, n; i < len; i += n) {
		n = text_utf8_read(at + i, len - i, &c);
		if (n == 0)
			end_with("prints invalid UTF-8", what);
		if (!text_is_shown(c) && c != '\n' && c != '\t' && !(csv && c == '\r'))
			end_with("prints a control character", what);
	}
}

/* An exit status from 64 on is an error, which is explained on standard error. */
static void check_status(const char *what, int status, const char *err)
{
	if (status < 0 || (status > CTL_ROLLED_BACK && status < CTL_USAGE) ||
	    status > CTL_NO_PERMISSION)
		end_with("has an unknown exit status", what);
	if (status >= CTL_USAGE && !strstr(err, "plenum: "))
		end_with("fails without an error", what);
	if (strstr(err, "plenum: \n"))
		end_with("has an empty error", what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autofree char *answers = NULL, *out = NULL, *err = NULL;
	const struct command *c;
	size_t out_len = 0;
	int status;

	if (size < 2)
		return 0;
	if (g.listen_fd == 0)
		setup();
	c = command_of((char)data[0]);
	answers = malloc(size);
	if (!answers)
		end_with("no memory", c->words);
	memcpy(answers, data + 2, size - 2);
	take_answers(answers, size - 2);
	status = run(c, &out, &out_len, &err);
	await_agent();
	taken = status < CTL_USAGE;
	check_text(c->words, out, out_len, c->output == OUTPUT_CSV);
	check_text(c->words, err, strlen(err), false);
	check_status(c->words, status, err);
	return 0;
}
