// SPDX-License-Identifier: GPL-2.0-only
/* Go programs as their runtime sees them; see program.h. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/arm64_insn.h"
#include "base/array.h"
#include "base/load.h"
#include "base/mem.h"
#include "base/peek.h"
#include "elf/elfnames.h"
#include "elf/gopclntab.h"
#include "elf/x86_decode.h"
#include "runtimes/go/program.h"

/* ---- references of code ---- */

/*
 * Finds the global variables that a function's code refers to: on x86-64 by offsets from the
 * instruction pointer (Intel SDM, volume 2, chapter 2.2.1.6), on arm64 by pairs of instructions
 * that begin with ADRP (Arm ARM, C6.2). Code is read from the file, which is hostile: any bytes are
 * safe, and at most GO_CODE_MAX bytes of a function are read.
 */

#define GO_CODE_MAX	  (64u << 10)
#define GO_REFERENCES_MAX 256

struct go_reference {
	uint64_t vaddr; /* ELF virtual address of the variable */
	uint8_t bytes;	/* size of the access; 0: only the address is taken */
	bool is_store;
};

struct go_references {
	struct go_reference items[GO_REFERENCES_MAX];
	size_t n;
};

static void add(struct go_references *refs, uint64_t vaddr, uint8_t bytes, bool is_store)
{
	if (refs->n < GO_REFERENCES_MAX)
		refs->items[refs->n++] = (struct go_reference){ vaddr, bytes, is_store };
}

/* ---- x86-64 ---- */

static uint8_t x86_access_bytes(const struct x86_insn *insn)
{
	uint8_t word = insn->rex & 8 ? 8 : 4;

	if (insn->map == X86_MAP_ONE && insn->opcode == 0x8d) /* lea */
		return 0;
	if (insn->map == X86_MAP_ONE)
		return insn->opcode & 1 ? word : 1;
	if (insn->prefixes & (X86_PREFIX_F2 | X86_PREFIX_F3))
		return insn->prefixes & X86_PREFIX_F2 ? 8 : 4; /* scalar double, single */
	/* movzx and movsx of a byte */
	return insn->map == X86_MAP_0F && (insn->opcode & 0xf7) == 0xb6 ? 1 : word;
}

/* Returns true for mov to memory. */
static bool x86_is_store(const struct x86_insn *insn)
{
	return insn->map == X86_MAP_ONE &&
	       ((insn->opcode & 0xfe) == 0x88 || (insn->opcode & 0xfe) == 0xc6);
}

static bool x86_is_relative(const struct x86_insn *insn)
{
	return insn->has_modrm && (insn->modrm & 0xc7) == 5 && !insn->is_vex;
}

static void find_x86(struct go_references *refs, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct x86_insn insn;
	int64_t offset;

	for (size_t at = 0; at < size; at += insn.bytes) {
		if (!x86_decode(&insn, code + at, size - at)) {
			insn.bytes = 1; /* unknown: decoding falls into step again */
			continue;
		}
		if (!x86_is_relative(&insn) || insn.modrm_at + 5 > insn.bytes)
			continue;
		offset = (int32_t)load_u32(code + at + insn.modrm_at + 1);
		add(refs, vaddr + at + insn.bytes + (uint64_t)offset, x86_access_bytes(&insn),
		    x86_is_store(&insn));
	}
}

/* ---- arm64 ---- */

/* Addresses that are in registers. */
struct registers {
	uint64_t values[32];
	uint32_t known; /* bit per register */
};

static void set_register(struct registers *regs, uint32_t number, uint64_t value)
{
	regs->values[number] = value;
	regs->known |= 1u << number;
}

static int64_t signed_bits(uint64_t value, unsigned int n_bits)
{
	return (int64_t)(value << (64 - n_bits)) >> (64 - n_bits);
}

/* Follows adrp, adr and add of a constant. False: another instruction. */
static bool arm64_take_address(struct registers *regs, struct go_references *refs, uint32_t insn,
			       uint64_t pc)
{
	int64_t distance = signed_bits((insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3), 21);
	uint32_t to = insn & 31, from = insn >> 5 & 31;

	if ((insn & 0x9f000000) == 0x90000000) { /* adrp */
		set_register(regs, to, (pc & ~0xfffULL) + (uint64_t)(distance * 4096));
		return true;
	}
	if ((insn & 0x9f000000) == 0x10000000) /* adr */
		set_register(regs, to, pc + (uint64_t)distance);
	else if ((insn & 0xff800000) == 0x91000000 && regs->known >> from & 1) /* add */
		set_register(regs, to,
			     regs->values[from] +
				     ((insn >> 10 & 0xfffULL) << (insn >> 22 & 1) * 12));
	else
		return false;
	add(refs, regs->values[to], 0, false);
	return true;
}

