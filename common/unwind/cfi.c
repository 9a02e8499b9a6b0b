// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compiles unwind tables: the programs of FDEs, which are sorted by address, are executed in that
 * order and their rules appended, so that rows need not be sorted or revisited.
 * Each CIE's program is executed once, not once per FDE: a hostile file could make that quadratic.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "abi/unwind_rule.h"
#include "base/addrsort.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/dwarf_read.h"
#include "elf/elf64.h"
#include "unwind/cfa_rule.h"
#include "unwind/cfi.h"

/* ---- records ---- */

/*
 * The records of a file's .eh_frame (LSB 5, chapter 10.6; DWARF 5, 6.4.1): code ranges (FDEs) with
 * their programs, and common headers of FDEs (CIEs), which always precede the FDEs that point back
 * to them. The section is walked once, record by record, as a debugger does; the search table in
 * .eh_frame_hdr is not used, except to find .eh_frame in files without section headers.
 *
 * Time and memory are linear in the section's size, with any contents; at most 128 MiB, 4 M FDEs,
 * 256 K CIEs.
 */

struct eh_program {
	const uint8_t *bytes;
	size_t size;
};

struct eh_cie {
	const uint8_t *at; /* start of the record; ascending */
	bool is_readable;  /* false: the following members are invalid */
	bool is_signal_frame;
	bool has_augmentation_data;
	uint8_t pointer_encoding;
	uint64_t code_align;
	int64_t data_align;
	struct eh_program program;
};

struct eh_fde {
	uint64_t start, end; /* ELF virtual addresses; start < end */
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie; /* index of the CIE, which is readable */
};

struct eh_frame {
	const struct cfa_machine *machine; /* architecture of the code */
	uint8_t *bytes;			   /* contents of .eh_frame; all pointers point into them */
	size_t size;
	uint64_t vaddr;		 /* address of bytes[0] */
	bool ends_at_terminator; /* size is only an upper bound */
	struct eh_cie *cies;
	size_t n_cies;
	struct addr_item *fdes; /* non-empty FDEs, see eh_frame_fde(); ascending by start */
	size_t n_fdes;
	size_t n_bad; /* omitted records: broken, or of an unknown form */
};

#define SECTION_MAX_BYTES (128u << 20)
#define FDES_MAX	  (4u << 20)
#define CIES_MAX	  (256u << 10)
#define HDR_MAX_BYTES	  16
#define LENGTH_IS_64BIT	  0xffffffff

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

struct walk {
	struct eh_frame *eh;
	size_t cies_cap, fdes_cap;
	struct eh_cie *last_cie; /* latest CIE, or that of the previous FDE; NULL: none */
};

struct record {
	const uint8_t *at;
	const uint8_t *id_at;
	uint32_t id; /* 0: a CIE; else the distance from the CIE to id_at, in bytes */
	struct cursor body;
};

/*
 * Reads an address in a record, in the encoding given by the CIE. Fails on data-relative ones,
 * which no compiler for x86-64 uses.
 */
static uint64_t eh_frame_address(const struct eh_frame *eh, struct cursor *c, uint8_t encoding)
{
	uint64_t itself = eh->vaddr + (c->p - eh->bytes);
	uint64_t value = cursor_pointer(c, encoding);

	switch (encoding & POINTER_BASE_MASK) {
	case POINTER_TO_ZERO:
		return value;
	case POINTER_TO_ITSELF:
		return value + itself;
	default:
		cursor_fail(c);
		return 0;
	}
}

/* Handles one letter of the augmentation string, and its data. False: unknown letter. */
static bool read_augmentation(struct eh_cie *cie, char letter, struct cursor *data)
{
	switch (letter) {
	case 'R':
		cie->pointer_encoding = cursor_u8(data);
		return true;
	case 'P': /* personality routine: only its size matters */
		cursor_pointer(data, cursor_u8(data));
		return true;
	case 'L':
		cursor_u8(data);
		return true;
	case 'S':
		cie->is_signal_frame = true;
		return true;
	default:
		return letter == 'B' || letter == 'G'; /* arm64: signed addresses, tagged stacks */
	}
}

static bool read_augmentations(struct eh_cie *cie, const uint8_t *letters, struct cursor *c)
{
	struct cursor data;

	if (!*letters)
		return true;
	if (*letters != 'z')
		return false;
	cie->has_augmentation_data = true;
	data = cursor_cut(c, cursor_uleb(c));
	while (*++letters)
		if (!read_augmentation(cie, (char)*letters, &data))
			return false;
	return !data.failed;
}

