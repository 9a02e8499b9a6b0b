// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the records of an ELF file's .eh_frame. The section is walked once, record by record, as a
 * debugger does; the search table in .eh_frame_hdr is not used, except to find .eh_frame in files
 * without section headers. A CIE always precedes the FDEs that point back to it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "elf/dwarf_read.h"
#include "unwind/eh_frame.h"

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

/* Reads an address; fails on data-relative ones, which no compiler for x86-64 uses. */
uint64_t eh_frame_address(const struct eh_frame *eh, struct cursor *c, uint8_t encoding)
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

int eh_frame_read(struct eh_frame *eh, const struct elf64 *elf)
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

struct eh_fde eh_frame_fde(struct eh_frame *eh, size_t i)
{
	uint32_t at = (uint32_t)eh->fdes[i].value;
	struct cursor c = cursor_over(eh->bytes + at, eh->size - at);
	struct eh_fde fde = { .cie = (uint32_t)(eh->fdes[i].value >> 32) };
	struct record r;

	if (next_record(eh, &c, &r))
		read_fde(eh, &fde, &r);
	return fde;
}

void eh_frame_free(struct eh_frame *eh)
{
	free(eh->bytes);
	free(eh->cies);
	free(eh->fdes);
	*eh = (struct eh_frame){ .bytes = NULL };
}
