// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables: each instruction and each form of record on an .eh_frame made to order, broken
 * ones among them, and broken copies of this program. unwind_remote_test walks with its tables.
 */
#include <dlfcn.h>

#include "../cfi/image.h"
#include "../random.h"
#include "unwind/cfi_gaps.h"
#include "rule_text.h"
#include "self.h"

#define TEXT	   0x1000
#define TEXT_BYTES 0x100

/* ---- the .eh_frame of a test ---- */

static struct {
	uint8_t bytes[4096];
	size_t n;
} eh;

static size_t cie; /* where the last one begins */

static void put(const void *bytes, size_t n)
{
	memcpy(eh.bytes + eh.n, bytes, n);
	eh.n += n;
}

static void put_u32(uint32_t v)
{
	put(&v, sizeof(v));
}

static void put_u64(uint64_t v)
{
	put(&v, sizeof(v));
}

/* Bytes in hexadecimal; blanks are skipped. */
static void put_hex(const char *text)
{
	unsigned int byte;

	for (int n; sscanf(text, "%2x%n", &byte, &n) == 1; text += n)
		put(&(uint8_t){ (uint8_t)byte }, 1);
}

/* Returns where the record starts. end_record() fills in its length. */
static size_t begin_record(uint32_t id)
{
	size_t at = eh.n;

	put_u32(0);
	put_u32(id);
	return at;
}

static void end_record(size_t at)
{
	uint32_t bytes = eh.n - at - 4;

	memcpy(eh.bytes + at, &bytes, sizeof(bytes));
}

static void put_cie_as(const char *letters, uint8_t encoding, const char *program)
{
	cie = begin_record(0);
	put("\1", 1);
	put(letters, strlen(letters) + 1);
	put("\1\x78\x10", 3); /* units of code and data; the register of the return address */
	if (letters[0] == 'z')
		put((uint8_t[]){ 1, encoding }, 2);
	put_hex(program);
	end_record(cie);
}

/* The first rules of all compilers: CFA = rsp + 8, return address at CFA - 8. */
#define USUAL "0c0708 9001"

static void put_cie(void)
{
	put_cie_as("zR", 0x1b, USUAL);
}

static size_t begin_fde(void)
{
	return begin_record(eh.n + 4 - cie);
}

/* pcrel sdata4 */
static void put_address(uint64_t at)
{
	put_u32(TEXT + at - (IMAGE_EH_FRAME_VADDR + eh.n));
}

static void put_fde(uint64_t at, uint32_t bytes, const char *program)
{
	size_t record = begin_fde();

	put_address(at);
	put_u32(bytes);
	put("", 1);
	put_hex(program);
	end_record(record);
}

BEFORE_EACH()
{
	eh.n = 0;
	put_cie();
}

/* ---- tables as text ---- */

/* "3 FDEs, 1 bad: " and the rows; one FDE, and none that is bad, is left out. Frees the table. */
static char *text_of(struct cfi_table *t)
{
	char *text = PRINTED(f, {
		if (t->n_fdes != 1 || t->n_bad_fdes)
			fprintf(f, "%zu FDEs, %zu bad: ", (size_t)t->n_fdes, (size_t)t->n_bad_fdes);
		print_rows(f, t, TEXT, TEXT_BYTES);
	});

	CHECK(image_table_is_sane(t));
	cfi_free(t);
	return text;
}

static char *loaded(void)
{
	size_t size;
	struct image *m = until_end(image_new(eh.bytes, eh.n, &size));
	struct cfi_table t;

	CHECK_EQ(image_load(&t, m, size), 0);
	return text_of(&t);
}

static void check_program(const char *letters, const char *program, const char *rules)
{
	eh.n = 0;
	put_cie_as(letters, 0x1b, USUAL);
	put_fde(0, TEXT_BYTES, program);
	CHECK_CASE_STR(program, loaded(), rules);
}

/* ---- programs of one FDE over all of TEXT ---- */

struct program {
	const char *hex, *rules;
};

static void check_programs(const struct program *programs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_program("zR", programs[i].hex, programs[i].rules);
}

static const struct program advances[] = {
	{ "", "sp+8" },
	/* a usual function with a frame pointer */
	{ "41 0e10 8602 43 0d06 02a0 0c0708",
	  "sp+8; 1 sp+16 bp@cfa-16; 4 bp+16 bp@cfa-16; a4 sp+8 bp@cfa-16" },
	/* operands of all sizes */
	{ "42 0e10 0203 0e18 030400 0e20 0405000000 0e28 1d0600000000000000 0e30",
	  "sp+8; 2 sp+16; 5 sp+24; 9 sp+32; e sp+40; 14 sp+48" },
	{ "030001 0e10", "sp+8" }, /* at the end */
	/* rbx where a CFA is computed from it */
	{ "41 8303 41 0c0310 41 8321 0c0710",
	  "sp+8; 1 sp+8 bx@cfa-24; 2 r3+16 bx@cfa-24; 3 sp+16 bx@cfa-264" },
	/* other registers and padding make no row */
	{ "41 8303 41 100c027678 41 2e10 00 41 0703 41 c3 000000", "sp+8" },
	/* what is not known spoils what follows only */
	{ "41 0e10 41 0e18 3f 41 0e20", "1 FDEs, 1 bad: sp+8; 1 sp+16; 2 bad" },
};

TEST(locations_advance)
{
	check_programs(advances, ARRAY_SIZE(advances));
}

