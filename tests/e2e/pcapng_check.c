/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a pcapng file by the specification, independent of our writer; prints one line for each
 * interface and one for the whole:
 *
 *	interface N NAME link L snap S in I out O udp U plenum P seen S dropped D
 *	packets N bytes N span_ns N
 *
 * plenum: UDP datagrams that begin as those of plenum-protocol(7). Exit status 1, and the reason,
 * where a block, an option or a packet is invalid.
 */
#include "netcfg/base/base.h"
#include "netcfg/base/file.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INTERFACES_MAX 64
#define FILE_MAX_BYTES (1UL << 30)

struct interface {
	uint16_t link;
	uint32_t snap;
	char name[80];
	bool nanoseconds, counted;
	uint64_t in, out, udp, plenum, seen, dropped;
};

struct reader {
	const uint8_t *bytes;
	size_t len, at;
	struct interface interfaces[INTERFACES_MAX];
	unsigned n_interfaces;
	uint64_t packets, first_ns, last_ns;
	bool has_section;
};

static void bad(const struct reader *r, const char *fmt, ...) PLENUM_PRINTF(2, 3);

static void bad(const struct reader *r, const char *fmt, ...)
{
	va_list ap;

	printf("at byte %zu: ", r->at);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t net16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The next option of [at, end), which ends with one of code 0. NULL: that one. */
static const uint8_t *option(const struct reader *r, const uint8_t **at, const uint8_t *end,
			     uint16_t *ret_code, uint16_t *ret_len)
{
	const uint8_t *o = *at;

	if (end - o < 4)
		bad(r, "the options have no end");
	*ret_code = get16(o);
	*ret_len = get16(o + 2);
	if (*ret_code == 0) {
		if (*ret_len != 0 || end - o != 4)
			bad(r, "something stands behind the options");
		return NULL;
	}
	*at = o + 4 + ((*ret_len + 3U) & ~3U);
	if (*at > end)
		bad(r, "option %u is longer than its block", *ret_code);
	return o + 4;
}

static void read_section(struct reader *r, const uint8_t *b, uint32_t len)
{
	const uint8_t *at = b + 24, *o;
	bool has_comment = false;
	uint16_t code, n;

	if (r->has_section || len < 32 || get32(b + 8) != 0x1a2b3c4d || get16(b + 12) != 1)
		bad(r, "not a section's head");
	while ((o = option(r, &at, b + len - 4, &code, &n)))
		has_comment = has_comment || (code == 1 && n > 0);
	if (!has_comment)
		bad(r, "the section does not say where it was captured");
	r->has_section = true;
}

static void read_interface(struct reader *r, const uint8_t *b, uint32_t len)
{
	struct interface *i = &r->interfaces[r->n_interfaces++];
	const uint8_t *at = b + 16, *o;
	uint16_t code, n;

	if (r->n_interfaces > INTERFACES_MAX || len < 20 || !r->has_section)
		bad(r, "an interface too many, or too short");
	i->link = get16(b + 8);
	i->snap = get32(b + 12);
	while ((o = option(r, &at, b + len - 4, &code, &n))) {
		if (code == 2)
			snprintf(i->name, sizeof(i->name), "%.*s", n, (const char *)o);
		if (code == 9)
			i->nanoseconds = n == 1 && o[0] == 9;
	}
	if (!i->name[0] || !i->nanoseconds)
		bad(r, "an interface without a name, or of other times than nanoseconds");
}

/* Starts at the IP header. */
static void read_ip(const struct reader *r, struct interface *i, const uint8_t *p, uint32_t kept,
		    uint32_t wire)
{
	uint32_t head = kept >= 20 && p[0] >> 4 == 4 ? (p[0] & 15) * 4U : 40;
	bool v4 = head != 40 || p[0] >> 4 == 4;

	if (kept < head + 8 || (!v4 && p[0] >> 4 != 6))
		bad(r, "not an IP packet");
	if ((v4 ? net16(p + 2) : net16(p + 4) + 40U) > wire)
		bad(r, "an IP packet is longer than its frame");
	if (p[v4 ? 9 : 6] != 17)
		return;
	i->udp++;
	if (kept >= head + 24)
		i->plenum += p[head + 8] == 0xa7 && (p[head + 9] >> 4 == 2 || p[head + 9] == 13);
}

static void read_packet(struct reader *r, const uint8_t *b, uint32_t len)
{
	uint32_t id = get32(b + 8), kept = get32(b + 20), wire = get32(b + 24), flags = 0;
	uint64_t ns = (uint64_t)get32(b + 12) << 32 | get32(b + 16);
	const uint8_t *at = b + 28 + ((kept + 3) & ~3U), *o;
	struct interface *i = &r->interfaces[id];
	uint16_t code, n;

	if (id >= r->n_interfaces || len < 32 || kept > len - 32 || kept > wire || kept > i->snap)
		bad(r, "a packet of no interface, or longer than it may be");
	while ((o = option(r, &at, b + len - 4, &code, &n)))
		flags = code == 2 && n == 4 ? get32(o) : flags;
	if ((flags & 3) != 1 && (flags & 3) != 2)
		bad(r, "a packet that neither came nor went");
	i->in += (flags & 3) == 1;
	i->out += (flags & 3) == 2;
	if (i->link == 101)
		read_ip(r, i, b + 28, kept, wire);
	else if (i->link == 1 && kept >= 14 && (net16(b + 40) == 0x0800 || net16(b + 40) == 0x86dd))
		read_ip(r, i, b + 42, kept - 14, wire - 14);
	r->first_ns = r->packets++ ? MIN_OF(r->first_ns, ns) : ns;
	r->last_ns = MAX_OF(r->last_ns, ns);
}

static void read_statistics(struct reader *r, const uint8_t *b, uint32_t len)
{
	struct interface *i = &r->interfaces[get32(b + 8)];
	const uint8_t *at = b + 20, *o;
	uint16_t code, n;

	if (get32(b + 8) >= r->n_interfaces || i->counted)
		bad(r, "statistics of no interface, or twice");
	i->counted = true;
	while ((o = option(r, &at, b + len - 4, &code, &n))) {
		if (code == 4 && n == 8)
			memcpy(&i->seen, o, 8);
		if (code == 5 && n == 8)
			memcpy(&i->dropped, o, 8);
	}
}

static void read_block(struct reader *r)
{
	const uint8_t *b = r->bytes + r->at;
	uint32_t len = r->len - r->at < 12 ? 0 : get32(b + 4);

	if (len < 16 || len % 4 || len > r->len - r->at || get32(b + len - 4) != len)
		bad(r, "a block has no end, or two lengths");
	switch (get32(b)) {
	case 0x0a0d0d0a:
		read_section(r, b, len);
		break;
	case 1:
		read_interface(r, b, len);
		break;
	case 5:
		read_statistics(r, b, len);
		break;
	case 6:
		read_packet(r, b, len);
		break;
	default:
		bad(r, "a block of unknown type %u", get32(b));
	}
	r->at += len;
}

int main(int argc, char **argv)
{
	static struct reader r;
	autofree char *text = NULL;

	if (argc != 2 || file_read(argv[1], FILE_MAX_BYTES, &text, &r.len) < 0) {
		fprintf(stderr, "usage: pcapng_check FILE\n");
		return 2;
	}
	for (r.bytes = (const uint8_t *)text; r.at < r.len;)
		read_block(&r);
	if (!r.has_section)
		bad(&r, "there is nothing in it");
	for (unsigned i = 0; i < r.n_interfaces; i++) {
		const struct interface *f = &r.interfaces[i];

		if (!f->counted)
			bad(&r, "%s has no statistics", f->name);
		if (f->in + f->out > f->seen)
			bad(&r, "%s has more packets than it counted", f->name);
		printf("interface %u %s link %u snap %u in %" PRIu64 " out %" PRIu64 " udp %" PRIu64
		       " plenum %" PRIu64 " seen %" PRIu64 " dropped %" PRIu64 "\n",
		       i, f->name, f->link, f->snap, f->in, f->out, f->udp, f->plenum, f->seen,
		       f->dropped);
	}
	printf("packets %" PRIu64 " bytes %zu span_ns %" PRIu64 "\n", r.packets, r.len,
	       r.last_ns - r.first_ns);
	return 0;
}