/* Follows loads and stores with a constant offset. False: another instruction. */
static bool arm64_access(struct registers *regs, struct go_references *refs, uint32_t insn)
{
	uint32_t to = insn & 31, from = insn >> 5 & 31, shift = insn >> 30;
	bool is_store = !(insn >> 22 & 3), is_vector = insn >> 26 & 1;

	if ((insn & 0x3b000000) != 0x39000000 || !(regs->known >> from & 1))
		return false;
	if (!is_vector)
		add(refs, regs->values[from] + ((insn >> 10 & 0xfffULL) << shift),
		    (uint8_t)(1u << shift), is_store);
	if (!is_vector && !is_store)
		regs->known &= ~(1u << to);
	return true;
}

/* Follows acquiring, exclusive and atomic accesses, which have no offset. */
static bool arm64_access_atomic(struct registers *regs, struct go_references *refs, uint32_t insn)
{
	uint32_t from = insn >> 5 & 31;
	bool is_ordered = (insn & 0x3fff0000) == 0x08df0000;
	bool is_exclusive = (insn & 0x3fe00000) == 0x08400000;
	bool is_atomic = (insn & 0x3f200000) == 0x38200000;

	if ((!is_ordered && !is_exclusive && !is_atomic) || !(regs->known >> from & 1))
		return false;
	add(refs, regs->values[from], (uint8_t)(1u << (insn >> 30)), false);
	regs->known &= ~(1u << (insn & 31));
	return true;
}

/*
 * Forgets the registers that any other instruction may write; after a call, all. Forgetting too
 * many costs a reference, too few would give a wrong one.
 */
static void arm64_forget(struct registers *regs, uint32_t insn)
{
	if (arm64_is_call(insn))
		regs->known = 0;
	else if (!arm64_branch_distance(insn))
		regs->known &= ~(1u << (insn & 31));
}

static void find_arm64(struct go_references *refs, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct registers regs = {};
	uint32_t insn;

	for (size_t at = 0; at + sizeof(insn) <= size; at += sizeof(insn)) {
		insn = load_u32(code + at);
		if (!arm64_take_address(&regs, refs, insn, vaddr + at) &&
		    !arm64_access(&regs, refs, insn) && !arm64_access_atomic(&regs, refs, insn))
			arm64_forget(&regs, insn);
	}
}

/* Finds a function's references, at most GO_REFERENCES_MAX. Unreadable code has none. */
static void go_references_find(struct go_references *refs, const struct elf64 *elf,
			       const struct go_func *f)
{
	uint64_t size = f->end - f->start;
	uint8_t *code;

	refs->n = 0;
	if (size > GO_CODE_MAX)
		size = GO_CODE_MAX;
	code = elf64_read_vaddr(elf, f->start, size, GO_CODE_MAX);
	if (code && elf->header.e_machine == EM_AARCH64)
		find_arm64(refs, code, size, f->start);
	else if (code)
		find_x86(refs, code, size, f->start);
	free(code);
}

/* Returns true if the function accesses `bytes` bytes at vaddr. */
static bool go_references_access(const struct go_references *refs, uint64_t vaddr, uint8_t bytes)
{
	for (size_t i = 0; i < refs->n; i++)
		if (refs->items[i].vaddr == vaddr && refs->items[i].bytes == bytes)
			return true;
	return false;
}

/* ---- version ---- */

/*
 * Header of .go.buildinfo (src/debug/buildinfo of the Go release). Since Go 1.18 the version's
 * length and text follow it; before, it points at a string of the program.
 */
enum {
	BUILDINFO_FLAGS = 15,
	BUILDINFO_INLINE = 2,
	BUILDINFO_POINTER = 16,
	BUILDINFO_TEXT = 32,
	BUILDINFO_BYTES = BUILDINFO_TEXT + 1 + GO_VERSION_BYTES,
};

static void take_version(struct go_program *p, const char *text, size_t n)
{
	unsigned int release;

	if (n >= GO_VERSION_BYTES)
		return;
	memcpy(p->version, text, n);
	p->version[n] = 0;
	if (sscanf(p->version, "go1.%u", &release) == 1)
		p->release = release;
}

