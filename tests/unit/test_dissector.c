/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wireshark's dissector with the keys given to it: tshark deciphers rudp's sealed packets, with
 * either cipher, over changes of keys, with packet numbers longer than the header's field, and in
 * truncated packets. Packets without a known key stay closed. Skipped without tshark.
 */
#include "agent/supervise/pcapng.h"
#include "dataplane/rudp/rudp_secure.h"
#include <fcntl.h>
#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PHASE 16 /* packets under one key */
#define PACKETS 60U
#define CUT_BYTES 112U /* bytes kept of truncated packets */
#define HIGH (1ULL << 32)
#define NO_KEY 3U
#define ANNOUNCED_EVERY 12 /* one in so many packets is an announcement of a request instead */
#define ANNOUNCED (PACKETS / ANNOUNCED_EVERY)

static char folder[] = "/tmp/plenum-dissector.XXXXXX";
static struct pcapng out;
static FILE *keys;

static void put_packet(uint64_t time_ns, const uint8_t *sealed, size_t len, size_t kept)
{
	/* IPv4 and UDP; their checksums are not checked */
	uint8_t head[28] = {0x45, 0, 0, 0, 0,  0, 0, 0, 64,   17,   0,	  0,
			    10,	  0, 0, 1, 10, 0, 0, 2, 0x1c, 0xf3, 0x1c, 0xf3};
	const uint32_t wire = (uint32_t)(sizeof(head) + len);
	const struct pcapng_packet pkt = {
		.time_ns = time_ns, .wire_bytes = wire, .kept_bytes = MIN_OF((uint32_t)kept, wire)};
	uint8_t *to = pcapng_put_packet(&out, &pkt);

	head[2] = (uint8_t)(wire >> 8);
	head[3] = (uint8_t)wire;
	head[24] = (uint8_t)((len + 8) >> 8);
	head[25] = (uint8_t)(len + 8);
	assert_non_null(to);
	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), sealed, pkt.kept_bytes - sizeof(head));
}

static size_t seal_packet(struct rudp_secure *x, uint64_t number, const struct wire_common *c,
			  const struct wire_data *d, struct datagram pkt, uint8_t *ret)
{
	uint8_t room[WIRE_PACKET_BYTES_MAX];
	struct datagram sealed;

	pkt.hdr_len = (uint16_t)wire_put_data(pkt.hdr, c, d);
	assert_int_equal(rudp_secure_seal(x, 2, number, &pkt, room, &sealed), 0);
	rudp_secure_sent(x, 2, number);
	memcpy(ret, sealed.hdr, sealed.hdr_len);
	if (sealed.payload_len)
		memcpy(ret + sealed.hdr_len, sealed.payload, sealed.payload_len);
	return (size_t)sealed.hdr_len + sealed.payload_len;
}

/* A request that opens a file, sealed. */
static size_t seal(struct rudp_secure *x, uint64_t session, uint64_t number, uint8_t *ret)
{
	const struct wire_common c = {
		.type = WIRE_DATA, .path = 2, .session = session, .pn = (uint32_t)number};
	const struct fuse_in_header in = {.len = 200, .opcode = FUSE_OPEN, .unique = number};
	const struct wire_data d = {
		.gen = 1, .msg_len = 200, .chunk_bytes = 1400, .n_carried = 1, .credit = 99};
	uint8_t payload[200] = {0};
	const struct datagram pkt = {.payload = payload, .payload_len = sizeof(payload)};

	memcpy(payload, &in, sizeof(in));
	return seal_packet(x, number, &c, &d, pkt, ret);
}

/* An announcement of a long request, without a chunk of it. */
static size_t seal_announcement(struct rudp_secure *x, uint64_t session, uint64_t number,
				uint8_t *ret)
{
	const struct wire_common c = {.type = WIRE_DATA,
				      .path = 2,
				      .flags = WIRE_F_NEED,
				      .session = session,
				      .pn = (uint32_t)number};
	const struct wire_data d = {.gen = 1, .msg_len = WIRE_MSG_MAX, .chunk_bytes = 1400};

	return seal_packet(x, number, &c, &d, (struct datagram){0}, ret);
}

static void put_key(const struct rudp_secure *x, uint64_t session)
{
	const uint8_t *key;
	uint64_t phase;

	rudp_secure_key(x, false, &phase, &key);
	fprintf(keys, "%016llx %llu %d ", (unsigned long long)session, (unsigned long long)phase,
		(int)x->cipher);
	for (unsigned i = 0; i < RUDP_AEAD_KEY_BYTES; i++)
		fprintf(keys, "%02x", key[i]);
	fputc('\n', keys);
}

