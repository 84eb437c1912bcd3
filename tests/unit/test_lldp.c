/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses LLDP frames byte by byte as IEEE 802.1AB lays them out, valid and invalid ones. */
#include "agent/lldp/lldp_parse.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct frame {
	uint8_t bytes[LLDP_FRAME_MAX + 64];
	size_t len;
};

static void add(struct frame *f, const void *bytes, size_t len)
{
	assert_true(f->len + len <= sizeof(f->bytes));
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void add_tlv(struct frame *f, unsigned type, const void *bytes, size_t len)
{
	const uint8_t head[2] = {(uint8_t)(type << 1 | len >> 8), (uint8_t)len};

	add(f, head, sizeof(head));
	add(f, bytes, len);
}

#define ADD(f, type, literal) add_tlv(f, type, literal, sizeof(literal) - 1)

static void begin(struct frame *f)
{
	f->len = 0;
	add(f, "\x01\x80\xc2\x00\x00\x0e\x00\x1b\x21\xaa\xbb\x01\x88\xcc", 14);
}

static void begin_with_head(struct frame *f)
{
	begin(f);
	ADD(f, 1, "\x04\x00\x1b\x21\xaa\xbb\xcc");
	ADD(f, 2,
	    "\x05"
	    "Ethernet1/7");
	ADD(f, 3, "\x00\x78");
}

static int parse(struct frame *f, struct lldp_neighbour *ret)
{
	memset(ret, 0xa5, sizeof(*ret));
	return lldp_parse(f->bytes, f->len, ret);
}

static void test_all_known_tlvs_are_parsed(void **state)
{
	struct lldp_neighbour n;
	struct frame f;
	char ip[IP_ADDR_STR_MAX];

	begin_with_head(&f);
	ADD(&f, 4, "to storage-07");
	ADD(&f, 5, "switch-a");
	ADD(&f, 6, "Network OS 1.2");
	ADD(&f, 7, "\x00\x94\x00\x14");
	ADD(&f, 8, "\x05\x01\x0a\x00\x00\x02\x02\x00\x00\x00\x05\x00");
	ADD(&f, 127, "\x00\x80\xc2\x01\x00\x64");
	ADD(&f, 127, "\x00\x12\x0f\x04\x24\x00");
	ADD(&f, 127, "\x00\x80\xc2\x07\x03\x00\x00\x00\x0c");
	ADD(&f, 127, "\x00\x80\xc2\x0b\x08\x18");
	ADD(&f, 0, "");
	add(&f, "\0\0\0\0", 4); /* padding of a short frame */
	assert_int_equal(parse(&f, &n), 0);
	assert_string_equal(n.chassis, "00:1b:21:aa:bb:cc");
	assert_string_equal(n.port, "Ethernet1/7");
	assert_string_equal(n.name, "switch-a");
	assert_string_equal(n.port_about, "to storage-07");
	assert_string_equal(ip_addr_format(&n.management, ip, sizeof(ip)), "10.0.0.2");
	assert_int_equal(n.ttl_s, 120);
	assert_int_equal(n.vlan, 100);
	assert_int_equal(n.mtu, 9216);
	assert_int_equal(n.capabilities, LLDP_CAP_BRIDGE | LLDP_CAP_ROUTER);
	assert_int_equal(n.aggregation, 12);
	assert_int_equal(n.pfc, LLDP_PFC_SAID | 1 << 3 | 1 << 4);
}

/* Switches with the older DCBX send flow control as one of several features. */
static void test_flow_control_of_older_dcbx_is_parsed(void **state)
{
	static const struct {
		char said[40]; /* after the version of DCBX */
		size_t len;
		uint16_t pfc;
	} says[] = {
#define CEE(text, pfc_) {text, sizeof(text) - 1, pfc_}
		CEE("\x02\x0a\0\0\0\0\0\1\0\0\0\1\x06\x06\0\0\xc0\0\x18\x08",
		    LLDP_PFC_SAID | 1 << 3 | 1 << 4),
		CEE("\x06\x06\0\0\x40\0\x18\x08", LLDP_PFC_SAID), /* off */
		CEE("\x06\x06\0\0\xa0\0\x18\x08", LLDP_PFC_SAID), /* the two ends do not agree */
		CEE("\x06\x04\0\0\x80\0", 0),
		CEE("\x06\x06\0\0\x80\0\x18", 0),     /* cut */
		CEE("\x08\x06\0\0\x80\0\x18\x08", 0), /* another feature */
		CEE("", 0),
#undef CEE
	};
	struct lldp_neighbour n;
	struct frame f;

	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		char part[64] = "\x00\x1b\x21\x02";

		memcpy(part + 4, says[i].said, says[i].len);
		begin_with_head(&f);
		add_tlv(&f, 127, part, 4 + says[i].len);
		assert_int_equal(parse(&f, &n), 0);
		assert_int_equal(n.pfc, says[i].pfc);
	}
	/* If both forms are present, the newer one counts, in either order. */
	for (unsigned i = 0; i < 2; i++) {
		begin_with_head(&f);
		for (unsigned k = 0; k < 2; k++)
			if (k == i)
				ADD(&f, 127, "\x00\x1b\x21\x02\x06\x06\0\0\x80\0\x10\x08");
			else
				ADD(&f, 127, "\x00\x80\xc2\x0b\x08\x08");
		assert_int_equal(parse(&f, &n), 0);
		assert_int_equal(n.pfc, LLDP_PFC_SAID | 1 << 3);
	}
	begin_with_head(&f); /* an even older one */
	ADD(&f, 127, "\x00\x1b\x21\x01\x06\x06\0\0\x80\0\x10\x08");
	assert_int_equal(parse(&f, &n), 0);
	assert_int_equal(n.pfc, 0);
}