static void read_pointed_version(struct go_program *p, const uint8_t *header)
{
	char text[GO_VERSION_BYTES];
	uint64_t at = load_u64(header + BUILDINFO_POINTER), string[2];

	if (peek_all(p->pid, at, string, sizeof(string)) && string[1] < sizeof(text) &&
	    peek_all(p->pid, string[0], text, string[1]))
		take_version(p, text, string[1]);
}

/* Reads the header from the process: there, pointers are relocated. */
static void read_version(struct go_program *p)
{
	uint8_t header[BUILDINFO_BYTES];
	Elf64_Shdr section;

	if (elf64_find_section(&p->elf, ".go.buildinfo", &section) ||
	    !peek_all(p->pid, section.sh_addr + p->bias, header, sizeof(header)))
		return;
	if (memcmp(header, "\xff Go buildinf:", 14) != 0)
		return;
	if (header[BUILDINFO_FLAGS] & BUILDINFO_INLINE)
		take_version(p, (char *)header + BUILDINFO_TEXT + 1, header[BUILDINFO_TEXT]);
	else
		read_pointed_version(p, header);
}

/* ---- functions ---- */

static const struct {
	const char *name;
	enum go_function function;
} known_functions[] = {
	{ "allgadd", GO_ALLGADD },
	{ "mProf_FlushLocked", GO_FLUSH_PROFILE },
	{ "mProf_Free", GO_FREE_PROFILED },
	{ "mProf_PostSweep", GO_END_CYCLE },
	{ "profilealloc", GO_PROFILE_ALLOC },
	{ "allocmcache", GO_ALLOC_CACHE },
	{ "MemProfile", GO_READ_PROFILE },
	{ "memProfileInternal", GO_READ_PROFILE },
	{ "main", GO_MAIN },
	{ "goexit", GO_GOEXIT },
	{ "goexit.abi0", GO_GOEXIT },
	{ "forcegchelper", GO_FORCE_GC },
};

static void note_function(struct go_program *p, const struct go_func *f, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_functions); i++)
		if (!strcmp(name, known_functions[i].name))
			p->functions[known_functions[i].function] = *f;
}

static void find_functions(struct go_program *p)
{
	static const char package[] = "runtime.";
	const char *name;
	struct go_func f;

	for (size_t i = 0; i < p->table.n_funcs; i++) {
		if (!gopclntab_func(&p->table, i, &f))
			continue;
		name = gopclntab_name(&p->table, f.name);
		if (name && !strncmp(name, package, strlen(package)))
			note_function(p, &f, name + strlen(package));
	}
}

/* ---- variables ---- */

static const struct {
	const char *name;
	enum go_variable variable;
} known_variables[] = {
	{ "runtime.allgs", GO_ALLGS },
	{ "runtime.mbuckets", GO_MBUCKETS },
	{ "runtime.mProfCycle", GO_CYCLE },
	{ "runtime.mProf", GO_CYCLE }, /* up to Go 1.18, a struct that begins with the number */
	{ "runtime.MemProfileRate", GO_RATE },
};

static void take_symbol(const struct elfname *symbol, void *arg)
{
	struct go_program *p = arg;

	for (size_t i = 0; i < ARRAY_SIZE(known_variables); i++)
		if (!strcmp(symbol->name, known_variables[i].name))
			p->variables[known_variables[i].variable] = symbol->vaddr;
}

/* State of a search by code. */
struct search {
	const struct go_program *p;
	Elf64_Phdr *segments;
};