/* Both ends of session `n` exchange packets, and change their keys meanwhile: only the first key
 * is written to the file. */
static void put_session(unsigned n, enum rudp_cipher cipher, uint64_t first)
{
	struct rudp_noise_keys k = {{(uint8_t)n, 2, 3}, {4, (uint8_t)n, 6}}, back;
	uint8_t data[WIRE_PACKET_BYTES_MAX], room[WIRE_PACKET_BYTES_MAX];
	struct rudp_secure ends[2];
	const uint8_t *clear;
	size_t len, clear_len;

	memcpy(back.tx, k.rx, sizeof(k.rx));
	memcpy(back.rx, k.tx, sizeof(k.tx));
	assert_int_equal(rudp_secure_init(&ends[0], RUDP_ENCRYPT, cipher, &k, PHASE), 0);
	assert_int_equal(rudp_secure_init(&ends[1], RUDP_ENCRYPT, cipher, &back, PHASE), 0);
	for (unsigned i = 0; i < 2 && n != NO_KEY; i++)
		put_key(&ends[i], 0xab0000000000 + 2 * n + i);
	for (unsigned i = 0; i < PACKETS; i++) {
		struct rudp_secure *from = &ends[i % 2], *to = &ends[!(i % 2)];

		len = (i % ANNOUNCED_EVERY ? seal : seal_announcement)(
			from, 0xab0000000000 + 2 * n + i % 2, first + i, data);
		put_packet((n * PACKETS + i + 1ULL) * 1000, data, len, i % 5 ? 65535 : CUT_BYTES);
		assert_int_equal(
			rudp_secure_open(to, 2, first + i, data, len, room, &clear, &clear_len), 0);
	}
	assert_true(ends[0].tx_phase > 0 && ends[1].tx_phase > 0);
	rudp_secure_done(&ends[0]);
	rudp_secure_done(&ends[1]);
}

static void write_files(void)
{
	char path[sizeof(folder) + 16];
	FILE *f;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0); /* tshark may read it as another user */
	snprintf(path, sizeof(path), "%s/keys", folder);
	keys = fopen(path, "we");
	assert_non_null(keys);
	pcapng_put_section(&out, "test", "sealed by rudp");
	pcapng_put_interface(&out, PCAPNG_IP, 65535, "leg-a/1", "made up");
	put_session(0, RUDP_AESGCM, 1);
	put_session(1, RUDP_CHACHAPOLY, HIGH - PACKETS / 2);
	put_session(2, RUDP_AESGCM, HIGH + 5);
	put_session(NO_KEY, RUDP_AESGCM, 1);
	fclose(keys);
	snprintf(path, sizeof(path), "%s/pcapng", folder);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(out.bytes, 1, out.len, f), out.len);
	assert_int_equal(fclose(f), 0);
	pcapng_done(&out);
}

/* The number of lines with these values of the fields. */
static unsigned count(const char *with, const char *want)
{
	char command[1024], line[256];
	unsigned n = 0;
	FILE *p;

	snprintf(command, sizeof(command),
		 "tshark -X lua_script:%s/etc/wireshark/plenum.lua %s%s%s -r %s/pcapng -T fields "
		 "-e plenum.security -e plenum.deciphered -e plenum.fuse.opcode -e plenum.fuse.len "
		 "-e _ws.lua.error "
		 "-e _ws.malformed 2>%s/said",
		 TOP_SRCDIR, *with ? "-o plenum.keys:" : "", *with ? folder : "", with, folder,
		 folder);
	p = popen(command, "re");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p))
		n += strcmp(line, want) == 0;
	assert_int_equal(pclose(p), 0);
	return n;
}

static void test_tshark_deciphers_packets(void **state)
{
	if (system("tshark --version >/dev/null 2>&1") != 0)
		skip();
	write_files();
	assert_int_equal(count("/keys", "encrypt\t1\t14\t200\t\t\n"), 3 * (PACKETS - ANNOUNCED));
	assert_int_equal(count("/keys", "encrypt\t1\t\t\t\t\n"), 3 * ANNOUNCED);
	assert_int_equal(count("/keys", "encrypt\t\t\t\t\t\n"), PACKETS);
	assert_int_equal(count("", "encrypt\t\t\t\t\t\n"), 4 * PACKETS);
	assert_int_equal(count("/none", "encrypt\t\t\t\t\t\n"), 4 * PACKETS);
}

static int remove_files(void **state)
{
	static const char *const names[] = {"keys", "pcapng", "said"};
	char path[sizeof(folder) + 16];

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_tshark_deciphers_packets, remove_files),
	};

	return cmocka_run_group_tests_name("dissector", tests, NULL, NULL);
}
