// SPDX-License-Identifier: GPL-2.0-only
/*
 * reborn MS: a child, "kid", maps this program's code a second time and spins for MS, called from
 * the copy. Then it executes this program, "executed", which maps other memory over the copy's
 * address and spins, too. Linked statically to fixed addresses: the kernel never chooses a
 * mapping's address, which BPF would count if there was code before.
 */
#include <elf.h>
#include <sys/wait.h>

#include "work.h"

#define COPY_AT	   ((char *)0x1000000000)
#define COPY_BYTES (16 << 20)

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* Spins for ms, rarely in the vdso, whose address varies. */
WORK_FUNCTION long reborn_spin(long ms)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * NS_PER_MS;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int i = 0; i < 1000000; i++)
			;
	return ms;
}

__attribute__((noinline)) static long reborn_mapped(long (*call)(long), long ms)
{
	return call(ms) + ms;
}

static const Elf64_Phdr *find_text(void)
{
	const Elf64_Ehdr *header = (const void *)__ehdr_start;
	const Elf64_Phdr *segment = (const void *)(__ehdr_start + header->e_phoff);

	while (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
		segment++;
	return segment;
}

WORK_FUNCTION void spin_in_copy(long ms)
{
	const Elf64_Phdr *text = find_text();
	uint64_t in_page = text->p_vaddr & 4095;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	long (*volatile mapped)(long (*)(long), long);

	mmap(COPY_AT, text->p_filesz + in_page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
	     (off_t)(text->p_offset - in_page));
	mapped = (void *)(COPY_AT + in_page + ((uintptr_t)reborn_mapped - text->p_vaddr));
	mapped(reborn_spin, ms);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void spin_again(long ms)
{
	mmap(COPY_AT, COPY_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	reborn_spin(ms);
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	int ms = work_number(argc, argv, 1, 100);

	if (argc > 2) {
		work_set_comm("executed");
		spin_again(ms);
		work_wait_end();
		return 0;
	}
	work_wait_go();
	if (!fork()) {
		work_set_comm("kid");
		spin_in_copy(ms);
		execl("/proc/self/exe", "reborn", argv[1], "again", (char *)NULL);
		abort();
	}
	wait(NULL);
	return 0;
}