static const struct program cfas[] = {
	{ "0c0710", "sp+16" },
	{ "0c068001", "bp+128" },
	{ "0d06", "bp+8" },
	{ "0e18", "sp+24" },
	{ "120702", "sp-16" },
	{ "12077e", "sp+16" },
	{ "137c", "sp+32" },
	/* at most what a rule holds */
	{ "0effffffff07", "sp+2147483647" },
	{ "0e8080808008", "bad" },
	{ "0c0a80808004", "bad" },
	/* from any register there is */
	{ "0c0a00", "r10+0" },
	{ "0d00", "r0+8" },
	{ "120f01", "r15-8" },
	{ "0c1000", "bad" },
	{ "0c870208", "bad" }, /* 263 is not 7 */
	/* the PLT's expression, with every threshold */
	{ "0f0b 7708 8000 3f 1a 3b 2a 33 24 22", "plt 11" },
	{ "0f0b 7708 8000 3f 1a 3a 2a 33 24 22", "plt 10" },
	{ "0f0b 7708 8000 3f 1a 39 2a 33 24 22", "plt 9" },
	{ "0f0b 7700 8000 3f 1a 3b 2a 33 24 22", "bad" },
	{ "0f0b 7708 8000 3f 1a 50 2a 33 24 22", "bad" },
	{ "0f0b 7708 8000 3f 1a 3b 2a 33 24 1c", "bad" },
	{ "0f0a 7708 8000 3f 1a 3b 2a 33 24", "bad" },
	/* saved on the stack */
	{ "0f03 7678 06", "*(bp-8)+0" },
	{ "0f06 77a001 06 2308", "*(sp+160)+8" },
	{ "0f03 7a00 06", "bad" },
	{ "0f05 77808002 06", "bad" },
	{ "0f07 7700 06 23808002", "bad" },
	{ "0f04 7700 06 06", "bad" },
	/* a register and an offset, as an expression */
	{ "0f02 7718", "sp+24" },
	{ "0f02 7a78", "r10-8" },
	/* other expressions */
	{ "0f00", "bad" },
	{ "0f01 77", "bad" },
	{ "0f02 7780", "bad" },
	{ "0f03 303022", "bad" },
	/* an offset leaves an expression in force, a register does not */
	{ "0f03 7678 06 0e10", "*(bp-8)+0" },
	{ "0f03 7678 06 0d07", "sp+8" },
	{ "0f03 7678 06 0c0710", "sp+16" },
};

TEST(the_cfa_is_defined_in_every_way)
{
	check_programs(cfas, ARRAY_SIZE(cfas));
	CHECK_EQ(unwind_reg(unwind_pack_reg(15, -8)), 15);
	CHECK_EQ(unwind_reg_plus(unwind_pack_reg(15, -8)), -8);
	CHECK_EQ(unwind_deref_at(unwind_pack_deref(-8, 24)), -8);
	CHECK_EQ(unwind_deref_plus(unwind_pack_deref(-8, 24)), 24);
	CHECK_EQ(unwind_deref_plus(unwind_pack_deref(-8, -24)), -24);
}

static const struct program bps[] = {
	{ "8602", "sp+8 bp@cfa-16" },
	{ "050603", "sp+8 bp@cfa-24" },
	{ "110604", "sp+8 bp@cfa-32" },
	{ "11067f", "sp+8 bp@cfa+8" },
	{ "2f0602", "sp+8 bp@cfa+16" },
	{ "1006 027600", "sp+8 bp@bp+0" },
	{ "1006 027678", "sp+8 bp@bp-8" },
	/* where no rule can say where it is */
	{ "0706", "sp+8 bp lost" },
	{ "090609", "sp+8 bp lost" },
	{ "140602", "sp+8 bp lost" },
	{ "150602", "sp+8 bp lost" },
	{ "1606 027600", "sp+8 bp lost" },
	{ "1006 027700", "sp+8 bp lost" },
	{ "1006 03760006", "sp+8 bp lost" },
	{ "868020", "sp+8 bp@cfa-32768" },
	{ "868120", "sp+8 bp lost" },
	/* it comes back */
	{ "8602 41 c6", "sp+8 bp@cfa-16; 1 sp+8" },
	{ "8602 41 0606", "sp+8 bp@cfa-16; 1 sp+8" },
	{ "8602 41 0806", "sp+8 bp@cfa-16; 1 sp+8" },
};

TEST(rbp_is_saved_in_every_way)
{
	check_programs(bps, ARRAY_SIZE(bps));
}

static const struct program returns[] = {
	/* without a return address the stack ends */
	{ "0710", "end" },
	{ "8602 0710", "end" },
	{ "0710 41 d0", "end; 1 sp+8" }, /* restored: where the CIE said */
	/* elsewhere */
	{ "9002", "bad" },
	{ "0810", "bad" },
	{ "141001", "bad" },
	{ "1010 027700", "bad" },
	/* in a register; nobody does that with the CFA from rbp, or with rbp saved */
	{ "091005", "sp+8 to r5" },
	{ "0e00 091005", "sp+0 to r5" },
	{ "091011", "bad" },
	{ "0d06 091005", "bad" },
	{ "8602 091005", "bad" },
	{ "140701 091005", "bad" },
	/* a caller's rsp other than the CFA */
	{ "140700", "sp+8" },
	{ "140701", "bad" },
	{ "090708", "bad" },
	{ "1607 027700", "bad" },
	{ "8702", "bad" },
};

