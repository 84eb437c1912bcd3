/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects TLS connections with the connections of api_client.c, and takes the certificate from the
 * monitor. */
#include "agent/api/api_internal.h"
#include "agent/api/tls/tls_server.h"
#include "netcfg/base/text.h"
#include <string.h>

static void on_open(void *user, uint64_t id, int fd)
{
	api_client_accept(user, id, false, fd);
}

/* If api_client.c still has the connection, for example because a request waits for the monitor,
 * api_client.c informs the monitor when it closes the connection. */
static void on_end(void *user, uint64_t id)
{
	struct privsep_msg m = {.type = PRIVSEP_CLOSED, .connection = id};

	if (!api_client_has(user, id))
		api_tell(&m, -1);
}

int api_tls_open(struct api *a)
{
	const struct tls_server_setup setup = {
		.loop = a->loop, .on_open = on_open, .on_end = on_end, .user = a};

	return tls_server_new(&setup, &a->tls);
}

void api_tls_take_files(struct api *a, const struct privsep_msg *m, int fd)
{
	const uint64_t len = m->tls_files.certificate_len, key_len = m->tls_files.key_len;
	struct privsep_msg state = {.type = PRIVSEP_TLS_STATE};
	struct reason why = {.code = ""};
	char *text = NULL;
	int r = privsep_read_memfd(fd, len + key_len, &text);

	if (r < 0)
		reason_set_text(&why, "cannot take the certificate from the agent: %s",
				strerror(-r));
	else
		r = tls_server_load(a->tls, text, len, text + len, key_len,
				    &state.tls_state.expires_s, &why);
	if (text)
		explicit_bzero(text, len + key_len);
	free(text);
	state.tls_state.good = r >= 0;
	reason_copy_text(state.tls_state.text, sizeof(state.tls_state.text), why.text);
	for (char *c = state.tls_state.text; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = '\'';
	text_clean(state.tls_state.text);
	api_tell(&state, -1);
}
