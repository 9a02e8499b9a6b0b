// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the outermost frames of threads in musl; see musl_code.h. Searches for musl's own assembly,
 * and for compiled code of
 *
 *	__libc_start_init();
 *	exit(main(argc, argv, envp));
 *
 * and, on x86-64, of
 *
 *	__syscall(SYS_rt_sigprocmask, ...);
 *	__pthread_exit(args->start_func(args->start_arg));
 *
 * in 1.1 and 1.2. Only gaps are searched, and only in files whose entry point is musl's: others
 * hardly contain this code. On arm64 the function that runs threads saves a frame pointer, which
 * leads to __clone.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/arm64_insn.h"
#include "base/array.h"
#include "base/load.h"
#include "elf/x86_decode.h"
#include "unwind/musl_code.h"

#define GAP_MIN_BYTES  16
#define CODE_MAX_BYTES (64U << 20) /* limit of bytes read of a file's gaps */
#define GAP_COST_BYTES 4096	   /* cost of reading a gap, besides its size */
#define MAX_PLACES     32	   /* a file has three */

/* Rows of one location in code, up to end. */
struct place {
	struct cfi_row rows[4];
	size_t n;
	uint64_t end;
};

struct scan {
	const struct elf64 *elf;
	const uint8_t *code; /* contents of the current gap */
	size_t size;
	uint64_t vaddr;
	uint64_t bytes_left; /* limit of further bytes to read */
	struct place places[MAX_PLACES];
	size_t n;
};

static struct place *new_place(struct scan *s, size_t end)
{
	struct place *place = &s->places[s->n];

	s->n += s->n + 1 < MAX_PLACES;
	place->n = 0;
	place->end = s->vaddr + end;
	return place;
}

static void add_row(const struct scan *s, struct place *place, size_t at, struct unwind_rule rule)
{
	place->rows[place->n++] = (struct cfi_row){ s->vaddr + at, rule };
}

/* Marks the code as outermost: its callers don't matter. */
static void add_outermost(struct scan *s, size_t at, size_t end)
{
	add_row(s, new_place(s, end), at, (struct unwind_rule){ .kind = UNWIND_END });
}

/* ---- x86-64 ---- */

/* Entry point: xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call */
#define X86_ENTRY     "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35"
#define X86_ENTRY_END "\x48\x83\xe4\xf0\xe8"

static bool is_x86_entry(const uint8_t *code, size_t size)
{
	size_t end_at = sizeof(X86_ENTRY) - 1 + sizeof(int32_t);

	return size >= end_at + sizeof(X86_ENTRY_END) - 1 &&
	       !memcmp(code, X86_ENTRY, sizeof(X86_ENTRY) - 1) &&
	       !memcmp(code + end_at, X86_ENTRY_END, sizeof(X86_ENTRY_END) - 1);
}

static bool has_bytes(const struct scan *s, size_t at, const char *bytes, size_t n)
{
	return at <= s->size && n <= s->size - at && !memcmp(s->code + at, bytes, n);
}

/* Returns the length of an indirect call that ends at `end`; 0: none. */
static size_t call_before(const struct scan *s, size_t end)
{
	struct x86_insn insn;

	for (size_t n = 2; n <= 4 && n <= end; n++)
		if (x86_decode(&insn, s->code + end - n, n) && insn.bytes == n &&
		    insn.map == X86_MAP_ONE && insn.opcode == 0xff && (insn.modrm >> 3 & 7) == 2)
			return n;
	return 0;
}

/* Returns the start of a register move that ends at `end`; end: none. */
static size_t move_before(const struct scan *s, size_t end)
{
	const uint8_t *code = s->code + end;

	if (end < 3 || code[-2] != 0x89 || code[-1] < 0xc0)
		return end;
	return (code[-3] & 0xf0) == 0x40 ? end - 3 : end - 2;
}

/*
 * Matches __clone: syscall; test %eax,%eax; jne parent; xor %ebp,%ebp; pop %rdi; call *%r9 ...;
 * parent: ret. The parent may return first, with the stack as at the call.
 */
static void note_x86_clone(struct scan *s, size_t at)
{
	const struct unwind_rule outside = { .kind = UNWIND_SP, .cfa_off = 8 };
	size_t parent = at + (at ? s->code[at - 1] : 0);
	struct place *place;

	if (at < 6 || !has_bytes(s, at - 6, "\x0f\x05\x85\xc0\x75", 5) ||
	    !has_bytes(s, parent, "\xc3", 1))
		return;
	place = new_place(s, parent + 1);
	add_row(s, place, at - 6, outside);
	add_row(s, place, at - 4, (struct unwind_rule){ .kind = UNWIND_CLONE });
	add_row(s, place, at, (struct unwind_rule){ .kind = UNWIND_END });
	add_row(s, place, parent, outside);
}

/* Matches call; three moves; call *%rbx or the like; mov %eax,%edi; call. at: last move. */
static void note_x86_main(struct scan *s, size_t at)
{
	size_t call_bytes = call_before(s, at), moves = at - call_bytes;

	for (int i = 0; call_bytes && i < 3; i++) {
		size_t begin = move_before(s, moves);

		if (begin == moves)
			return;
		moves = begin;
	}
	if (call_bytes && moves >= 5 && s->code[moves - 5] == 0xe8)
		add_outermost(s, at - call_bytes, at + 7);
}