static const uint8_t *read_string(struct cursor *c)
{
	const uint8_t *zero = c->p ? memchr(c->p, 0, cursor_left(c)) : NULL;

	return cursor_skip(c, zero ? (uint64_t)(zero - c->p) + 1 : UINT64_MAX);
}

/* Checks the address sizes, which version 4 states. */
static bool has_flat_addresses(struct cursor *c)
{
	uint8_t address_bytes = cursor_u8(c), selector_bytes = cursor_u8(c);

	return address_bytes == 8 && selector_bytes == 0;
}

static bool read_cie(const struct cfa_machine *machine, struct eh_cie *cie, struct cursor *c)
{
	uint8_t version = cursor_u8(c);
	const uint8_t *letters = read_string(c);
	uint64_t ra_column;

	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && !has_flat_addresses(c))
		return false;
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	ra_column = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	if (ra_column != machine->numbers[CFA_REG_RA] || !read_augmentations(cie, letters, c))
		return false;
	cie->program = (struct eh_program){ .bytes = c->p, .size = cursor_left(c) };
	return !c->failed;
}

static int add_cie(struct walk *w, struct record *r)
{
	struct eh_frame *eh = w->eh;
	struct eh_cie *cie;

	if (eh->n_cies == CIES_MAX)
		return -EFBIG;
	cie = MEM_APPEND(eh->cies, eh->n_cies, w->cies_cap);
	*cie = (struct eh_cie){ .at = r->at };
	cie->is_readable = read_cie(eh->machine, cie, &r->body);
	eh->n_bad += !cie->is_readable;
	w->last_cie = cie;
	return 0;
}

static struct eh_cie *search_cie(struct eh_frame *eh, const uint8_t *at)
{
	size_t rank = SEARCH_RANK(eh->cies, eh->n_cies, at, (uintptr_t)at);

	return rank && eh->cies[rank - 1].at == at ? &eh->cies[rank - 1] : NULL;
}

/* Returns the FDE's CIE, mostly that of the previous FDE. NULL: none, or unreadable. */
static struct eh_cie *find_cie(struct walk *w, const struct record *r)
{
	const uint8_t *at;

	if (r->id > r->id_at - w->eh->bytes)
		return NULL;
	at = r->id_at - r->id;
	if (!w->last_cie || w->last_cie->at != at)
		w->last_cie = search_cie(w->eh, at);
	return w->last_cie && w->last_cie->is_readable ? w->last_cie : NULL;
}

/* Reads an FDE whose member cie is set. */
static bool read_fde(const struct eh_frame *eh, struct eh_fde *fde, struct record *r)
{
	const struct eh_cie *cie = &eh->cies[fde->cie];
	struct cursor *c = &r->body;
	uint64_t bytes;

	fde->start = eh_frame_address(eh, c, cie->pointer_encoding);
	bytes = cursor_pointer(c, cie->pointer_encoding & POINTER_FORMAT_MASK);
	if (cie->has_augmentation_data)
		cursor_skip(c, cursor_uleb(c));
	fde->end = fde->start + bytes;
	fde->program = c->p;
	fde->program_bytes = cursor_left(c);
	return !c->failed && fde->end >= fde->start;
}

static int add_fde(struct walk *w, struct record *r)
{
	const struct eh_cie *cie = find_cie(w, r);
	struct eh_frame *eh = w->eh;
	struct eh_fde fde;

	if (eh->n_fdes == FDES_MAX)
		return -EFBIG;
	if (cie)
		fde.cie = (uint32_t)(cie - eh->cies);
	if (!cie || !read_fde(eh, &fde, r)) {
		eh->n_bad++;
		return 0;
	}
	if (fde.start == fde.end)
		return 0;
	*MEM_APPEND(eh->fdes, eh->n_fdes, w->fdes_cap) = (struct addr_item){
		.addr = fde.start, .value = (uint64_t)fde.cie << 32 | (uint64_t)(r->at - eh->bytes)
	};
	return 0;
}

/* Reads the next record. False: end of section, terminator (if that ends it), or invalid length. */
static bool next_record(struct eh_frame *eh, struct cursor *c, struct record *r)
{
	uint64_t bytes = 0;

	while (!bytes) {
		if (!cursor_left(c))
			return false;
		r->at = c->p;
		bytes = cursor_u32(c);
		eh->n_bad += c->failed;
		if (c->failed || (!bytes && eh->ends_at_terminator))
			return false;
	}
	if (bytes == LENGTH_IS_64BIT)
		bytes = cursor_u64(c);
	r->body = cursor_cut(c, bytes);
	r->id_at = r->body.p;
	r->id = cursor_u32(&r->body);
	eh->n_bad += r->body.failed;
	return !r->body.failed;
}