TEST(return_addresses_are_in_their_place_or_in_a_register)
{
	check_programs(returns, ARRAY_SIZE(returns));
}

static const struct program cut_off[] = {
	{ "0c07", "1 FDEs, 1 bad: bad" },
	{ "0e", "1 FDEs, 1 bad: bad" },
	{ "0e80", "1 FDEs, 1 bad: bad" },
	{ "02", "1 FDEs, 1 bad: bad" },
	{ "0301", "1 FDEs, 1 bad: bad" },
	{ "04010000", "1 FDEs, 1 bad: bad" },
	{ "86", "1 FDEs, 1 bad: bad" },
	{ "0f03 7678", "1 FDEs, 1 bad: bad" },
	{ "1006 ffffffffffffffffff01", "1 FDEs, 1 bad: bad" },
	{ "1603 0900", "1 FDEs, 1 bad: bad" },
	/* numbers of more than 64 bits */
	{ "2e 80808080808080808080 00", "1 FDEs, 1 bad: bad" },
	{ "1d ffffffffffffffff", "1 FDEs, 1 bad: bad" },
	{ "0b", "1 FDEs, 1 bad: bad" }, /* a state that was never remembered */
};

TEST(an_instruction_cut_off_is_bad)
{
	check_programs(cut_off, ARRAY_SIZE(cut_off));
}

TEST(states_are_remembered_with_their_cfa)
{
	char many[2000 + 1] = "";

	check_program("zR", "0e10 8602 0a 41 0c0620 c6 0a 41 0e08 41 0b 41 0b",
		      "sp+16 bp@cfa-16; 1 bp+32; 2 bp+8; 3 bp+32; 4 sp+16 bp@cfa-16");
	for (size_t i = 0; i < sizeof(many) - 1; i += 2)
		memcpy(many + i, "0a", 2);
	check_program("zR", many, "1 FDEs, 1 bad: bad"); /* too many */
}

TEST(a_signal_frame_is_known_by_its_ucontext)
{
	/* rsp and rip are read from where the kernel puts them; then with rip somewhere else */
	check_program("zRS", "0f04 77a001 06 1010 0377a801", "signal");
	check_program("zRS", "0f04 77a001 06 1010 0377a901", "bad");
}

/* ---- records ---- */

TEST(restore_means_not_saved_whatever_the_cie_said)
{
	eh.n = 0;
	put_cie_as("zR", 0x1b, USUAL "8602");
	put_fde(0, 0x10, "41 c6");
	put_cie_as("zR", 0x1b, USUAL "8602 8303 c6 c3");
	put_fde(0x10, 0x10, "0e10");
	CHECK_STR(loaded(), "2 FDEs, 0 bad: sp+8 bp@cfa-16; 1 sp+8; 10 sp+16; 20 -");
}

TEST(a_broken_cie_program_spoils_all_its_fdes)
{
	eh.n = 0;
	put_cie_as("zR", 0x1b, USUAL "41");
	put_fde(0, 0x10, "");
	put_fde(0x20, 0x10, "");
	CHECK_STR(loaded(), "2 FDEs, 2 bad: bad; 10 -; 20 bad; 30 -");
}

TEST(set_loc_is_encoded_like_the_fde_s_start)
{
	size_t fde = begin_fde();

	put_address(0);
	put_u32(TEXT_BYTES);
	put_hex("00 01");
	put_address(0x20);
	put_hex("0e10 01");
	put_address(0x10); /* back */
	end_record(fde);
	CHECK_STR(loaded(), "1 FDEs, 1 bad: sp+8; 20 bad");
}

#define LEFT_OUT "0 FDEs, 2 bad: " /* the CIE and its FDE */

/* Version, letters, units and register, augmentation. */
static const struct program cies[] = {
	{ "01 7a5200 017810 011b", "sp+8; 8 sp+16" },
	{ "03 7a5200 017810 011b", "sp+8; 8 sp+16" },
	{ "04 7a5200 0800 017810 011b", "sp+8; 8 sp+16" },
	{ "04 7a5200 0400 017810 011b", LEFT_OUT },
	{ "04 7a5200 0804 017810 011b", LEFT_OUT },
	{ "00 7a5200 017810 011b", LEFT_OUT },
	{ "02 7a5200 017810 011b", LEFT_OUT },
	{ "05 7a5200 017810 011b", LEFT_OUT },
	{ "01 7a5200 047810 011b", "sp+8; 20 sp+16" },			/* code in units of 4 */
	{ "01 7a504c524200 017810 071b010203041b1b", "sp+8; 8 sp+16" }, /* "zPLRB" */
	{ "01 7a525800 017810 011b", LEFT_OUT },			/* "zRX" */
	{ "01 656800 017810", LEFT_OUT },				/* "eh" */
	{ "01 5200 017810", LEFT_OUT },					/* "R" */
	{ "01 7a5800 017810 011b", LEFT_OUT },				/* "zX" */
};

TEST(cies_of_an_unknown_form_are_left_out_with_their_fdes)
{
	for (size_t i = 0; i < ARRAY_SIZE(cies); i++) {
		size_t fde;

		eh.n = 0;
		cie = begin_record(0);
		put_hex(cies[i].hex);
		put_hex(USUAL);
		end_record(cie);
		fde = begin_fde();
		put_address(0);
		put_u32(TEXT_BYTES);
		put_hex(strstr(cies[i].hex, "4c") ? "04 61626364" : "00");
		put_hex("48 0e10");
		end_record(fde);
		CHECK_CASE_STR(cies[i].hex, loaded(), cies[i].rules);
	}
}

