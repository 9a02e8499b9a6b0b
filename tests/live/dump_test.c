// SPDX-License-Identifier: GPL-2.0-only
/*
 * dump, live: what it prints is held against what the workload does: goroutines of known numbers
 * and waits, threads in known system calls, a deadlock, functions of Python.
 */
#include <dirent.h>
#include <elf.h>

#include "live.h"
#include "python.h"

static const char *go_lacks(void)
{
	return access(work_path("goknown"), X_OK) ? "needs package golang-go" : NULL;
}

/* Each function has n goroutines, in one state, all with a stack to where they began. */
static void check_goroutines(int n)
{
	static const struct {
		const char *function, *state;
	} waits[] = {
		{ "main.waitReceive", "[goroutine: chan receive];runtime.goexit;" },
		{ "main.waitSelect", "[goroutine: select];runtime.goexit;" },
		{ "main.waitMutex", "[goroutine: s" }, /* semacquire, later sync.Mutex.Lock */
		{ "main.waitGroup", "[goroutine: s" }, /* likewise */
		{ "main.waitSleep", "[goroutine: sleep];runtime.goexit;" },
		{ "main.waitDeep", "[goroutine: chan receive];runtime.goexit;" },
	};
	struct proc *work = work_start("goknown", "0", text_of("%d", n));
	struct proc *tool = tool_run("dump", "-f", "-p", pid_text(work->pid));

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		const char *line = first_line(tool->out, waits[i].function, "[goroutine: ");

		CHECK_EQ(folded_sum_with(tool->out, "goknown", waits[i].function), n);
		if (strncmp(line, "goknown;", 8) ||
		    strncmp(line + 8, waits[i].state, strlen(waits[i].state)))
			UNIT_FAIL("%s: %.200s", waits[i].function, line);
	}
	CHECK_LACKS(tool->err, "incomplete");
	CHECK_LACKS(tool->err, "not read");
}

TEST_UNLESS(go_lacks, goroutines_are_counted_by_stack_and_wait)
{
	check_goroutines(3);
}

TEST_UNLESS(go_lacks, all_of_many_goroutines_are_seen)
{
	check_goroutines(at_size(5000, 500));
}

TEST_UNLESS(go_lacks, text_has_numbers_and_waits_of_goroutines)
{
	struct proc *work = work_start("goknown", "0", "3");
	struct proc *tool = tool_run("dump", "-p", pid_text(work->pid));

	CHECK_HAS(tool->out, text_of("goknown (%d): ", work->pid), " goroutines\n",
		  "    3 goroutines [select], longest at least ", "        main.waitSelect\n");
}

TEST(threads_have_their_call_and_kernel_stack)
{
	struct proc *work = work_start("deadlock", "1", "free");
	struct proc *tool = tool_run("dump", "--format", "json", "-p", pid_text(work->pid));
	const char *line = first_line(tool->out, "\"remark\":\"read\"", "\"kind\":\"kernel\"");

	CHECK_HAS(line, text_of("\"pid\":%d", work->pid), text_of("\"first\":%d", work->pid),
		  "\"comm\":\"deadlock\"", "\"state\":\"S\"");
}

TEST(deadlock_is_named_with_the_threads_that_have_the_locks)
{
	struct proc *work = work_start("deadlock", "2");
	struct proc *tool;

	work_do(work);
	tool = tool_run("dump", "-p", pid_text(work->pid));
	CHECK_HAS(tool->out, "held now: deadlock:mutexes by waits0 (", "[deadlock]\n");
}

/* The C library knows the owner by its thread id in the container. */
TEST_UNLESS(pid_namespaces_lack, a_deadlock_in_a_container_is_named)
{
	struct proc *work = work_start_in(become_first_process, NULL, work_path("deadlock"),
					  ARGV("deadlock", "2"));
	const char *pid = file_read(text_of("/proc/%d/task/%d/children", work->pid, work->pid));
	struct proc *tool;

	work_do(work);
	tool = tool_run("dump", "-p", text_of("%d", atoi(pid)));
	CHECK_HAS(tool->out, "held now: deadlock:mutexes by waits0 (", "[deadlock]\n");
}

TEST_UNLESS(python_lacks, functions_of_python_are_where_its_threads_wait)
{
	static const char text[] = "import sys\n"
				   "def inner():\n"
				   "    print('@ready', flush=True)\n"
				   "    sys.stdin.read(1)\n"
				   "def outer():\n"
				   "    inner()\n"
				   "outer()\n";
	struct proc *work = work_start_in(NULL, NULL, python_path(),
					  ARGV("python3", python_script("waits.py", text)));
	struct proc *tool = tool_run("dump", "-f", "-p", pid_text(work->pid));

	CHECK_HAS(tool->out, "<module> (waits.py);outer (waits.py);inner (waits.py);");
	tool = tool_run("dump", "-f", "--lines", "-p", pid_text(work->pid));
	CHECK_HAS(tool->out, "<module> (waits.py:7);outer (waits.py:6);inner (waits.py:4);");
}

#define NODE "/usr/bin/node"

static const char *node_lacks(void)
{
	return access(NODE, X_OK) ? "needs package nodejs" : NULL;
}