static bool is_writable(const struct search *search, uint64_t vaddr)
{
	for (size_t i = 0; search->segments && i < search->p->elf.header.e_phnum; i++) {
		const Elf64_Phdr *segment = &search->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W &&
		    vaddr - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

static void find_references(const struct search *search, enum go_function function,
			    struct go_references *refs)
{
	const struct go_func *f = &search->p->functions[function];

	refs->n = 0;
	if (f->end)
		go_references_find(refs, &search->p->elf, f);
}

/* Combines two candidates: different ones are none. UINT64_MAX: ambiguous. */
static uint64_t agree(uint64_t found, uint64_t vaddr)
{
	return !found || found == vaddr ? vaddr : UINT64_MAX;
}

/* Returns the only variable of a function that is a slice: three words, each accessed. */
static uint64_t find_slice(const struct search *search, enum go_function function)
{
	struct go_references refs;
	uint64_t found = 0;

	find_references(search, function, &refs);
	for (size_t i = 0; i < refs.n; i++) {
		uint64_t vaddr = refs.items[i].vaddr;

		if (refs.items[i].bytes == 8 && go_references_access(&refs, vaddr + 8, 8) &&
		    go_references_access(&refs, vaddr + 16, 8) && is_writable(search, vaddr))
			found = agree(found, vaddr);
	}
	return found == UINT64_MAX ? 0 : found;
}

/*
 * Returns the only variable of that size that `function` reads and `other` accesses (GO_FUNCTIONS:
 * only `function` counts). 0: none, or several.
 */
static uint64_t find_only(const struct search *search, enum go_function function,
			  enum go_function other, uint8_t bytes)
{
	struct go_references refs, others;
	uint64_t found = 0;

	find_references(search, function, &refs);
	if (other != GO_FUNCTIONS)
		find_references(search, other, &others);
	for (size_t i = 0; i < refs.n; i++) {
		const struct go_reference *ref = &refs.items[i];

		if (ref->bytes == bytes && !ref->is_store && is_writable(search, ref->vaddr) &&
		    (other == GO_FUNCTIONS || go_references_access(&others, ref->vaddr, bytes)))
			found = agree(found, ref->vaddr);
	}
	return found == UINT64_MAX ? 0 : found;
}

/*
 * Finds the variables by code. profilealloc and allocmcache both draw the next sample, which needs
 * the rate; the function that draws it is inlined.
 */
static void find_by_code(struct go_program *p)
{
	struct search search = { p, elf64_read_segments(&p->elf) };

	p->variables[GO_ALLGS] = find_slice(&search, GO_ALLGADD);
	p->variables[GO_MBUCKETS] = find_only(&search, GO_FLUSH_PROFILE, GO_FUNCTIONS, 8);
	p->variables[GO_CYCLE] = find_only(&search, GO_FREE_PROFILED, GO_FUNCTIONS, 4);
	if (!p->variables[GO_CYCLE])
		p->variables[GO_CYCLE] = find_only(&search, GO_END_CYCLE, GO_FUNCTIONS, 4);
	p->variables[GO_RATE] = find_only(&search, GO_PROFILE_ALLOC, GO_ALLOC_CACHE, 8);
	free(search.segments);
}

static void find_variables(struct go_program *p)
{
	elfnames_visit_objects(&p->elf, take_symbol, p);
	if (!p->variables[GO_ALLGS])
		find_by_code(p);
	for (size_t i = 0; i < GO_VARIABLES; i++)
		if (p->variables[i])
			p->variables[i] += p->bias;
}

/* ---- opening ---- */

/* Reads the program's file and memory. 0 or -errno; afterwards, the table needs closing. */
static int read_program(struct go_program *p)
{
	int err = gopclntab_open(&p->table, &p->elf);

	if (err)
		return err;
	read_version(p);
	find_functions(p);
	find_variables(p);
	return 0;
}

static uint64_t vaddr_of(const struct mapped *m)
{
	return elfsegs_mapping_vaddr(&m->file->segs, m->offset, m->end - m->start);
}

/* Returns the mapping of Go code, whose file is open; NULL: none. */
static const struct mapped *find_go(struct maps *maps, pid_t pid)
{
	for (size_t i = 0; i < maps->count; i++) {
		struct mapped *m = &maps->items[i];
		const struct file *file = m->name->ino ? mapped_file(maps, m, pid) : NULL;

		if (file && file->is_elf && elf64_is_native(&file->elf) &&
		    gopclntab_exists(&file->elf) && vaddr_of(m) != UINT64_MAX)
			return m;
	}
	return NULL;
}

struct file *go_program_file(struct maps *maps, pid_t pid)
{
	const struct mapped *m = find_go(maps, pid);

	return m ? m->file : NULL;
}

struct go_program *go_program_open(pid_t pid, struct maps *maps, int *err)
{
	const struct mapped *m = find_go(maps, pid);
	struct go_program *p;

	*err = -ENODATA;
	if (!m)
		return NULL;
	p = mem_zalloc(1, sizeof(*p));
	*p = (struct go_program){ .pid = pid, .elf = m->file->elf, .bias = m->start - vaddr_of(m) };
	*err = read_program(p);
	if (!*err) {
		p->maps = maps_use(maps);
		return p;
	}
	free(p);
	return NULL;
}

void go_program_close(struct go_program *p)
{
	if (!p)
		return;
	gopclntab_close(&p->table);
	maps_release(p->maps);
	free(p);
}