static const struct {
	const char *letters;
	uint8_t encoding;
	const char *address; /* TEXT, TEXT_BYTES */
} formats[] = {
	{ "", 0, "0010000000000000 0001000000000000" },
	{ "zR", 0x00, "0010000000000000 0001000000000000" },
	{ "zR", 0x01, "8020 8002" },
	{ "zR", 0x02, "0010 0001" },
	{ "zR", 0x03, "00100000 00010000" },
	{ "zR", 0x04, "0010000000000000 0001000000000000" },
	{ "zR", 0x09, "8020 8002" },
	{ "zR", 0x0a, "0010 0001" },
	{ "zR", 0x0b, "00100000 00010000" },
	{ "zR", 0x0c, "0010000000000000 0001000000000000" },
};

/* One FDE with address and length in these bytes. */
static char *loaded_as(const char *letters, uint8_t encoding, const char *address)
{
	size_t fde;

	eh.n = 0;
	put_cie_as(letters, encoding, USUAL);
	fde = begin_fde();
	put_hex(address);
	put_hex(letters[0] == 'z' ? "00 0e18" : "0e18");
	end_record(fde);
	return loaded();
}

TEST(addresses_are_stored_in_every_format)
{
	static const uint8_t unknown[] = { 0x05, 0x0f, 0x20, 0x30, 0x40, 0x50, 0x9b, 0xff };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		CHECK_CASE_STR(formats[i].address,
			       loaded_as(formats[i].letters, formats[i].encoding,
					 formats[i].address),
			       "sp+24");
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		CHECK_STR(loaded_as("zR", unknown[i], formats[0].address), "0 FDEs, 1 bad: ");
	/* around the end of the address space */
	CHECK_STR(loaded_as("zR", 0, "f0ffffffffffffff 2000000000000000"), "0 FDEs, 1 bad: ");
}

static const struct {
	const char *what;
	struct {
		uint32_t at, bytes;
		const char *program;
	} fdes[3];
	const char *rules;
} orders[] = {
	{ "sorted whatever their order",
	  { { 0x20, 0x10, "0e18" }, { 0, 0x10, "" }, { 0x10, 8, "0e10" } },
	  "3 FDEs, 0 bad: sp+8; 10 sp+16; 18 -; 20 sp+24; 30 -" },
	{ "neighbours with the same rule share a row",
	  { { 0, 0x10, "" }, { 0x10, 0x10, "" } },
	  "2 FDEs, 0 bad: sp+8; 20 -" },
	{ "one ends where the next one starts",
	  { { 0, 0x40, "44 0e10" }, { 0x10, 0x10, "0e18" } },
	  "2 FDEs, 0 bad: sp+8; 4 sp+16; 10 sp+24; 20 -" },
	{ "of several with the same start the first counts",
	  { { 0, 0x10, "0e10" }, { 0, 0x20, "0e18" } },
	  "sp+16; 10 -" },
	{ "it ends where the next one starts, too",
	  { { 0, 0x40, "0e10 60 0e20" }, { 0, 0x40, "0e18" }, { 0x10, 0x10, "0e28" } },
	  "2 FDEs, 0 bad: sp+16; 10 sp+40; 20 -" },
	{ "one of no bytes covers nothing", { { 8, 0, "0e10" }, { 0, TEXT_BYTES, "" } }, "sp+8" },
};

TEST(fdes_do_not_overlap)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		eh.n = 0;
		put_cie();
		for (size_t j = 0; j < 3 && orders[i].fdes[j].program; j++)
			put_fde(orders[i].fdes[j].at, orders[i].fdes[j].bytes,
				orders[i].fdes[j].program);
		CHECK_CASE_STR(orders[i].what, loaded(), orders[i].rules);
	}
}

/* It would take the rows of all others with it. */
TEST(an_fde_too_far_from_the_first_is_left_out)
{
	size_t fde;

	put_fde(0, 16, "0e10");
	put_cie_as("zR", 0x00, USUAL);
	fde = begin_fde();
	put_u64(TEXT + (1ULL << 31));
	put_u64(16);
	put_hex("00");
	end_record(fde);
	CHECK_STR(loaded(), "1 FDEs, 1 bad: sp+16; 10 -");
}

TEST(terminators_between_records_are_passed_over)
{
	put_fde(0, 0x10, "");
	put_u32(0);
	put_cie();
	put_u32(0);
	put_fde(0x10, 0x10, "0e10");
	put_u32(0);
	CHECK_STR(loaded(), "2 FDEs, 0 bad: sp+8; 10 sp+16; 20 -");
}

TEST(lengths_may_have_64_bits)
{
	put_u32(0xffffffff);
	put_u64(13);
	put_u32(eh.n - cie);
	put_address(0);
	put_u32(0x80);
	put_hex("00");
	put_fde(0x80, 8, "0e10");
	CHECK_STR(loaded(), "2 FDEs, 0 bad: sp+8; 80 sp+16; 88 -");
}

