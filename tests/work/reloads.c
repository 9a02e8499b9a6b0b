// SPDX-License-Identifier: GPL-2.0-only
/*
 * reloads: runs a BPF program until there is input, frees it, and runs another one at the same
 * kernel address until there is input again. "at" is 1 if it could be placed there, else 0.
 */
#include <linux/bpf.h>
#include <poll.h>

#include "work.h"

#define LOOPS	    500
#define REPEATS	    1000
#define MAX_TRIES   900 /* each may keep a file open */
#define PLACE_BYTES 64

#define INSN(insn_code, dst, value, jump)                                            \
	{                                                                            \
		.code = (insn_code), .dst_reg = (dst), .imm = (value), .off = (jump) \
	}

static int load(const char *name)
{
	static const struct bpf_insn loop[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, LOOPS, 0),
		INSN(BPF_ALU64 | BPF_SUB | BPF_K, 0, 1, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, -2),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)loop,
		.insn_cnt = sizeof(loop) / sizeof(*loop),
		.license = (uintptr_t) "GPL",
	};
	int fd;

	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		exit(1);
	return fd;
}

/* Returns the address of a program's code; 0: it is interpreted. */
static uint64_t address_of(int fd)
{
	uint64_t addr = 0;
	struct bpf_prog_info info = { .jited_ksyms = (uintptr_t)&addr, .nr_jited_ksyms = 1 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd,
					  .info_len = sizeof(info),
					  .info = (uintptr_t)&info } };

	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) ? 0 : addr;
}

/* Runs a program until there is input, of which it takes a byte. */
static void run(int fd)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	static char packet[64];

	do {
		union bpf_attr attr = { .test = { .prog_fd = (uint32_t)fd,
						  .data_in = (uintptr_t)packet,
						  .data_size_in = sizeof(packet),
						  .repeat = REPEATS } };

		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
			exit(1);
	} while (!poll(&input, 1, 0));
	work_read(STDIN_FILENO);
}

/*
 * Returns a program at that address; -1: none. The kernel frees programs later, not at once, and
 * begins one at a random place of its 64 bytes. Programs elsewhere stay loaded and fill the gaps.
 */
static int load_at(const char *name, uint64_t addr)
{
	for (int i = 0; addr && i < MAX_TRIES; i++) {
		int fd = load(name);
		uint64_t at = address_of(fd);

		if (at == addr)
			return fd;
		if (at / PLACE_BYTES == addr / PLACE_BYTES)
			close(fd);
		work_sleep(NS_PER_MS);
	}
	return -1;
}

int main(void)
{
	struct rlimit memory = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t addr;
	int fd;

	setrlimit(RLIMIT_MEMLOCK, &memory); /* counts programs before Linux 5.11 */
	fd = load("reloads_first");
	work_wait_go();
	run(fd);
	addr = address_of(fd);
	close(fd);
	fd = load_at("reloads_second", addr);
	work_say("at", fd >= 0);
	fflush(stdout);
	if (fd >= 0)
		run(fd);
	work_wait_end();
	return 0;
}
