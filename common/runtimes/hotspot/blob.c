// SPDX-License-Identifier: GPL-2.0-only
/* Reads blobs; see blob.h. */
#include <string.h>

#include "base/load.h"
#include "base/peek.h"
#include "runtimes/hotspot/blob.h"

#define SEGMENTS_MAX (1U << 20)
#define HOPS_MAX     64
#define NO_BLOCK     0xff

static void fill(struct hotspot_blob *blob, const struct hotspot_layout *l, const uint8_t *bytes)
{
	uint64_t frame_bytes = (uint64_t)load_u32(bytes + l->frame_words) * sizeof(uint64_t);

	blob->begin = l->has_code_addresses ? load_u64(bytes + l->code_begin)
					    : blob->address + load_u32(bytes + l->code_begin);
	blob->end = l->has_code_addresses ? load_u64(bytes + l->code_end)
					  : blob->address + load_u32(bytes + l->code_end);
	blob->frame_bytes = frame_bytes < 1 << 20 ? (uint32_t)frame_bytes : 0;
	blob->frame_complete = l->is_complete_short ? (int16_t)load_u32(bytes + l->frame_complete)
						    : (int32_t)load_u32(bytes + l->frame_complete);
	blob->compile_id = load_u32(bytes + l->compile_id);
	blob->method = load_u64(bytes + l->method);
	if (blob->begin < blob->address || blob->end < blob->begin)
		blob->end = blob->begin;
}

/* Reads the fields, as far as the heap goes: its last blob may be shorter than a method's. */
uint64_t hotspot_blob_read(const struct hotspot_layout *layout, pid_t pid, uint64_t block,
			   struct hotspot_blob *blob)
{
	uint8_t bytes[HOTSPOT_BLOB_BYTES + sizeof(uint64_t)] = {};
	size_t n = peek(pid, block, bytes, HOTSPOT_BLOB_BYTES), header = layout->header_bytes;
	uint64_t segments = layout->block_used == 4 ? load_u32(bytes) : load_u64(bytes);

	if (n < header || !segments || segments > SEGMENTS_MAX)
		return 0;
	blob->address = block + header;
	blob->is_used = bytes[layout->block_used] == 1;
	memcpy(blob->bytes, bytes + header, HOTSPOT_BLOB_BYTES - header);
	if (blob->is_used)
		fill(blob, layout, bytes);
	return segments;
}

static void read_name(const struct hotspot_layout *layout, pid_t pid, struct hotspot_blob *blob)
{
	uint64_t at = load_u64(blob->bytes + layout->name - layout->header_bytes);

	if (at != blob->name_at)
		blob->name[peek(pid, at, blob->name, sizeof(blob->name) - 1)] = 0;
	blob->name_at = at;
}

bool hotspot_blob_next(const struct hotspot_layout *layout, pid_t pid, uint64_t *block,
		       uint64_t end, struct hotspot_blob *blob)
{
	uint64_t segments = *block < end ? hotspot_blob_read(layout, pid, *block, blob) : 0;

	if (segments && blob->is_used)
		read_name(layout, pid, blob);
	*block += segments << layout->log2_segment;
	return segments;
}

const struct hotspot_heap *hotspot_blob_heap(const struct hotspot_layout *layout, uint64_t addr)
{
	for (size_t i = 0; i < HOTSPOT_HEAPS; i++)
		if (addr >= layout->heaps[i].low && addr < layout->heaps[i].high)
			return &layout->heaps[i];
	return NULL;
}

static bool read_used(const struct hotspot_layout *layout, pid_t pid, uint64_t block,
		      struct hotspot_blob *blob)
{
	*blob = (struct hotspot_blob){};
	if (!hotspot_blob_read(layout, pid, block, blob) || !blob->is_used)
		return false;
	read_name(layout, pid, blob);
	return true;
}

/* A byte of the map of segments is a distance back towards the block's first segment. */
bool hotspot_blob_find(const struct hotspot_layout *layout, pid_t pid, uint64_t addr,
		       struct hotspot_blob *blob)
{
	const struct hotspot_heap *heap = hotspot_blob_heap(layout, addr);
	uint64_t segment = heap ? (addr - heap->low) >> layout->log2_segment : 0;
	uint8_t back;

	for (int i = 0; heap && i < HOPS_MAX; i++) {
		if (!peek_all(pid, heap->segments + segment, &back, 1) || back == NO_BLOCK)
			return false;
		if (!back)
			return read_used(layout, pid, heap->low + (segment << layout->log2_segment),
					 blob);
		segment -= back;
	}
	return false;
}