static void test_a_minimal_frame_is_parsed(void **state)
{
	struct lldp_neighbour n;
	struct frame f;

	begin_with_head(&f); /* an unmarked end is valid */
	assert_int_equal(parse(&f, &n), 0);
	assert_string_equal(n.name, "");
	assert_int_equal(n.management.family, 0);
	assert_int_equal(n.vlan, 0);
	assert_int_equal(n.aggregation, 0);
	assert_int_equal(n.pfc, 0);
}

static void test_a_shutdown_frame_is_parsed(void **state)
{
	struct lldp_neighbour n;
	struct frame f;

	begin(&f);
	ADD(&f, 1,
	    "\x07"
	    "x");
	ADD(&f, 2,
	    "\x07"
	    "y");
	ADD(&f, 3, "\x00\x00");
	ADD(&f, 5, "not looked at");
	assert_int_equal(parse(&f, &n), 0);
	assert_int_equal(n.ttl_s, 0);
	assert_string_equal(n.name, "");
}

/* Ids that are not text stay unchanged and distinct. */
static void test_ids_stay_distinct(void **state)
{
	char long_id[256], first[LLDP_TEXT_MAX];
	struct lldp_neighbour n;
	struct frame f;

	begin(&f);
	ADD(&f, 1, "\x05\x01\x0a\x00\x00\x02");
	ADD(&f, 2, "\x07\x01\x22");
	ADD(&f, 3, "\x00\x78");
	ADD(&f, 5, "say \"hi\"");
	assert_int_equal(parse(&f, &n), 0);
	assert_string_equal(n.chassis, "10.0.0.2");
	assert_string_equal(n.port, "0x0122");
	assert_string_equal(n.name, "0x7361792022686922");

	for (unsigned i = 0; i < 2; i++) {
		memset(long_id, 'c', sizeof(long_id));
		long_id[0] = 7;
		long_id[255] = (char)('a' + i);
		begin(&f);
		add_tlv(&f, 1, long_id, sizeof(long_id));
		ADD(&f, 2, "\x03\x00\x1b\x21\xaa\xbb\xcd");
		ADD(&f, 3, "\x00\x78");
		assert_int_equal(parse(&f, &n), 0);
		assert_string_equal(n.port, "00:1b:21:aa:bb:cd");
		if (i)
			assert_string_not_equal(n.chassis, first);
		memcpy(first, n.chassis, sizeof(first));
	}
}

static void test_repeated_mandatory_tlvs_are_rejected(void **state)
{
	struct lldp_neighbour n;
	struct frame f;

	begin_with_head(&f);
	ADD(&f, 5, "switch-a");
	ADD(&f, 5, "switch-b");
	assert_int_equal(parse(&f, &n), 0);
	assert_string_equal(n.name, "switch-a");
	ADD(&f, 3, "\x00\x78");
	assert_int_equal(parse(&f, &n), -EBADMSG);
}

static void test_the_order_of_mandatory_tlvs_is_checked(void **state)
{
	struct lldp_neighbour n;
	struct frame f;

	begin(&f);
	ADD(&f, 2,
	    "\x07"
	    "y");
	ADD(&f, 1,
	    "\x07"
	    "x");
	ADD(&f, 3, "\x00\x78");
	assert_int_equal(parse(&f, &n), -EBADMSG);
}

/* An error in an optional TLV drops that TLV only. */
static void test_a_bad_optional_tlv_is_skipped(void **state)
{
	struct lldp_neighbour n;
	struct frame f;

	begin_with_head(&f);
	ADD(&f, 7, "\x00");
	ADD(&f, 8, "\x20\x01\x0a");
	ADD(&f, 8, "");
	ADD(&f, 127, "\x00\x80");
	ADD(&f, 127, "\x00\x80\xc2\x01\x00");
	ADD(&f, 127, "\x00\x80\xc2\x07\x01\x00\x00\x00\x0c"); /* supported, not enabled */
	ADD(&f, 127, "\x00\x80\xc2\x0b\x08");
	ADD(&f, 99, "of a later edition");
	ADD(&f, 5, "switch-a");
	assert_int_equal(parse(&f, &n), 0);
	assert_string_equal(n.name, "switch-a");
	assert_int_equal(n.management.family, 0);
	assert_int_equal(n.vlan, 0);
	assert_int_equal(n.aggregation, 0);
	assert_int_equal(n.pfc, 0);
}

/*
 * A frame cut at any place is rejected or yields what came before the cut, without a read beyond.
 */
static void test_a_cut_frame_is_not_read_beyond_its_end(void **state)
{
	struct lldp_neighbour n;
	struct frame f;
	size_t whole;

	begin_with_head(&f);
	whole = f.len;
	for (size_t len = 0; len < whole; len++) {
		uint8_t *exact = malloc(len ? len : 1);

		assert_non_null(exact);
		memcpy(exact, f.bytes, len);
		assert_int_equal(lldp_parse(exact, len, &n), -EBADMSG);
		free(exact);
	}
	f.bytes[12] = 0x08; /* not LLDP */
	assert_int_equal(parse(&f, &n), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_known_tlvs_are_parsed),
		cmocka_unit_test(test_a_minimal_frame_is_parsed),
		cmocka_unit_test(test_flow_control_of_older_dcbx_is_parsed),
		cmocka_unit_test(test_a_shutdown_frame_is_parsed),
		cmocka_unit_test(test_ids_stay_distinct),
		cmocka_unit_test(test_repeated_mandatory_tlvs_are_rejected),
		cmocka_unit_test(test_the_order_of_mandatory_tlvs_is_checked),
		cmocka_unit_test(test_a_bad_optional_tlv_is_skipped),
		cmocka_unit_test(test_a_cut_frame_is_not_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