static int read_records(struct eh_frame *eh)
{
	struct cursor c = cursor_over(eh->bytes, eh->size);
	struct walk w = { .eh = eh };
	struct record r;
	int err = 0;

	while (!err && next_record(eh, &c, &r))
		err = r.id ? add_fde(&w, &r) : add_cie(&w, &r);
	return err;
}

static int read_bytes(struct eh_frame *eh, const struct elf64 *elf, uint64_t offset, uint64_t bytes)
{
	eh->bytes = elf64_read(elf, offset, bytes, SECTION_MAX_BYTES);
	eh->size = bytes;
	return eh->bytes ? 0 : -errno;
}

static int read_section(struct eh_frame *eh, const struct elf64 *elf, const Elf64_Shdr *sh)
{
	if (sh->sh_type == SHT_NOBITS)
		return -ENODATA; /* a separate debug file: sections have no contents */
	if ((sh->sh_type != SHT_PROGBITS && sh->sh_type != SHT_X86_64_UNWIND) ||
	    sh->sh_flags & SHF_COMPRESSED)
		return -EINVAL;
	eh->vaddr = sh->sh_addr;
	return read_bytes(eh, elf, sh->sh_offset, sh->sh_size);
}

/* Reads from vaddr to the end of the segment, without a section header. */
static int read_from_vaddr(struct eh_frame *eh, const struct elf64 *elf, uint64_t vaddr)
{
	uint64_t skipped, bytes;
	Elf64_Phdr load;

	if (elf64_find_load(elf, vaddr, &load))
		return -EINVAL;
	skipped = vaddr - load.p_vaddr;
	bytes = load.p_filesz - skipped;
	if (load.p_offset + skipped < load.p_offset)
		return -EINVAL;
	eh->vaddr = vaddr;
	eh->ends_at_terminator = true;
	return read_bytes(eh, elf, load.p_offset + skipped,
			  bytes < SECTION_MAX_BYTES ? bytes : SECTION_MAX_BYTES);
}

/* Reads .eh_frame_hdr: version, three encodings, address of .eh_frame (LSB 5, 10.6.2). */
static bool read_hdr(const uint8_t *bytes, size_t size, uint64_t hdr_vaddr, uint64_t *vaddr)
{
	struct cursor c = cursor_over(bytes, size);
	uint8_t version = cursor_u8(&c), encoding = cursor_u8(&c);
	uint64_t itself = hdr_vaddr + 4, value;

	cursor_skip(&c, 2);
	value = cursor_pointer(&c, encoding);
	switch (encoding & POINTER_BASE_MASK) {
	case POINTER_TO_ZERO:
		*vaddr = value;
		break;
	case POINTER_TO_ITSELF:
		*vaddr = value + itself;
		break;
	case POINTER_TO_DATA:
		*vaddr = value + hdr_vaddr;
		break;
	default:
		return false;
	}
	return version == 1 && !c.failed;
}

static int read_segment(struct eh_frame *eh, const struct elf64 *elf)
{
	uint64_t size, vaddr;
	Elf64_Phdr ph;
	uint8_t *hdr;
	bool ok;

	if (elf64_find_segment(elf, PT_GNU_EH_FRAME, &ph))
		return -ENODATA;
	size = ph.p_filesz < HDR_MAX_BYTES ? ph.p_filesz : HDR_MAX_BYTES;
	hdr = elf64_read(elf, ph.p_offset, size, HDR_MAX_BYTES);
	if (!hdr)
		return -errno;
	ok = read_hdr(hdr, size, ph.p_vaddr, &vaddr);
	free(hdr);
	return ok ? read_from_vaddr(eh, elf, vaddr) : -EINVAL;
}

/*
 * Reads .eh_frame, found by the section headers or, if these are absent, by PT_GNU_EH_FRAME.
 * Returns 0 or -errno: -ENODATA without .eh_frame, -EINVAL if it can't be located in the file,
 * -EFBIG, -ENOTSUP for other machines. Broken records are omitted and counted. eh_frame_free() is
 * required in any case.
 */
static int eh_frame_read(struct eh_frame *eh, const struct elf64 *elf)
{
	Elf64_Shdr sh;
	int err;

	*eh = (struct eh_frame){ .machine = cfa_machine(elf->header.e_machine) };
	if (!eh->machine)
		return -ENOTSUP;
	if (elf64_find_section(elf, ".eh_frame", &sh))
		err = read_segment(eh, elf);
	else
		err = read_section(eh, elf, &sh);
	if (!err)
		err = read_records(eh);
	if (!err)
		addrsort(eh->fdes, eh->n_fdes);
	return err;
}

