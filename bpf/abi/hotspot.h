/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HotSpot, the virtual machine of OpenJDK: layout of a process for the walk, and definitions of
 * methods. Compiled methods and stubs ("blobs") lie in up to three heaps of code, which are divided
 * into segments; a map with a byte per segment leads to the beginning of a blob.
 */
#ifndef ABI_HOTSPOT_H
#define ABI_HOTSPOT_H

#include "abi/runtime.h"
#include "abi/unwind_regs.h"

#define HOTSPOT_HEAPS	    3
#define HOTSPOT_BLOB_BYTES  448 /* bytes of a block that are read, up to its last field */
#define HOTSPOT_CONST_BYTES 96	/* bytes of a ConstMethod that are read, up to its last field */

/*
 * Offset from the thread pointer of the address of the dtv, the array of a thread's blocks:
 * variants I (arm64) and II of thread-local storage (Drepper, ELF Handling For Thread-Local
 * Storage, section 3).
 */
#define HOTSPOT_DTV_AT (UNWIND_IS_ARM64 ? 0 : 8)

struct hotspot_heap {
	__u64 low, high; /* code; high is exclusive, and covers memory that is not committed yet */
	__u64 segments;	 /* address of the map of segments */
};

/* Offsets of fields in bytes; fields of a blob count from its block, which begins with a header. */
struct hotspot_layout {
	struct hotspot_heap heaps[HOTSPOT_HEAPS];
	__u64 call_stub; /* return address of the stub through which C++ calls Java */
	__u64 interpreter_low, interpreter_high;
	/*
	 * Stubs to which a virtual thread's outermost frame on the stack returns if its callers'
	 * frames are in the heap; and the return address in the carrier's frame below
	 * (Continuation.enterSpecial). high 0: unknown.
	 */
	__u64 continuation_low, continuation_high, continuation_return;
	/* location of the current JavaThread, a thread-local variable of libjvm */
	__u16 dtv_entry;       /* libjvm's entry in the dtv, whose address is at HOTSPOT_DTV_AT */
	__u16 thread_in_block; /* the variable in the block */
	__u16 thread_entry;    /* in a JavaThread: address of the carrier's frame */
	__u64 names
		[2]; /* texts that name compiled methods and native wrappers; BPF fills them in */
	__u16 log2_segment;
	__u16 header_bytes;
	__u16 block_used;	    /* u8, 1: in use */
	__u16 blob_bytes;	    /* bytes to read */
	__u16 size;		    /* u32 */
	__u16 code_begin, code_end; /* u32, relative to the blob; has_code_addresses: addresses */
	__u16 frame_words, frame_complete;
	__u16 name;
	__u16 method, compile_id;
	__u16 entry; /* verified entry: u16, relative to the code; has_entry_address: an address */
	__u16 deopts[2]; /* handlers, u32, relative to the blob; has_deopt_address: addresses */
	__u16 original_pc;
	__u16 bcp_words; /* interpreted frames: words from the position in the bytecode to bp */
	__u8 has_code_addresses, has_entry_address, has_deopt_address, is_complete_short;
	__u8 has_x87;	    /* compiled code computes sines and powers by x87 instructions */
	__u8 sender_is_x19; /* arm64: x19 has the caller's stack pointer, not x13 */
	/* offsets of fields of Method, ConstMethod, ConstantPool, Klass, Symbol; sizes */
	__u16 method_const;
	__u16 const_bytes, const_pool, const_code_bytes, const_name;
	__u16 pool_bytes, pool_holder;
	__u16 class_name;
	__u16 symbol_length, symbol_body;
};

#define HOTSPOT_CLASS_BYTES  256
#define HOTSPOT_METHOD_BYTES 128

/* Definition of a method, or of a stub, which has no class. */
struct hotspot_def {
	struct runtime_def def;
	__u64 blob;			 /* address of the compiled method; 0: interpreted */
	__u64 method;			 /* struct Method */
	__u32 compile_id;		 /* unique for the life of the process */
	__u16 class_bytes, method_bytes; /* lengths of the names, which may be cut off */
	char class_name[HOTSPOT_CLASS_BYTES];
	char method_name[HOTSPOT_METHOD_BYTES];
};

#define HOTSPOT_TEXT_BYTES  64 /* of a name, which identify a method */
#define HOTSPOT_CODE_BYTES  128
#define HOTSPOT_FRAME_WORDS 12 /* words of an interpreted frame, from bp - 80 on */

/* State of a walk in HotSpot's frames. */
struct hotspot_walk {
	struct hotspot_layout layout;
	struct runtime_table rules;
	__u64 serial;
	__u64 begin, end;   /* code of the blob */
	__u64 blob;	    /* the blob's address; 0: interpreted */
	__u64 method;	    /* struct Method; 0: a stub */
	__u64 constant_at;  /* the method's ConstMethod */
	__u64 pool, holder; /* its constant pool, and its class */
	/* names of the class and of the method (Symbol), and a digest of both */
	__u64 class_symbol, method_symbol, names;
	__u64 text[2 * HOTSPOT_TEXT_BYTES / 8]; /* the first half has the last letters of a name */
	__u64 fingerprint;
	__u32 compile_id;
	__s32 position;	   /* in an interpreted method's bytecode; negative: unknown */
	__u32 frame_bytes; /* 0: unknown */
	__u32 to_cfa;	   /* bytes from sp to the caller's stack */
	__u32 slot;
	__u8 call[8];	  /* scratch */
	__s32 moved;	  /* bytes that the followed code adds to sp */
	__s32 dropped;	  /* maximum of moved: what the method has pushed */
	__s32 bp_off;	  /* location of a saved bp, from the CFA; 0: next to the return address */
	__u32 last_frame; /* index + 1 of the latest frame of a method */
	bool has_saved_bp;
	bool is_linked; /* the return address is in the link register (arm64) */
	bool is_called; /* the inner frame is a method's, so this one is in a call */
	__u64 words[HOTSPOT_FRAME_WORDS];
	__u8 block[512 + 8];
	__u8 code[2 * HOTSPOT_CODE_BYTES]; /* contents; the first half is read */
	__u8 constant[128 + 8];		   /* contents of the ConstMethod */
	struct hotspot_def def;
};

#endif