TEST(lengths_beyond_the_section_end_it)
{
	const uint64_t lengths[] = { 0x1000, 0xfffffffe, UINT64_MAX, 1ull << 63 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		eh.n = 0;
		put_cie();
		put_fde(0, TEXT_BYTES, "");
		if (lengths[i] > UINT32_MAX) {
			put_u32(0xffffffff);
			put_u64(lengths[i]);
		} else {
			put_u32(lengths[i]);
		}
		put_u64(0);
		CHECK_STR(loaded(), "1 FDEs, 1 bad: sp+8");
	}
}

TEST(every_section_cut_short_survives)
{
	size_t cie_end = eh.n, fde_end;
	char start[32];

	put_fde(0, 0x10, "41 0e10 8602");
	fde_end = eh.n;
	put_fde(0x10, 0x10, "0204 0f03767806");
	while (eh.n-- > 1) {
		snprintf(start, sizeof(start), "%d FDEs, %d bad: ", eh.n >= fde_end,
			 eh.n != cie_end && eh.n != fde_end);
		if (eh.n != fde_end)
			CHECK_HAS(loaded(), start);
		else
			CHECK_STR(loaded(), "sp+8; 1 sp+16 bp@cfa-16; 10 -");
	}
}

TEST(an_fde_that_points_to_no_cie_is_left_out)
{
	size_t first = cie;

	cie = first + 4;
	put_fde(0, 0x10, "");
	cie = first - 1000;
	put_fde(0x10, 0x10, "");
	cie = first;
	put_fde(0x20, 0x10, "");
	cie = eh.n - 9;
	put_fde(0x30, 0x10, "");
	CHECK_STR(loaded(), "1 FDEs, 3 bad: 20 sp+8; 30 -");
}

TEST(fdes_find_their_own_cie_among_many)
{
	size_t cies_at[8];
	char program[] = "0c0700 9001";

	for (int i = 0; i < 8; i++) {
		program[5] = (char)('0' + i);
		put_cie_as("zR", 0x1b, program);
		cies_at[i] = cie;
	}
	for (uint32_t i = 0; i < 8; i++) {
		cie = cies_at[i * 3 % 8];
		put_fde(i, 1, "");
	}
	CHECK_STR(loaded(), "8 FDEs, 0 bad: sp+0; 1 sp+3; 2 sp+6; 3 sp+1; 4 sp+4; 5 sp+7; 6 sp+2; "
			    "7 sp+5; 8 -");
}

TEST(an_empty_section_is_an_empty_table)
{
	eh.n = 0;
	CHECK_STR(loaded(), "0 FDEs, 0 bad: ");
}

/* ---- files ---- */

/* With two FDEs, of which the segment, which ends at a terminator, has one. */
static struct image *usual_image(size_t *size)
{
	eh.n = 0;
	put_cie();
	put_fde(0, 0x80, "");
	put_u32(0);
	put_fde(0x80, 0x80, "0e10");
	return until_end(image_new(eh.bytes, eh.n, size));
}

struct edit {
	size_t at, bytes;
	uint64_t value;
};

#define SET(field, value)                                                                \
	{                                                                                \
		offsetof(struct image, field), sizeof(((struct image *)0)->field), value \
	}

static const struct {
	struct edit edits[2];
	int err;
	const char *rules;
} files[] = {
	{ { { 0 } }, 0, "2 FDEs, 0 bad: sp+8; 80 sp+16" },
	/* without section headers the segment is read */
	{ { SET(header.e_shoff, 0) }, 0, "sp+8; 80 -" },
	{ { SET(header.e_shoff, UINT64_MAX - 8) }, 0, "sp+8; 80 -" },
	/* without a table, or with a broken one */
	{ { SET(sections[1].sh_type, SHT_NOBITS) }, -ENODATA },
	{ { SET(header.e_shnum, 0), SET(header.e_phnum, 0) }, -ENODATA },
	{ { SET(sections[1].sh_name, 12), SET(header.e_phnum, 1) }, -ENODATA },
	{ { SET(sections[1].sh_flags, SHF_COMPRESSED) }, -EINVAL },
	{ { SET(sections[1].sh_size, UINT64_MAX - 0x200) }, -EFBIG },
	{ { SET(header.e_shnum, 0), SET(hdr[0], 2) }, -EINVAL },    /* version */
	{ { SET(header.e_shnum, 0), SET(hdr[7], 0x77) }, -EINVAL }, /* pointer */
	{ { SET(header.e_shnum, 0), SET(hdr[1], 0xff) }, -EINVAL }, /* encoding */
	{ { SET(header.e_shnum, 0), SET(segments[0].p_offset, UINT64_MAX - 8) }, -EINVAL },
	/* other files */
	{ { SET(header.e_ident[EI_CLASS], ELFCLASS32) }, -ENOTSUP },
	{ { SET(header.e_machine, EM_PPC64) }, -ENOTSUP },
	{ { SET(header.e_type, ET_REL) }, -ENOEXEC },
	{ { SET(header.e_ident[0], '#') }, -ENOEXEC },
};

TEST(files_that_have_no_table_are_refused)
{
	struct cfi_table t;
	size_t size;
	struct image *m;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct edit *e = files[i].edits;

		m = usual_image(&size);
		for (int j = 0; j < 2; j++)
			memcpy((char *)m + e[j].at, &e[j].value, e[j].bytes);
		CHECK_CASE("file", image_load(&t, m, size), files[i].err);
		if (files[i].err)
			CHECK_EQ(t.count, 0);
		CHECK_STR(text_of(&t), files[i].rules ? files[i].rules : "0 FDEs, 0 bad: ");
	}
	m = usual_image(&size);
	m->sections[1].sh_size++;
	CHECK_EQ(image_load(&t, m, size), -EINVAL);
	CHECK_EQ(image_load(&t, "", 0), -ENOEXEC);
	CHECK_EQ(image_load(&t, ELFMAG, 4), -ENOEXEC);
}