/* Matches syscall; a move of at most six bytes; call *(%rbx) etc.; mov %rax,%rdi; call. */
static void note_x86_thread(struct scan *s, size_t at)
{
	size_t call_bytes = call_before(s, at), call = at - call_bytes;

	if (call_bytes && call >= 8 && memmem(s->code + call - 8, 8, "\x0f\x05", 2))
		add_outermost(s, call, at + 8);
}

static const struct {
	const char *bytes;
	size_t n;
	void (*note)(struct scan *s, size_t at);
} x86_codes[] = {
	{ "\x31\xed\x5f\x41\xff\xd1", 6, note_x86_clone }, /* xor %ebp,%ebp; pop %rdi; call *%r9 */
	{ "\x89\xc7\xe8", 3, note_x86_main },		   /* mov %eax,%edi; call */
	{ "\x48\x89\xc7\xe8", 4, note_x86_thread },	   /* mov %rax,%rdi; call */
};

static void scan_x86(struct scan *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(x86_codes); i++) {
		const uint8_t *at = s->code, *end = s->code + s->size;

		while ((at = memmem(at, (size_t)(end - at), x86_codes[i].bytes, x86_codes[i].n)))
			x86_codes[i].note(s, (size_t)(at++ - s->code));
	}
}

/* ---- arm64 ---- */

static uint32_t word_at(const struct scan *s, size_t i)
{
	return load_u32(s->code + i * ARM64_INSN_BYTES);
}

/* Matches mov x29, #0; mov x30, #0; mov x0, sp. */
static bool is_arm64_entry(const uint8_t *code, size_t size)
{
	static const uint32_t entry[] = { 0xd280001d, 0xd280001e, 0x910003e0 };

	return size >= sizeof(entry) && !memcmp(code, entry, sizeof(entry));
}

/* Matches ldp x1, x0, [sp], #16; blr x1; mov x8, #__NR_exit; svc #0. */
static bool is_arm64_clone(const struct scan *s, size_t i)
{
	return word_at(s, i - 1) == 0xa8c103e1U && word_at(s, i + 1) == 0xd2800ba8U &&
	       word_at(s, i + 2) == 0xd4000001U;
}

/* Matches bl; three register moves; blr; bl. */
static bool is_arm64_main(const struct scan *s, size_t i)
{
	for (size_t move = i - 3; move < i; move++)
		if ((word_at(s, move) & 0x7fe0ffe0U) != 0x2a0003e0U)
			return false;
	return arm64_is_direct_call(word_at(s, i - 4)) && arm64_is_direct_call(word_at(s, i + 1));
}

static void scan_arm64(struct scan *s)
{
	size_t n = s->size / ARM64_INSN_BYTES;

	for (size_t i = 4; i + 2 < n; i++) {
		if (!arm64_is_call(word_at(s, i)) || arm64_is_direct_call(word_at(s, i)))
			continue;
		if (is_arm64_clone(s, i))
			add_outermost(s, (i - 1) * ARM64_INSN_BYTES, (i + 3) * ARM64_INSN_BYTES);
		else if (is_arm64_main(s, i))
			add_outermost(s, i * ARM64_INSN_BYTES, (i + 2) * ARM64_INSN_BYTES);
	}
}

/* ---- gaps ---- */

static bool is_arm64(const struct elf64 *elf)
{
	return elf->header.e_machine == EM_AARCH64;
}

static bool is_musl(const struct elf64 *elf)
{
	const uint64_t n = sizeof(X86_ENTRY) - 1 + sizeof(int32_t) + sizeof(X86_ENTRY_END) - 1;
	uint8_t *code =
		elf->header.e_entry ? elf64_read_vaddr(elf, elf->header.e_entry, n, n) : NULL;
	bool is = code && (is_arm64(elf) ? is_arm64_entry(code, n) : is_x86_entry(code, n));

	free(code);
	return is;
}

static void scan_gap(struct scan *s, const struct cfi_gap *gap)
{
	uint8_t *code;

	if (s->bytes_left < GAP_COST_BYTES)
		return;
	s->bytes_left -= GAP_COST_BYTES;
	s->size = gap->end - gap->vaddr;
	code = elf64_read_vaddr(s->elf, gap->vaddr, s->size, s->bytes_left);
	if (!code)
		return;
	s->bytes_left -= s->size;
	s->code = code;
	s->vaddr = gap->vaddr;
	if (is_arm64(s->elf))
		scan_arm64(s);
	else
		scan_x86(s);
	free(code);
}

/* Searches the gaps of the entry point's segment, which contains all code. */
void musl_fill_gaps(struct cfi_table *t, const struct elf64 *elf)
{
	struct scan s = { .elf = elf, .bytes_left = CODE_MAX_BYTES };
	struct cfi_gap gap;
	Elf64_Phdr load;

	if (!is_musl(elf) || elf64_find_load(elf, elf->header.e_entry, &load))
		return;
	gap.end = load.p_vaddr;
	while (cfi_next_gap(t, elf, GAP_MIN_BYTES, &gap) &&
	       gap.vaddr < load.p_vaddr + load.p_filesz)
		scan_gap(&s, &gap);
	for (size_t i = 0; i < s.n; i++)
		cfi_fill_gap(t, s.places[i].rows, s.places[i].n, s.places[i].end);
}
