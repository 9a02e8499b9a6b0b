// SPDX-License-Identifier: GPL-2.0-only
/*
 * boxed N: leaks N blocks of 1,000 bytes under a seccomp filter that, as in sandboxes, kills the
 * process at all system calls except for the ones that it needs. Uprobes' own calls are not
 * allowed.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "work.h"

#define ALLOW(name)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int enter_box(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(getrandom),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *volatile kept;

WORK_FUNCTION void leak_boxed(int n)
{
	while (n--) {
		void **block = malloc(1000);

		*block = kept;
		kept = block;
	}
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	static char buffer[BUFSIZ];
	int n = work_number(argc, argv, 1, 100);

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* stdio must not call fstat() later */
	if (enter_box())
		return 1;
	work_wait_go();
	leak_boxed(n);
	work_wait_end();
	return 0;
}