TEST(a_gigantic_section_in_a_sparse_file_is_refused)
{
	size_t size;
	struct image *m = usual_image(&size);
	struct cfi_table t;
	int fd;

	m->sections[1].sh_size = 1ull << 30;
	fd = memory_file(m, size);
	CHECK_EQ(ftruncate(fd, 2ll << 30), 0);
	CHECK_EQ(image_load_file(&t, fd), -EFBIG);
	close(fd);
}

TEST(fd_and_image_give_the_same)
{
	size_t size;
	struct image *m = usual_image(&size);
	int fd = memory_file(m, size);
	struct cfi_table t;

	CHECK_EQ(image_load_file(&t, fd), 0);
	CHECK_STR(text_of(&t), files[0].rules);
	close(fd);
	CHECK_EQ(image_load_file(&t, -1), -EBADF);
}

/* A CIE of 1 MB of "nop" and 50,000 FDEs under it: 5 * 10^10 steps if each FDE would execute it. */
TEST(time_is_linear_in_the_section_s_size)
{
	const size_t cie_bytes = 1 << 20, n = 50000, fde_bytes = 17;
	uint8_t *large = until_end(mem_zalloc(cie_bytes + n * fde_bytes, 1)),
		*p = large + cie_bytes;
	uint64_t start_ns = clock_thread_ns();
	struct cfi_table t;
	size_t size;
	struct image *m;

	memcpy(large, eh.bytes, eh.n);
	memcpy(large, &(uint32_t){ cie_bytes - 4 }, 4);
	for (size_t i = 0; i < n; i++, p += fde_bytes) {
		uint32_t words[] = { fde_bytes - 4, p + 4 - large,
				     TEXT + i * 2 - (IMAGE_EH_FRAME_VADDR + (p + 8 - large)), 1 };

		memcpy(p, words, sizeof(words));
	}
	m = until_end(image_new(large, cie_bytes + n * fde_bytes, &size));
	CHECK_EQ(image_load(&t, m, size), 0);
	CHECK_EQ(t.n_fdes, n);
	CHECK_EQ(t.count, 2 * n);
	CHECK(clock_thread_ns() - start_ns < 20 * NS_PER_S);
	cfi_free(&t);
}

/* ---- broken copies ---- */

static void find_eh_frame(const uint8_t *self, uint64_t *offset, uint64_t *bytes)
{
	const Elf64_Ehdr *header = (const void *)self;
	const Elf64_Shdr *sections = (const void *)(self + header->e_shoff);
	const char *names = (const char *)self + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".eh_frame")) {
			*offset = sections[i].sh_offset;
			*bytes = sections[i].sh_size;
		}
}

/* Up to eight bytes in [start, start + span) get other values for one load. */
static int load_mutated(uint8_t *image, size_t size, uint64_t start, uint64_t span)
{
	uint64_t at[8], n = random_u64() % ARRAY_SIZE(at) + 1;
	struct cfi_table t;
	uint8_t old[8];
	int err;

	for (size_t i = 0; i < n; i++) {
		at[i] = start + random_u64() % span;
		old[i] = image[at[i]];
		image[at[i]] = random_u64() % 4 ? random_u64() : 0xff;
	}
	err = image_load(&t, image, size);
	CHECK(image_table_is_sane(&t));
	cfi_free(&t);
	while (n--)
		image[at[n]] = old[n];
	return err;
}

TEST(broken_copies_of_this_program_survive)
{
	uint64_t offset = 0, bytes = 1;
	size_t size, loaded = 0;
	uint8_t *self = read_self(&size);

	find_eh_frame(self, &offset, &bytes);
	for (int i = 0; i < 1000; i++)
		loaded += !load_mutated(self, size, offset, bytes);
	CHECK_EQ(loaded, 1000); /* what is wrong inside is left out */
	for (int i = 0; i < 1000; i++)
		load_mutated(self, size, 0, sizeof(Elf64_Ehdr) + 13 * sizeof(Elf64_Phdr));
	for (int i = 0; i < 1000; i++)
		load_mutated(self, size, ((const Elf64_Ehdr *)(void *)self)->e_shoff,
			     sizeof(Elf64_Shdr) * 30);
}

TEST(this_program_cut_short_survives)
{
	size_t size;
	uint8_t *self = read_self(&size);

	for (int i = 0; i < 200; i++) {
		size_t kept = random_u64() % size;
		uint8_t *part = mem_zalloc(kept, 1);
		struct cfi_table t;

		memcpy(part, self, kept);
		image_load(&t, part, kept);
		CHECK(image_table_is_sane(&t));
		cfi_free(&t);
		free(part);
	}
}

static const struct unwind_rule sp = { .kind = UNWIND_SP, .cfa_off = 8 },
				bp = { .kind = UNWIND_BP }, gap;

/* Two functions, with a gap between them and one behind. */
static struct cfi_table make_gaps(void)
{
	struct cfi_table t = {};