/* Reads FDE i at each call: structures of all FDEs would take more memory than the section. */
static struct eh_fde eh_frame_fde(struct eh_frame *eh, size_t i)
{
	uint32_t at = (uint32_t)eh->fdes[i].value;
	struct cursor c = cursor_over(eh->bytes + at, eh->size - at);
	struct eh_fde fde = { .cie = (uint32_t)(eh->fdes[i].value >> 32) };
	struct record r;

	if (next_record(eh, &c, &r))
		read_fde(eh, &fde, &r);
	return fde;
}

static void eh_frame_free(struct eh_frame *eh)
{
	free(eh->bytes);
	free(eh->cies);
	free(eh->fdes);
	*eh = (struct eh_frame){ .bytes = NULL };
}

/* ---- programs ---- */

/*
 * Executes the programs of call frame information (DWARF 5, 6.4.2 and 6.4.3; GNU extensions of LSB
 * 5), which result in unwind rules (cfa_rule.h). Ambiguities of DWARF are resolved as in libgcc.
 * Each instruction is read completely; one that is truncated, unknown, or not allowed at its
 * position fails the program, and all code from the current location on gets the rule UNWIND_BAD.
 */

#define CFA_REMEMBER_MAX 16

/* State after a CIE's own program: the initial state of its FDEs. */
struct cfa_start {
	struct cfa_state state;
	bool is_bad; /* the CIE's program could not be executed */
};

struct cfa_program {
	const struct eh_frame *eh;
	const struct eh_cie *cie;
	const struct cfa_start *start; /* NULL: a CIE's program */
	struct cursor code;	       /* if it has failed, the remaining code gets UNWIND_BAD */
	uint64_t loc, next_loc, end;
	unsigned int n_remembered;
	struct cfa_state state;
	struct cfa_state remembered[CFA_REMEMBER_MAX];
};

/* A rule and the code range to which it applies. */
struct cfa_range {
	uint64_t start, end;
	struct unwind_rule rule;
	bool is_behind_plt; /* see cfa_is_behind_plt() */
};

/* ---- expressions ---- */

/*
 * DWARF expressions (DWARF 5, 2.5) in call frame information. They are not evaluated but compared
 * with the few forms that compilers, linkers and libraries for x86-64 use; other expressions, less
 * than one row in ten thousand, would need an evaluator in the kernel.
 */

enum expr_op {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT3 = 0x33,
	OP_LIT15 = 0x3f,
	OP_BREG0 = 0x70,
	OP_BREG6 = 0x76,
	OP_BREG7 = 0x77,
	OP_BREG16 = 0x80,
	OP_BREG31 = 0x8f,
};

static bool read_breg(struct cursor *c, uint64_t *reg, int64_t *off)
{
	uint8_t op = cursor_u8(c);

	*reg = op - OP_BREG0;
	*off = cursor_sleb(c);
	return op >= OP_BREG0 && op <= OP_BREG31 && !c->failed;
}

/* Matches an expression that is just "reg + off". */
static bool cfa_expr_is_sum(struct cursor expr, uint64_t *reg, int64_t *off)
{
	return read_breg(&expr, reg, off) && !cursor_left(&expr);
}

/*
 * Matches the linkers' expression for .plt: rsp + 8 + ((rip & 15) >= N) * 8, where N is the offset
 * after the push in an entry of 16 bytes: 11, or 9 or 10 if entries begin with endbr64.
 */
static bool is_plt(struct cursor expr, int32_t *threshold)
{
	static const uint8_t head[] = { OP_BREG7, 8, OP_BREG16, 0, OP_LIT15, OP_AND };
	static const uint8_t tail[] = { OP_GE, OP_LIT3, OP_SHL, OP_PLUS };
	const uint8_t *p = expr.p;

	if (cursor_left(&expr) != sizeof(head) + 1 + sizeof(tail))
		return false;
	*threshold = p[sizeof(head)] - OP_LIT0;
	return !memcmp(p, head, sizeof(head)) && *threshold >= 0 && *threshold <= 15 &&
	       !memcmp(p + sizeof(head) + 1, tail, sizeof(tail));
}

