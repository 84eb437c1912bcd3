/* SPDX-License-Identifier: BSD-3-Clause */
/* Colours for states and headings on a terminal. Files and pipes get no escape sequence. */
#include "agent/ctl/ctl.h"

#include <string.h>
#include <unistd.h>

#define RED "\033[31m"
#define YELLOW "\033[33m"
#define GREEN "\033[32m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* A state that is not listed, such as standby, has no colour. */
static const struct {
	const char *state, *colour;
} states[] = {
	{"up", GREEN},	    {"running", GREEN},	    {"usable", GREEN},	   {"served", GREEN},
	{"pass", GREEN},    {"connected", GREEN},   {"registered", GREEN}, {"degraded", YELLOW},
	{"warn", YELLOW},   {"warning", YELLOW},    {"waits", YELLOW},	   {"suspect", YELLOW},
	{"silent", YELLOW}, {"unknown", YELLOW},    {"starting", YELLOW},  {"stopped", YELLOW},
	{"away", YELLOW},   {"connecting", YELLOW}, {"joining", YELLOW},   {"down", RED},
	{"failed", RED},    {"backoff", RED},	    {"refused", RED},	   {"absent", RED},
	{"fail", RED},	    {"error", RED},	    {"failing", RED},	   {"broken", RED},
};

static bool wants_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && *term && strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO);
}

static const char *colour_of(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (strcasecmp(states[i].state, state) == 0)
			return states[i].colour;
	return NULL;
}

static void put_with(const char *colour, const char *text)
{
	const bool coloured = colour && wants_colours();

	if (coloured)
		fputs(colour, stdout);
	ctl_put(text, stdout);
	if (coloured)
		fputs(PLAIN, stdout);
}

void ctl_put_state(const char *state, size_t width)
{
	put_with(colour_of(state), state);
	for (size_t n = strlen(state); n < width; n++)
		putchar(' ');
}

void ctl_put_heading(const char *text)
{
	put_with(BOLD, text);
}