/* Its registers may be needed to get to the functions: only what is found has to be true. */
TEST_UNLESS(node_lacks, process_of_node_is_read)
{
	static const char text[] = "const fs = require('fs');\n"
				   "function inner() {\n"
				   "  fs.writeSync(1, '@ready\\n');\n"
				   "  fs.readSync(0, Buffer.alloc(1));\n"
				   "}\n"
				   "function outer() { inner(); }\n"
				   "outer();\n";
	struct proc *work =
		work_start_in(NULL, NULL, NODE, ARGV("node", python_script("waits.js", text)));
	struct proc *tool = tool_run("dump", "-f", "-p", pid_text(work->pid));

	CHECK(folded_sum(tool->out, "node", NULL) > 1);
	if (strstr(tool->out, "outer (waits.js)"))
		CHECK_HAS(tool->out, ";outer (waits.js);inner (waits.js);");
}

/* The first that kthreadd has made, which has nothing to do once the machine is up. */
TEST_UNLESS(kernel_threads_lack, threads_of_the_kernel_have_their_kernel_stack)
{
	struct proc *tool = tool_run("dump", "-f", "-p", "3");

	CHECK_EQ(folded_sum_with(tool->out, NULL, ";kthread;"), 1);
	CHECK_LACKS(tool->err, "end early");
}

TEST(process_that_is_named_twice_is_read_once)
{
	struct proc *work = work_start("deadlock", "3", "free");
	const char *pid = pid_text(work->pid);
	struct proc *once = tool_run("dump", "-f", "-p", pid);
	struct proc *twice = tool_run("dump", "-f", "-p", text_of("%s,%s", pid, pid));

	CHECK_EQ(folded_sum(twice->out, NULL, NULL), folded_sum(once->out, NULL, NULL));
}

/* A program of 32 bits that waits for a mutex by futex(2), which is number 240 there. */
static bool write_i386(const char *path)
{
	static const uint8_t code[] = { 0xb8, 240,  0,	  0,	0, /* mov eax, 240 */
					0xbb, 0x70, 0x80, 0x04, 8, /* mov ebx, BASE + 0x70 */
					0xb9, 0x80, 0,	  0,	0, /* mov ecx, 0x80 */
					0xba, 2,    0,	  0,	0, /* mov edx, 2 */
					0x31, 0xf6, 0xcd, 0x80,	   /* xor esi, esi; int 0x80 */
					0xeb, 0xe6, 0,	  0,	2, 0, 0, 0 };
	enum { BASE = 0x8048000, SIZE = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr) + sizeof(code) };
	const Elf32_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
						 ELFDATA2LSB, EV_CURRENT },
				    .e_type = ET_EXEC,
				    .e_machine = EM_386,
				    .e_version = EV_CURRENT,
				    .e_entry = BASE + SIZE - sizeof(code),
				    .e_phoff = sizeof(Elf32_Ehdr),
				    .e_ehsize = sizeof(Elf32_Ehdr),
				    .e_phentsize = sizeof(Elf32_Phdr),
				    .e_phnum = 1 };
	const Elf32_Phdr segment = { .p_type = PT_LOAD,
				     .p_vaddr = BASE,
				     .p_filesz = SIZE,
				     .p_memsz = SIZE,
				     .p_flags = PF_R | PF_X,
				     .p_align = 0x1000 };
	FILE *f = fopen(path, "w");
	bool is_good = f && fwrite(&header, sizeof(header), 1, f) == 1 &&
		       fwrite(&segment, sizeof(segment), 1, f) == 1 &&
		       fwrite(code, sizeof(code), 1, f) == 1;

	return f && !fclose(f) && is_good && !chmod(path, 0700);
}

TEST(system_calls_of_32_bits_have_their_name)
{
	static const char run[] = "echo @ready; head -c 1 >/dev/null; exec \"$0\"";
	const char *path = text_of("%s/program32", folder_make());
	struct proc *work, *tool;
	const char *call = "";

#ifndef __x86_64__
	SKIP("i386 programs run on x86-64");
#endif
	CHECK(write_i386(path));
	work = work_start_in(NULL, NULL, "/bin/sh", ARGV("sh", "-c", run, path));
	work_go(work);
	for (int s = 0; s < 60 && call && strncmp(call, "240 ", 4) != 0; s++) {
		proc_linger(work, 1000);
		call = file_read(text_of("/proc/%d/syscall", work->pid));
	}
	if (!call)
		SKIP("the kernel runs no i386 programs");
	tool = tool_run("dump", "-p", pid_text(work->pid));
	CHECK_HAS(tool->out, ", in futex (i386) ");
	tool = tool_start_on(work, "runqlat", "--interval", "100ms", "--output",
			     text_of("%s/r.txt", folder_make()), "--when", "wait>100ms", "--once");
	CHECK(proc_wait_for(tool, "ms: blocked in futex"));
	proc_finish(tool);
}

TEST(process_that_is_gone_is_an_error)
{
	CHECK_FAILS("process 4194304: not found", "dump", "-p", "4194304");
}

/* /proc has a folder for each thread, too. */
TEST(thread_is_not_a_process)
{
	struct proc *work = work_start("deadlock", "3", "free");
	const char *folder = text_of("/proc/%d/task", work->pid);
	struct dirent **threads = NULL;
	int n = scandir(folder, &threads, NULL, NULL);

	for (int i = 0; i < n; i++) {
		const char *thread = threads[i]->d_name;

		if (thread[0] != '.' && atoi(thread) != work->pid)
			CHECK_FAILS(text_of("%s: a thread of process %d", thread, work->pid),
				    "dump", "-p", thread);
		free(threads[i]);
	}
	CHECK(n > 3);
	free(threads);
}