/* Matches *(reg + at) + plus. */
static bool is_deref(struct cursor expr, uint64_t *reg, int32_t *packed)
{
	uint64_t plus = 0;
	int64_t at;

	if (!read_breg(&expr, reg, &at) || cursor_u8(&expr) != OP_DEREF)
		return false;
	if (cursor_left(&expr)) {
		if (cursor_u8(&expr) != OP_PLUS_UCONST)
			return false;
		plus = cursor_uleb(&expr);
	}
	if (expr.failed || cursor_left(&expr) || at < INT16_MIN || at > INT16_MAX ||
	    plus > INT16_MAX)
		return false;
	*packed = unwind_pack_deref((int16_t)at, (int16_t)plus);
	return true;
}

/*
 * Returns the rule for an expression, with rbp's rule unset: UNWIND_PLT, UNWIND_SP_DEREF,
 * UNWIND_BP_DEREF; else UNWIND_BAD.
 */
static struct unwind_rule cfa_expr_rule(struct cursor expr)
{
	struct unwind_rule rule = { .kind = UNWIND_BAD };
	uint64_t reg;
	int32_t off;

	if (is_plt(expr, &off)) {
		rule.kind = UNWIND_PLT;
		rule.cfa_off = off;
	} else if (is_deref(expr, &reg, &off) &&
		   (reg == OP_BREG7 - OP_BREG0 || reg == OP_BREG6 - OP_BREG0)) {
		rule.kind = reg == OP_BREG7 - OP_BREG0 ? UNWIND_SP_DEREF : UNWIND_BP_DEREF;
		rule.cfa_off = off;
	}
	return rule;
}

/* ---- instructions ---- */

#define LOW_BITS 0x3f

enum op {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_GNU_ADVANCE_LOC8 = 0x1d,
	OP_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	OP_AARCH64_NEGATE_RA_STATE = 0x2d,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	/* opcodes with an operand in their low six bits */
	OP_ADVANCE_LOC = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
};

/* Fails the program: nothing more is executed. */
static void fail(struct cfa_program *p)
{
	cursor_fail(&p->code);
}

/* Returns the register with a DWARF number; CFA_REGS: not needed. */
static enum cfa_register find_register(const struct cfa_program *p, uint64_t reg)
{
	const uint8_t *numbers = p->eh->machine->numbers;
	enum cfa_register r = CFA_REG_RA;

	while (r < CFA_REGS && numbers[r] != reg)
		r++;
	return r;
}

static void set_place(struct cfa_program *p, uint64_t reg, enum cfa_place_kind kind, uint64_t off)
{
	enum cfa_register r = find_register(p, reg);

	if (r != CFA_REGS)
		p->state.places[r] = (struct cfa_place){ .kind = kind, .off = (int64_t)off };
}

/*
 * Restores a register's rule. By DWARF, that is the rule of the CIE. But the GNU assembler moves
 * the instructions at the start of a function, often a .cold part, into a CIE of its own, and the
 * compiler's .cfi_restore then still means "not saved", which is also libgcc's reading. For
 * x86-64's return address, which is in no register, only the CIE's rule makes sense.
 */
static void restore_place(struct cfa_program *p, uint64_t reg)
{
	if (reg >= p->eh->machine->n_registers && find_register(p, reg) == CFA_REG_RA && p->start)
		p->state.places[CFA_REG_RA] = p->start->state.places[CFA_REG_RA];
	else
		set_place(p, reg, PLACE_SAME, 0);
}

static struct cursor read_block(struct cfa_program *p)
{
	return cursor_cut(&p->code, cursor_uleb(&p->code));
}

static void set_place_expression(struct cfa_program *p, uint64_t reg)
{
	struct cursor expr = read_block(p);
	enum cfa_register r = find_register(p, reg);
	struct cfa_place place = { .kind = PLACE_OTHER };
	uint64_t base;

	if (r == CFA_REGS || p->code.failed)
		return;
	if (cfa_expr_is_sum(expr, &base, &place.off)) {
		place.kind = PLACE_AT_REG;
		place.reg = base;
	}
	p->state.places[r] = place;
}

static void set_place_register(struct cfa_program *p, uint64_t reg)
{
	uint64_t other = cursor_uleb(&p->code);
	enum cfa_register r = find_register(p, reg);

	set_place(p, reg, other < p->eh->machine->n_registers ? PLACE_IN_REG : PLACE_OTHER, 0);
	if (r != CFA_REGS)
		p->state.places[r].reg = (uint8_t)other;
}

static void define_cfa(struct cfa_program *p, uint64_t reg, uint64_t off)
{
	p->state.is_expression = false;
	p->state.reg = reg;
	p->state.off = (int64_t)off;
}