	cfi_append(&t, 0x1000, &sp);
	cfi_append(&t, 0x1100, &gap);
	cfi_append(&t, 0x1200, &sp);
	cfi_append(&t, 0x1300, &gap);
	return t;
}

/* Fills with what ends walks, from vaddr on. */
static void check_filled(uint64_t start, uint64_t max_bytes, uint64_t end)
{
	struct cfi_row row = { start, { .kind = UNWIND_END } };
	struct cfi_table t = make_gaps();
	bool filled = cfi_fill_gap(&t, &row, 1, cfi_gap_end(&t, start, max_bytes));

	CHECK_EQ(filled, end != 0);
	for (uint64_t vaddr = 0xf00; vaddr < 0x1500; vaddr++) {
		struct cfi_table before = make_gaps();
		bool inside = vaddr >= start && vaddr < end;
		int wanted = inside ? UNWIND_END : cfi_find(&before, vaddr).kind;

		CHECK_EQ(cfi_find(&t, vaddr).kind, wanted);
		cfi_free(&before);
	}
	CHECK(image_table_is_sane(&t));
	cfi_free(&t);
}

static const struct {
	uint64_t start, end; /* 0: what has unwind information keeps it */
} fillings[] = {
	{ 0x1100, 0x1140 }, { 0x1150, 0x1190 },
	{ 0x11f0, 0x1200 }, /* the next function begins before */
	{ 0x11c0, 0x1200 }, { 0x1300, 0x1340 },
	{ 0x1400, 0x1440 }, { 0xf80, 0xfc0 }, /* before all of them */
	{ 0xff0, 0x1000 },  { 0x1000, 0 },
	{ 0x12ff, 0 },	    { UINT64_MAX - 5, 0 },
};

TEST(a_gap_is_filled)
{
	struct cfi_row row = { 0x11f0, { .kind = UNWIND_END } };
	struct cfi_table t = make_gaps();

	for (size_t i = 0; i < ARRAY_SIZE(fillings); i++)
		check_filled(fillings[i].start, 0x40, fillings[i].end);
	CHECK(!cfi_fill_gap(&t, &row, 1, 0x1201)); /* reaches into the next function */
	CHECK(!cfi_fill_gap(&t, &row, 1, 0x11f0));
	CHECK(!cfi_fill_gap(&t, &row, 0, 0x1200));
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
}

/* As far as a table reaches: 2 GiB before its first row, and more behind. */
TEST(rows_too_far_apart_are_refused)
{

	const uint64_t first = 0x7f1234567890;
	struct cfi_row before = { first - (1ULL << 30), sp }, far = { first - (1ULL << 33), sp };
	struct cfi_table t = {};

	CHECK_EQ(cfi_append(&t, first, &sp), 0);
	CHECK_EQ(cfi_append(&t, first + (1ULL << 33), &bp), -EFBIG);
	CHECK_EQ(cfi_append(&t, first + (1ULL << 30), &bp), 0);
	CHECK(cfi_fill_gap(&t, &before, 1, before.vaddr + 16));
	CHECK(!cfi_fill_gap(&t, &far, 1, far.vaddr + 16));
	CHECK_EQ(t.count, 4);
	CHECK_EQ(cfi_find(&t, before.vaddr + 15).kind, UNWIND_SP);
	CHECK_EQ(cfi_find(&t, before.vaddr + 16).kind, UNWIND_GAP);
	CHECK_EQ(cfi_find(&t, first).kind, UNWIND_SP);
	CHECK_EQ(cfi_find(&t, first + (1ULL << 31)).kind, UNWIND_BP);
	cfi_free(&t);
}

/* Rules that share a slot among those known, and more of them than there are slots. */
TEST(each_row_has_its_rule_however_many_there_are)
{
	struct cfi_table t = {};
	int n_wrong = 0;

	for (int i = 0; i < 20000; i++) {
		struct unwind_rule rule = { .kind = UNWIND_SP,
					    .cfa_off = 8 * (i % 3 ? i % 5000 : 1) };

		CHECK_EQ(cfi_append(&t, 4 * (uint64_t)i, &rule), 0);
	}
	for (int i = 0; i < 20000; i++)
		n_wrong += cfi_find(&t, 4 * (uint64_t)i).cfa_off != 8 * (i % 3 ? i % 5000 : 1);
	CHECK_EQ(n_wrong, 0);
	cfi_free(&t);
}

TEST(a_row_that_is_not_behind_the_last_takes_its_place)
{

	struct cfi_table t = {};

	cfi_append(&t, 0x100, &sp);
	cfi_append(&t, 0x110, &bp);
	cfi_append(&t, 0x110, &sp);
	CHECK_EQ(t.count, 1);
	cfi_append(&t, 0x100, &bp);
	CHECK_EQ(t.count, 1);
	CHECK_EQ(cfi_find(&t, 0x100).kind, UNWIND_BP);
	cfi_free(&t);
}

/* ---- code that the C library's authors left without unwind information ---- */

/* The table of a file with what is known of it. False: there is no such file. */
static bool load_known(struct cfi_table *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf64 elf;

	*t = (struct cfi_table){ .cells = NULL };
	if (fd < 0)
		return false;
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(cfi_load(t, &elf), 0);
	cfi_fill_known_gaps(t, &elf);
	CHECK(image_table_is_sane(t));
	close(fd);
	return true;
}

static bool load_libc(struct cfi_table *t)
{
	return load_known(t, "/lib/x86_64-linux-gnu/libc.so.6") ||
	       load_known(t, "/lib64/libc.so.6");
}

