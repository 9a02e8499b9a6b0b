/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of places share. Each has a place_code() that reads its machine's code. */
#ifndef PROBE_PLACES_H
#define PROBE_PLACES_H

#define CHECK_PLACE(text, request, wanted_offset, wanted_kind)                                  \
	do {                                                                                    \
		struct probe_place at = place_code(text, request);                              \
		unsigned int due = (wanted_offset);                                             \
		if (at.offset != due || at.kind != (wanted_kind))                               \
			UNIT_FAIL("%s: +%u (%s), not +%u (%s)", text, at.offset,                \
				  probe_kind_name(at.kind), due, probe_kind_name(wanted_kind)); \
	} while (0)

#endif