static void define_cfa_expression(struct cfa_program *p)
{
	struct cursor expr = read_block(p);
	uint64_t reg;
	int64_t off;

	if (p->code.failed)
		return;
	if (cfa_expr_is_sum(expr, &reg, &off)) {
		define_cfa(p, reg, (uint64_t)off);
		return;
	}
	p->state.is_expression = true;
	p->state.expression = cfa_expr_rule(expr);
}

static void remember_state(struct cfa_program *p)
{
	if (p->n_remembered == CFA_REMEMBER_MAX)
		fail(p);
	else
		p->remembered[p->n_remembered++] = p->state;
}

static void restore_state(struct cfa_program *p)
{
	if (!p->n_remembered)
		fail(p);
	else
		p->state = p->remembered[--p->n_remembered];
}

static void set_loc(struct cfa_program *p, uint64_t loc)
{
	if (loc < p->loc || !p->start)
		fail(p); /* locations ascend, and a CIE has none */
	else
		p->next_loc = loc;
}

static void advance_loc(struct cfa_program *p, uint64_t delta)
{
	uint64_t bytes, loc;

	if (__builtin_mul_overflow(delta, p->cie->code_align, &bytes) ||
	    __builtin_add_overflow(p->loc, bytes, &loc))
		fail(p);
	else
		set_loc(p, loc);
}

/* Reads a factored offset. Products of hostile numbers may wrap, which is harmless. */
static uint64_t read_factored(struct cfa_program *p)
{
	return cursor_uleb(&p->code) * (uint64_t)p->cie->data_align;
}

static uint64_t read_factored_signed(struct cfa_program *p)
{
	return (uint64_t)cursor_sleb(&p->code) * (uint64_t)p->cie->data_align;
}

static void run_loc_op(struct cfa_program *p, uint8_t op)
{
	switch (op) {
	case OP_SET_LOC:
		set_loc(p, eh_frame_address(p->eh, &p->code, p->cie->pointer_encoding));
		break;
	case OP_ADVANCE_LOC1:
		advance_loc(p, cursor_u8(&p->code));
		break;
	case OP_ADVANCE_LOC2:
		advance_loc(p, cursor_u16(&p->code));
		break;
	case OP_ADVANCE_LOC4:
		advance_loc(p, cursor_u32(&p->code));
		break;
	default: /* OP_GNU_ADVANCE_LOC8 */
		advance_loc(p, cursor_u64(&p->code));
		break;
	}
}

static void run_cfa_op(struct cfa_program *p, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = cursor_uleb(&p->code);
		define_cfa(p, reg, cursor_uleb(&p->code));
		break;
	case OP_DEF_CFA_SF:
		reg = cursor_uleb(&p->code);
		define_cfa(p, reg, read_factored_signed(p));
		break;
	case OP_DEF_CFA_REGISTER:
		define_cfa(p, cursor_uleb(&p->code), (uint64_t)p->state.off);
		break;
	case OP_DEF_CFA_OFFSET: /* an expression still applies, as in libgcc */
		p->state.off = (int64_t)cursor_uleb(&p->code);
		break;
	case OP_DEF_CFA_OFFSET_SF:
		p->state.off = (int64_t)read_factored_signed(p);
		break;
	default: /* OP_DEF_CFA_EXPRESSION */
		define_cfa_expression(p);
		break;
	}
}

static void run_register_op(struct cfa_program *p, uint8_t op)
{
	uint64_t reg = cursor_uleb(&p->code);

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_place(p, reg, PLACE_AT_CFA, read_factored(p));
		break;
	case OP_OFFSET_EXTENDED_SF:
		set_place(p, reg, PLACE_AT_CFA, read_factored_signed(p));
		break;
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_place(p, reg, PLACE_AT_CFA, -read_factored(p));
		break;
	case OP_VAL_OFFSET:
		set_place(p, reg, PLACE_IS_CFA, read_factored(p));
		break;
	case OP_VAL_OFFSET_SF:
		set_place(p, reg, PLACE_IS_CFA, read_factored_signed(p));
		break;
	case OP_RESTORE_EXTENDED:
		restore_place(p, reg);
		break;
	case OP_UNDEFINED:
		set_place(p, reg, PLACE_UNDEFINED, 0);
		break;
	case OP_SAME_VALUE:
		set_place(p, reg, PLACE_SAME, 0);
		break;
	case OP_REGISTER:
		set_place_register(p, reg);
		break;
	case OP_EXPRESSION:
		set_place_expression(p, reg);
		break;
	default: /* OP_VAL_EXPRESSION */
		read_block(p);
		set_place(p, reg, PLACE_OTHER, 0);
		break;
	}
}