TEST(the_dynamic_linkers_entry_point_has_no_caller)
{
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);
	struct cfi_table t;
	Elf64_Ehdr header;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		SKIP("no dynamic linker");
	close(fd);
	CHECK(load_known(&t, "/lib64/ld-linux-x86-64.so.2"));
	CHECK_EQ(cfi_find(&t, header.e_entry).kind, UNWIND_END);
	CHECK_EQ(cfi_find(&t, header.e_entry + 7).kind, UNWIND_END);
	cfi_free(&t);
}

static uint64_t run_address(uint64_t address)
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)address, &info) ? address - (uintptr_t)info.dli_fbase : 0;
}

#define INIT_BYTES "\x48\x83\xec\x08" /* sub $8,%rsp: what _init and _fini begin with */

/* This very program's, as its linker put it together. */
TEST(init_and_fini_have_callers)
{
	extern void begin_it(void) __asm__("_init"), end_it(void) __asm__("_fini");
	void (*const functions[])(void) = { begin_it, end_it };
	struct cfi_table t;

	CHECK(load_known(&t, "/proc/self/exe"));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const uint8_t *code = (const uint8_t *)(uintptr_t)functions[i];
		uint64_t start = run_address((uintptr_t)code), at = 0;

		if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
			at = 4;
		if (memcmp(code + at, INIT_BYTES, 4))
			SKIP("this C library's begin in another way");
		CHECK_EQ(cfi_find(&t, start).kind, UNWIND_SP);
		CHECK_EQ(cfi_find(&t, start).cfa_off, 8);
		CHECK_EQ(cfi_find(&t, start + at).cfa_off, 8);
		CHECK_EQ(cfi_find(&t, start + at + 4).cfa_off, 16);
	}
	cfi_free(&t);
}

/* The compiler's start files follow _start; one of their functions has a frame pointer. */
TEST(start_files_have_callers)
{
	extern void start_it(void) __asm__("_start");
	uint64_t start = run_address((uintptr_t)start_it), n_frames = 0, n_gaps = 0;
	struct cfi_table t;

	CHECK(load_known(&t, "/proc/self/exe"));
	for (uint64_t at = start; at < start + 0xe0; at++) {
		struct unwind_rule rule = cfi_find(&t, at);

		n_gaps += rule.kind == UNWIND_GAP;
		n_frames += (rule.kind == UNWIND_SP || rule.kind == UNWIND_BP) &&
			    rule.cfa_off == 16 && rule.bp_kind == UNWIND_BP_AT_CFA &&
			    rule.bp_off == -16;
	}
	if (n_gaps > 0xc0)
		SKIP("start files of another compiler");
	CHECK(n_frames > 16);
	CHECK(n_gaps < 64); /* padding */
	cfi_free(&t);
}

/* Walks out of clone's gap in both ways: a rule for the instruction behind the system call. */
TEST(clone_returns_twice)
{
	size_t n_clones = 0;
	struct cfi_table t;

	if (!load_libc(&t))
		SKIP("no glibc where it usually is");
	for (size_t i = 1; i + 1 < t.count; i++) {
		if (cfi_row(&t, i).rule.kind != UNWIND_CLONE)
			continue;
		n_clones++;
		CHECK_EQ(cfi_find(&t, cfi_vaddr(&t, i) - 1).kind, UNWIND_SP); /* the system call */
		CHECK_EQ(cfi_row(&t, i + 1).rule.kind, UNWIND_END);
	}
	CHECK(n_clones > 0);
	cfi_free(&t);
}

/* vfork keeps its return address in a register, which must outlast the system call. */
TEST(vforks_return_address_is_in_a_register)
{
	void *libc =
		dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD); /* a sanitizer has a vfork, too */
	uint64_t code = libc ? run_address((uintptr_t)dlsym(libc, "vfork")) : 0;
	bool found = false;
	struct cfi_table t;

	if (!load_libc(&t))
		SKIP("no glibc where it usually is");
	for (uint64_t at = code; at < code + 16; at++)
		found |= cfi_find(&t, at).kind == UNWIND_RA_REG;
	CHECK(found);
	cfi_free(&t);
}

/* Its lazy binding has the CFA in rbx, which is saved by the functions that it calls. */
TEST(rbx_is_followed_in_the_dynamic_linker)
{
	size_t n_from_bx = 0, n_saved = 0;
	struct cfi_table t;

	if (!load_known(&t, "/lib64/ld-linux-x86-64.so.2"))
		SKIP("no dynamic linker");
	for (size_t i = 0; i < t.count; i++) {
		struct unwind_rule rule = cfi_row(&t, i).rule;

		n_from_bx += rule.kind == UNWIND_REG && unwind_reg(rule.cfa_off) == UNWIND_RBX;
		n_saved += rule.extra_place >= UNWIND_BX_AT_CFA;
	}
	CHECK(n_from_bx > 0);
	CHECK(n_saved > 100);
	cfi_free(&t);
}

/* Elsewhere it would only make more rules. */
TEST(rbx_is_not_followed_where_nothing_needs_it)
{
	struct cfi_table t;

	CHECK(load_known(&t, "/proc/self/exe"));
	for (size_t i = 0; i < t.count; i++)
		CHECK_EQ(cfi_row(&t, i).rule.extra_place, UNWIND_BX_LOST);
	cfi_free(&t);
}
