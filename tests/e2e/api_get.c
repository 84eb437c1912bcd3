/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a document of an agent's REST API at a Unix socket, and prints it or values in it.
 *
 *   api_get SOCKET PATH [VALUE...]
 *
 * VALUE is a path of names: `state`, or `reasons []` for each member of a list, or `processes
 * id=host-a/1 status` for those members of a list that have this text. It prints one value a line,
 * texts without quotes. As with curl, the exit status does not depend on the HTTP status. Exit
 * status 7 means no answer, 5 an answer that is not JSON, 64 a VALUE with a blank or a dot, such as
 * an expression of jq. Scripts read the API in loops, so this program is built without sanitizers
 * and shared libraries, to start fast.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define TIMEOUT_S 120
#define EXIT_NO_JSON 5
#define EXIT_NO_ANSWER 7

static int server_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = TIMEOUT_S};
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -1;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -1;
	return fd;
}

/* Returns as a text all that the server sends until it closes the connection, or NULL on errors. */
static char *read_all(int fd)
{
	size_t len = 0, room = 1U << 16;
	char *text = malloc(room);
	ssize_t n;

	while (text && (n = read(fd, text + len, room - len - 1)) > 0) {
		len += (size_t)n;
		if (room - len > 1)
			continue;
		room *= 2;
		text = realloc(text, room);
	}
	if (!text || n < 0)
		return NULL;
	text[len] = 0;
	return text;
}

static void print_value(const json_t *v)
{
	if (json_is_string(v)) {
		puts(json_string_value(v));
		return;
	}
	json_dumpf(v, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
	putchar('\n');
}

/* Prints the values at the path that the remaining arguments are. */
static void print_at(const json_t *v, char **path)
{
	const char *is = *path ? strchr(*path, '=') : NULL, *text;
	char name[256];
	json_t *member;
	size_t i;

	if (!*path) {
		print_value(v);
	} else if (!json_is_array(v)) {
		member = json_object_get(v, *path);
		if (member)
			print_at(member, path + 1);
	} else {
		snprintf(name, sizeof(name), "%.*s", is ? (int)(is - *path) : 0, *path);
		json_array_foreach (v, i, member) {
			text = json_string_value(json_object_get(member, name));
			if (is ? text && strcmp(text, is + 1) == 0 : strcmp(*path, "[]") == 0)
				print_at(member, path + 1);
		}
	}
}

int main(int argc, char **argv)
{
	const char *body;
	char *answer;
	json_t *json;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: api_get SOCKET PATH [VALUE...]\n");
		return 64;
	}
	for (int i = 3; i < argc; i++)
		if (!strchr(argv[i], '=') && strpbrk(argv[i], " .|")) {
			fprintf(stderr, "api_get: '%s' is not the name of a value\n", argv[i]);
			return 64;
		}
	close_range(3, ~0U, 0); /* pipes of the script must close when the script ends */
	fd = server_at(argv[1]);
	/* A server closes the connection after its answer to HTTP/1.0. */
	if (fd < 0 || dprintf(fd, "GET %s HTTP/1.0\r\nHost: plenum\r\n\r\n", argv[2]) < 0)
		return EXIT_NO_ANSWER;
	answer = read_all(fd);
	body = answer ? strstr(answer, "\r\n\r\n") : NULL;
	if (!body)
		return EXIT_NO_ANSWER;
	if (argc == 3)
		return fputs(body + 4, stdout) < 0 || fflush(stdout) != 0;
	json = json_loads(body + 4, 0, NULL);
	if (!json)
		return EXIT_NO_JSON;
	print_at(json, argv + 3);
	return fflush(stdout) != 0;
}