static void run_extended_op(struct cfa_program *p, uint8_t op)
{
	switch (op) {
	case OP_NOP:
		break;
	case OP_SET_LOC:
	case OP_ADVANCE_LOC1:
	case OP_ADVANCE_LOC2:
	case OP_ADVANCE_LOC4:
	case OP_GNU_ADVANCE_LOC8:
		run_loc_op(p, op);
		break;
	case OP_DEF_CFA:
	case OP_DEF_CFA_SF:
	case OP_DEF_CFA_REGISTER:
	case OP_DEF_CFA_OFFSET:
	case OP_DEF_CFA_OFFSET_SF:
	case OP_DEF_CFA_EXPRESSION:
		run_cfa_op(p, op);
		break;
	case OP_REMEMBER_STATE:
		remember_state(p);
		break;
	case OP_RESTORE_STATE:
		restore_state(p);
		break;
	case OP_AARCH64_NEGATE_RA_STATE: /* ignored: all return addresses lose signatures */
	case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
		if (!p->eh->machine->signs_addresses)
			fail(p);
		break;
	case OP_GNU_ARGS_SIZE: /* only for exception handlers */
		cursor_uleb(&p->code);
		break;
	case OP_OFFSET_EXTENDED:
	case OP_OFFSET_EXTENDED_SF:
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
	case OP_RESTORE_EXTENDED:
	case OP_UNDEFINED:
	case OP_SAME_VALUE:
	case OP_REGISTER:
	case OP_EXPRESSION:
	case OP_VAL_EXPRESSION:
		run_register_op(p, op);
		break;
	default:
		fail(p);
		break;
	}
}

static void run_op(struct cfa_program *p)
{
	uint8_t op = cursor_u8(&p->code), operand = op & LOW_BITS;

	switch (op & ~LOW_BITS) {
	case OP_ADVANCE_LOC:
		advance_loc(p, operand);
		break;
	case OP_OFFSET:
		set_place(p, operand, PLACE_AT_CFA, read_factored(p));
		break;
	case OP_RESTORE:
		restore_place(p, operand);
		break;
	default:
		run_extended_op(p, op);
		break;
	}
}

static void cfa_program_start(struct cfa_start *start, const struct eh_frame *eh,
			      const struct eh_cie *cie)
{
	struct cfa_program p;

	p.eh = eh;
	p.cie = cie;
	p.start = NULL;
	p.code = cursor_over(cie->program.bytes, cie->program.size);
	p.loc = p.next_loc = 0;
	p.n_remembered = 0;
	p.state = (struct cfa_state){ .reg = UINT64_MAX };
	while (cursor_left(&p.code))
		run_op(&p);
	start->state = p.state;
	start->is_bad = p.code.failed;
}

/* Initializes p for an FDE. p may be reused; it is large, so only the needed fields are set. */
static void cfa_program_begin(struct cfa_program *p, const struct eh_frame *eh,
			      const struct eh_fde *fde, const struct cfa_start *start)
{
	p->eh = eh;
	p->cie = &eh->cies[fde->cie];
	p->start = start;
	p->code = cursor_over(fde->program, fde->program_bytes);
	p->loc = p->next_loc = fde->start;
	p->end = fde->end;
	p->n_remembered = 0;
	p->state = start->state;
	if (start->is_bad)
		fail(p);
}

/*
 * Finds the next range, ascending, without holes from the FDE's start to its end. False: no more.
 */
static bool cfa_program_next(struct cfa_program *p, struct cfa_range *range)
{
	if (p->next_loc >= p->end)
		return false;
	p->loc = p->next_loc;
	while (p->next_loc == p->loc && cursor_left(&p->code))
		run_op(p);
	if (p->next_loc == p->loc || p->next_loc > p->end)
		p->next_loc = p->end;
	range->start = p->loc;
	range->end = p->next_loc;
	range->rule = (struct unwind_rule){ .kind = UNWIND_BAD };
	range->is_behind_plt = cfa_is_behind_plt(p->eh->machine, &p->state);
	if (!p->code.failed)
		range->rule = cfa_rule(p->eh->machine, &p->state, p->cie->is_signal_frame);
	return true;
}

/* ---- rows ---- */

struct builder {
	struct cfi_table *table;
	struct eh_frame *eh;
	const struct cfa_start *starts; /* initial states, by CIE */
	struct cfa_program program;
	uint64_t covered_end; /* end of the previous FDE's code */
	bool keeps_extra;     /* rules also locate the extra register */
	bool needs_extra;     /* a CFA is computed from the extra register */
	int err;
};

