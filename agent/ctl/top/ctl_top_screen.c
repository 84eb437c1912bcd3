/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum top` on a terminal; no other file uses ncurses. The terminal is restored on every exit
 * except by SIGKILL. Most signals end the loop. For the others a handler restores the terminal with
 * async-signal-safe calls.
 */
#include "agent/ctl/top/ctl_top.h"
#include "netcfg/base/text.h"

#include <curses.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <term.h>
#include <termios.h>

#define KEY_ESCAPE 27
#define WRONG_PART 3 /* problems use at most a third of the screen */
#define SECONDS_MOST 60

/* Used by handlers: the previous settings of the terminal, and the sequence that resets the
 * screen. */
static volatile sig_atomic_t interrupted, drawing;
static struct termios before;
static char leave[128];
static size_t leave_len;

static void terminal_restore(void)
{
	ssize_t ignored = 0;

	if (drawing) {
		ignored = write(STDOUT_FILENO, leave, leave_len);
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	}
	(void)ignored;
}

/* The first signal ends the loop. A second one ends the program at once, because handling a huge
 * answer of the agent may take long. */
static void on_end(int signo)
{
	if (interrupted) {
		terminal_restore();
		_exit(128 + signo);
	}
	interrupted = signo;
}

static void on_crash(int signo)
{
	terminal_restore();
	raise(signo); /* the handler was reset (SA_RESETHAND), so this is the default action */
}

void top_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
	struct sigaction act = {.sa_handler = on_end};

	interrupted = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &act, NULL);
	act = (struct sigaction){.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &act, NULL);
}

bool top_interrupted(void)
{
	return interrupted != 0;
}

/* ---- drawing ---- */

struct screen {
	struct top *top;
	struct top_view view;
	bool shown[TOP_KIND_MAX];
	int line, scroll;
	bool help;
};

/* Prints a text from outside the program, up to the right edge. */
static void put_text(int line, int column, attr_t attr, const char *text)
{
	char clean[512];

	if (line < 0 || line >= LINES || column >= COLS)
		return;
	snprintf(clean, sizeof(clean), "%s", text);
	text_trim(clean);
	text_clean(clean);
	attron(attr);
	mvaddnstr(line, column, clean, COLS - column);
	attroff(attr);
}

static void draw_head(struct screen *s)
{
	const struct top_view *v = &s->view;
	char text[256], clock[16] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	snprintf(text, sizeof(text),
		 "%s: %s, %" PRIu64 " of %" PRIu64
		 " workers up   %s   every %llu s, sorted by %s   h: list of keys",
		 v->host, v->state, v->workers_up, v->workers, clock,
		 (unsigned long long)(s->top->interval_ns / NSEC_PER_SEC),
		 top_sort_names[s->top->sort]);
	put_text(s->line++, 0, A_BOLD, text);
}

static void draw_wrong(struct screen *s)
{
	size_t most = (size_t)MAX_OF(LINES / WRONG_PART, 1), n = json_array_size(s->view.wrong);
	char text[80], gone[256];

	if (*top_gone(s->top, gone, sizeof(gone)))
		put_text(s->line++, 0, A_REVERSE, gone);
	for (size_t i = 0; i < n && i < most; i++)
		put_text(s->line++, 0, A_STANDOUT,
			 json_string_value(json_array_get(s->view.wrong, i)));
	if (n > most) {
		snprintf(text, sizeof(text), "... and %zu more: see 'plenum status'", n - most);
		put_text(s->line++, 0, A_STANDOUT, text);
	}
}

static void draw_line(int line, enum top_kind k, const struct top_row *r, const int *widths)
{
	attr_t attr = !r ? A_UNDERLINE : r->bad ? A_BOLD : A_NORMAL;
	char cell[TOP_CELL_MAX];
	int column = 0;

	for (unsigned j = 0; top_heading(k, j); j++) {
		put_text(line, column, attr, r ? top_cell(k, r, j, cell) : top_heading(k, j));
		column += widths[j] + 2;
	}
}

/* Draws a table. Rows beyond the screen can be reached by scrolling. */
static void draw_table(struct screen *s, enum top_kind k)
{
	const struct top_table *t = &s->view.tables[k];
	int widths[TOP_COLUMNS_MAX] = {0}, skip = MIN_OF(s->scroll, (int)t->n);
	char cell[TOP_CELL_MAX];

	if (!s->shown[k] || !t->n || s->line + 2 >= LINES)
		return;
	for (unsigned j = 0; top_heading(k, j); j++) {
		widths[j] = (int)strlen(top_heading(k, j));
		for (size_t i = 0; i < t->n; i++)
			widths[j] =
				MAX_OF(widths[j], (int)strlen(top_cell(k, &t->rows[i], j, cell)));
	}
	s->line++;
	draw_line(s->line++, k, NULL, widths);
	for (size_t i = (size_t)skip; i < t->n && s->line < LINES; i++)
		draw_line(s->line++, k, &t->rows[i], widths);
}

static void draw_help(struct screen *s)
{
	static const char *const keys[] = {
		"1 to 5   show or hide legs, workers, peers, mounts, exports",
		"s        next order;  e n t l i: sort by health, name, traffic, latency, IOPS",
		"+ -      one second more or less between two samples",
		"j k      scroll down and up in long tables",
		"r        sample now",
		"q        quit",
	};

	s->line++;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		put_text(s->line++, 0, A_NORMAL, keys[i]);
}

static void draw(struct screen *s)
{
	erase();
	s->line = 0;
	draw_head(s);
	draw_wrong(s);
	if (s->help)
		draw_help(s);
	for (enum top_kind k = 0; k < TOP_KIND_MAX; k++)
		draw_table(s, k);
	refresh();
}

static void make_view(struct screen *s)
{
	top_view_done(&s->view);
	top_view_make(&s->top->before, &s->top->now, s->top->sort, &s->view);
}

/* ---- keys ---- */

static bool sort_key(struct top *t, int key)
{
	static const char keys[TOP_SORT_MAX] = {[TOP_BY_HEALTH] = 'e',
						[TOP_BY_NAME] = 'n',
						[TOP_BY_TRAFFIC] = 't',
						[TOP_BY_LATENCY] = 'l',
						[TOP_BY_OPS] = 'i'};

	if (key == 's') {
		t->sort = (t->sort + 1) % TOP_SORT_MAX;
		return true;
	}
	for (size_t i = 0; i < TOP_SORT_MAX; i++)
		if (key == keys[i]) {
			t->sort = (enum top_sort)i;
			return true;
		}
	return false;
}

/* Handles a key. Returns false to quit. *ret_ask: poll the agent now. */
static bool take_key(struct screen *s, int key, bool *ret_ask)
{
	uint64_t seconds = s->top->interval_ns / NSEC_PER_SEC;

	if (key == 'q' || key == 'Q' || key == KEY_ESCAPE)
		return false;
	if (key >= '1' && key < '1' + (int)TOP_KIND_MAX)
		s->shown[key - '1'] = !s->shown[key - '1'];
	else if (key == '+')
		s->top->interval_ns = MIN_OF(seconds + 1, SECONDS_MOST) * NSEC_PER_SEC;
	else if (key == '-')
		s->top->interval_ns = MAX_OF(seconds - 1, 1ULL) * NSEC_PER_SEC;
	else if (key == 'j' || key == KEY_DOWN)
		s->scroll++;
	else if (key == 'k' || key == KEY_UP)
		s->scroll = MAX_OF(s->scroll - 1, 0);
	else if (key == 'h' || key == '?')
		s->help = !s->help;
	else if (key == 'r')
		*ret_ask = true;
	else if (sort_key(s->top, key))
		make_view(s);
	return true;
}

static void loop(struct screen *s)
{
	uint64_t due_ns = clock_now_ns() + s->top->interval_ns;
	bool goes_on = true, ask = false;

	while (goes_on && !interrupted) {
		uint64_t now_ns = clock_now_ns();
		int key;

		if (ask || now_ns >= due_ns) {
			top_ask(s->top);
			make_view(s);
			ask = false;
			due_ns = clock_now_ns() + s->top->interval_ns;
			continue;
		}
		draw(s);
		timeout((int)((due_ns - now_ns) / NSEC_PER_MSEC) + 1);
		key = getch(); /* KEY_RESIZE also makes the loop draw the screen again */
		/* A closed terminal returns end of file on each read. */
		if (key == ERR && !isatty(STDIN_FILENO))
			break;
		goes_on = key == ERR || take_key(s, key, &ask);
	}
}

/* Stores the sequence that ncurses would send on exit, because signal handlers may not call
 * ncurses. */
static void remember_leaving(void)
{
	const char *const names[] = {"sgr0", "rmkx", "cnorm", "rmcup"};

	leave_len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = tigetstr(names[i]);
		size_t len = text && text != (char *)-1 ? strlen(text) : 0;

		if (leave_len + len > sizeof(leave))
			continue;
		memcpy(leave + leave_len, text ? text : "", len);
		leave_len += len;
	}
}

int top_screen(struct top *t)
{
	struct screen s = {.top = t, .shown = {true, true, true, true, true}};
	SCREEN *screen;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -ENOTTY;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	remember_leaving();
	drawing = 1;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	make_view(&s);
	loop(&s);
	endwin();
	drawing = 0;
	delscreen(screen);
	top_view_done(&s.view);
	return CTL_OK;
}
