/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats packets as pcapng; capture.c reads them from the workers. */
#include "agent/supervise/pcapng.h"
#include <string.h>

#define BLOCK_SECTION 0x0a0d0d0aU
#define BLOCK_INTERFACE 1U
#define BLOCK_STATISTICS 5U
#define BLOCK_PACKET 6U
#define BYTE_ORDER_MAGIC 0x1a2b3c4dU

enum { OPT_END, OPT_COMMENT, OPT_2, OPT_3, OPT_4, OPT_5 };
#define SHB_USERAPPL OPT_4
#define IF_NAME OPT_2
#define IF_DESCRIPTION OPT_3
#define IF_TSRESOL 9
#define EPB_FLAGS OPT_2
#define ISB_STARTTIME OPT_2
#define ISB_ENDTIME OPT_3
#define ISB_IFRECV OPT_4
#define ISB_IFDROP OPT_5
#define ISB_USRDELIV 8

void pcapng_done(struct pcapng *p)
{
	free(p->bytes);
	*p = (struct pcapng){0};
}

/* Adds len bytes, padded with zeros to a multiple of four. Returns a pointer to them, or NULL if
 * memory is short. */
static uint8_t *grow(struct pcapng *p, size_t len)
{
	size_t padded = (len + 3) & ~(size_t)3, cap = p->cap ? p->cap : 4096;
	uint8_t *at;

	while (cap < p->len + padded)
		cap *= 2;
	if (cap > p->cap) {
		at = realloc(p->bytes, cap);
		if (!at) {
			p->out_of_memory = true;
			return NULL;
		}
		p->bytes = at;
		p->cap = cap;
	}
	at = p->bytes + p->len;
	memset(at, 0, padded);
	p->len += padded;
	return at;
}

static void put(struct pcapng *p, const void *bytes, size_t len)
{
	uint8_t *at = grow(p, len);

	if (at)
		memcpy(at, bytes, len);
}

static void put32(struct pcapng *p, uint32_t v)
{
	put(p, &v, sizeof(v));
}

static void put_option(struct pcapng *p, uint16_t code, const void *bytes, size_t len)
{
	const uint16_t head[2] = {code, (uint16_t)len};

	put(p, head, sizeof(head));
	put(p, bytes, len);
}

static void put_text(struct pcapng *p, uint16_t code, const char *text)
{
	if (text[0])
		put_option(p, code, text, strnlen(text, UINT16_MAX));
}

/* Adds an option with a time. The format wants the upper 32 bits first, whatever the byte order
 * is. */
static void put_time_option(struct pcapng *p, uint16_t code, uint64_t ns)
{
	const uint32_t halves[2] = {(uint32_t)(ns >> 32), (uint32_t)ns};

	put_option(p, code, halves, sizeof(halves));
}

/* Begins a block. block_end() writes the length at the beginning and at the end of the block. */
static size_t block_begin(struct pcapng *p, uint32_t type)
{
	size_t at = p->len;

	put32(p, type);
	put32(p, 0);
	return at;
}

static void block_end(struct pcapng *p, size_t at)
{
	uint32_t len = (uint32_t)(p->len + sizeof(len) - at);

	put32(p, len);
	if (p->out_of_memory)
		p->len = at;
	else
		memcpy(p->bytes + at + sizeof(len), &len, sizeof(len));
}

void pcapng_put_section(struct pcapng *p, const char *application, const char *comment)
{
	const uint16_t version[2] = {1, 0};
	const uint64_t unknown_length = UINT64_MAX;
	size_t at = block_begin(p, BLOCK_SECTION);

	put32(p, BYTE_ORDER_MAGIC);
	put(p, version, sizeof(version));
	put(p, &unknown_length, sizeof(unknown_length));
	put_text(p, OPT_COMMENT, comment);
	put_text(p, SHB_USERAPPL, application);
	put32(p, OPT_END);
	block_end(p, at);
}

void pcapng_put_interface(struct pcapng *p, enum pcapng_link link, uint32_t snap_bytes,
			  const char *name, const char *description)
{
	const uint16_t head[2] = {(uint16_t)link, 0};
	const uint8_t nanoseconds = 9;
	size_t at = block_begin(p, BLOCK_INTERFACE);

	put(p, head, sizeof(head));
	put32(p, snap_bytes);
	put_text(p, IF_NAME, name);
	put_text(p, IF_DESCRIPTION, description);
	put_option(p, IF_TSRESOL, &nanoseconds, sizeof(nanoseconds));
	put32(p, OPT_END);
	block_end(p, at);
}

uint8_t *pcapng_put_packet(struct pcapng *p, const struct pcapng_packet *pkt)
{
	const uint32_t flags = pkt->inbound ? 1 : 2;
	size_t at = block_begin(p, BLOCK_PACKET), data;

	put32(p, pkt->interface);
	put32(p, (uint32_t)(pkt->time_ns >> 32));
	put32(p, (uint32_t)pkt->time_ns);
	put32(p, pkt->kept_bytes);
	put32(p, pkt->wire_bytes);
	data = p->len;
	(void)grow(p, pkt->kept_bytes);
	put_option(p, EPB_FLAGS, &flags, sizeof(flags));
	put32(p, OPT_END);
	block_end(p, at);
	return p->out_of_memory ? NULL : p->bytes + data;
}

void pcapng_put_secrets(struct pcapng *p, const char *text)
{
	static const uint8_t zeros[3];
	const uint32_t len = (uint32_t)strlen(text);
	size_t at = block_begin(p, PCAPNG_SECRETS);

	put32(p, PCAPNG_SECRETS_TYPE);
	put32(p, len);
	put(p, text, len);
	put(p, zeros, -len & 3);
	block_end(p, at);
}

void pcapng_put_statistics(struct pcapng *p, const struct pcapng_statistics *s)
{
	size_t at = block_begin(p, BLOCK_STATISTICS);

	put32(p, s->interface);
	put32(p, (uint32_t)(s->end_ns >> 32));
	put32(p, (uint32_t)s->end_ns);
	put_time_option(p, ISB_STARTTIME, s->begin_ns);
	put_time_option(p, ISB_ENDTIME, s->end_ns);
	put_option(p, ISB_IFRECV, &s->packets, sizeof(s->packets));
	put_option(p, ISB_IFDROP, &s->dropped, sizeof(s->dropped));
	put_option(p, ISB_USRDELIV, &s->delivered, sizeof(s->delivered));
	put32(p, OPT_END);
	block_end(p, at);
}