static const struct unwind_rule gap = { .kind = UNWIND_GAP };

static void append_row(struct builder *b, uint64_t vaddr, const struct unwind_rule *rule)
{
	if (!b->err)
		b->err = cfi_append(b->table, vaddr, rule);
}

static bool takes_cfa_from_extra(const struct unwind_rule *rule, const struct cfa_machine *machine)
{
	return rule->kind == UNWIND_REG &&
	       unwind_reg(rule->cfa_off) == machine->numbers[CFA_REG_EXTRA];
}

/*
 * Returns true if the first range is the first instruction of code that a PLT jumps to: its unwind
 * information omits the pushed registers, and the return address is also still in x30.
 */
static bool begins_behind_plt(const struct cfa_range *first, const struct cfa_range *next)
{
	return next->is_behind_plt && !first->is_behind_plt && first->rule.kind == UNWIND_SP &&
	       !first->rule.cfa_off;
}

static void append_range(struct builder *b, struct cfa_range *range)
{
	b->needs_extra |= takes_cfa_from_extra(&range->rule, b->eh->machine);
	if (!b->keeps_extra)
		range->rule.extra_place = 0;
	append_row(b, range->start, &range->rule);
}

static void append_fde(struct builder *b, const struct eh_fde *fde)
{
	struct cfa_program *p = &b->program;
	struct cfa_range range, next;
	bool has_range;

	if (!cfi_reaches(b->table, fde->start, fde->end)) {
		b->table->n_bad_fdes++;
		return;
	}
	if (fde->start > b->covered_end)
		append_row(b, b->covered_end, &gap);
	cfa_program_begin(p, b->eh, fde, &b->starts[fde->cie]);
	has_range = cfa_program_next(p, &range);
	while (has_range) {
		has_range = cfa_program_next(p, &next);
		if (has_range && begins_behind_plt(&range, &next))
			range.rule.cfa_off = CFA_PLT_BYTES;
		append_range(b, &range);
		range = next;
	}
	b->covered_end = fde->end;
	b->table->n_fdes++;
	b->table->n_bad_fdes += p->code.failed;
}

static int append_fdes(struct builder *b)
{
	const struct addr_item *order = b->eh->fdes;
	size_t n = b->eh->n_fdes;

	for (size_t i = 0, next; i < n && !b->err; i = next) {
		struct eh_fde fde = eh_frame_fde(b->eh, i);

		for (next = i + 1; next < n && order[next].addr == fde.start;)
			next++;
		if (next < n && order[next].addr < fde.end)
			fde.end = order[next].addr;
		append_fde(b, &fde);
	}
	append_row(b, b->covered_end, &gap);
	return b->err;
}

static struct cfa_start *run_cies(const struct eh_frame *eh)
{
	struct cfa_start *starts = mem_zalloc(eh->n_cies, sizeof(*starts));

	for (size_t i = 0; i < eh->n_cies; i++)
		if (eh->cies[i].is_readable)
			cfa_program_start(&starts[i], eh, &eh->cies[i]);
	return starts;
}

static void begin_table(struct builder *b, bool keeps_extra)
{
	cfi_free(b->table);
	b->table->n_bad_fdes = b->eh->n_bad;
	b->err = 0;
	b->covered_end = 0;
	b->keeps_extra = keeps_extra;
	b->needs_extra = false;
}

/*
 * Executes all FDEs a second time, with rbx, for the few files that need it: the dynamic linker,
 * some assembly. On arm64 the extra register is the return address, which is always needed.
 */
static int build_rows(struct cfi_table *t, struct eh_frame *eh)
{
	struct cfa_start *starts = run_cies(eh);
	struct builder b;
	int err;

	b.table = t;
	b.eh = eh;
	b.starts = starts;
	begin_table(&b, eh->machine->needs_extra);
	err = append_fdes(&b);
	if (!err && b.needs_extra && !b.keeps_extra) {
		begin_table(&b, true);
		err = append_fdes(&b);
	}
	free(starts);
	cfi_trim(t);
	return err;
}

int cfi_load(struct cfi_table *t, const struct elf64 *elf)
{
	struct eh_frame eh;
	int err;

	*t = (struct cfi_table){ .cells = NULL };
	err = eh_frame_read(&eh, elf);
	if (!err)
		err = build_rows(t, &eh);
	eh_frame_free(&eh);
	if (err)
		cfi_free(t);
	return err;
}
