// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares stacks of JavaScript with what the program itself says. Usage:
 *
 *	oracle SAMPLES NODE [OPTION...] PROGRAM
 *
 * The program keeps a shadow of each thread's stack in shared memory: four magic words, the depth,
 * the thread's number, two unused words, and the numbers of the functions, outermost first. A
 * function named f<number>_... adds its number when it begins, and removes it before it ends. The
 * threads are stopped at arbitrary instructions, and both stacks are read. A sample is
 *
 *	equal   all functions are in both, in order
 *	edge    the same, except that the innermost function has begun or is ending
 *	leaf    functions that are inlined where the thread was stopped are missing
 *	hole    another function is missing
 *	wrong   a function that doesn't run, or another order
 *
 * With --perf-basic-prof, the function of each frame in generated code is compared with the one
 * that V8's own perf map has at the address, too; with --interpreted-frames-native-stack,
 * interpreted functions have such code.
 *
 * Fails if any is wrong, or more than 1 % are holes.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/unwind_own.h"
#include "abi/unwind_layout.h"
#include "base/idmap.h"
#include "base/peek.h"
#include "runtimes/runtimes.h"
#include "runtimes/v8/v8.h"
#include "runtimes/v8/walk.h"
#include "symbols/jitmap.h"
#include "unwind/unwind_remote.h"

#define MAX_SHADOWS 64
#define MAX_THREADS 256
#define HEAD	    8 /* words of a shadow before the functions */
#define MAX_DEPTH   1000
#define PAGE	    4096

static const uint32_t magic[4] = { 0x7ac3e1e7, 0x5ad05eed, 0x0c0ffee0, 0x13579bdf };

enum verdict { EQUAL, EDGE, LEAF, HOLE, WRONG, N_VERDICTS };

struct numbers {
	int items[MAX_DEPTH + 64];
	size_t n;
};

static struct oracle {
	pid_t pid;
	struct own_tables *own;
	struct unwind_view view;
	struct runtime_file *file;
	struct runtime_process process;
	struct v8_calls *calls;
	struct runtime_instance instance;
	uint64_t shadows[MAX_SHADOWS];
	size_t n_shadows;
	unsigned long counts[N_VERDICTS], n_without, n_incomplete, n_functions, n_inlined;
	struct {
		uint64_t word;
		struct runtime_function *function;
	} defined[STACK_WORDS];
	size_t n_defined;
	struct jitmap *map; /* NULL: V8 doesn't write one */
	struct {
		unsigned long equal, different, absent, leaf;
	} in_map;
	char text[65536]; /* the last stack, for people */
} o;

/* ---- the process ---- */

static void find_shadows(void)
{
	char path[64], line[512];
	uint32_t words[PAGE / 4];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", o.pid);
	f = fopen(path, "r");
	o.n_shadows = 0;
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end;
		char perms[8];

		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) != 3 || perms[1] != 'w' ||
		    end - start > 1UL << 30)
			continue;
		for (unsigned long at = start; at < end && o.n_shadows < MAX_SHADOWS; at += PAGE)
			if (peek_all(o.pid, at, words, PAGE))
				for (size_t i = 0; i + 4 <= PAGE / 4; i += 2)
					if (!memcmp(words + i, magic, sizeof(magic)) &&
					    o.n_shadows < MAX_SHADOWS)
						o.shadows[o.n_shadows++] = at + i * 4;
	}
	if (f)
		fclose(f);
}

static void read_mappings(void)
{
	struct unwind_process slice = {};

	unwind_procs_exec(o.own->procs, o.pid);
	unwind_procs_update(o.own->procs, o.pid, 0, &slice);
	o.view.pid = o.pid;
	o.view.tables = o.own->tables;
	o.view.mappings = o.own->mappings + slice.first;
	o.view.n_mappings = slice.count;
}

static bool is_generated(uint64_t pc)
{
	size_t i = 0;

	while (i < o.view.n_mappings && o.view.mappings[i].end <= pc)
		i++;
	return i < o.view.n_mappings && o.view.mappings[i].start <= pc &&
	       !o.view.mappings[i].n_pages;
}

static int open_file(const char *path)
{
	struct elf64 elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf64_open(&elf, fd))
		return -1;
	o.file = v8_code.recognize(&elf);
	close(fd);
	if (!o.file || o.file->refused) {
		fprintf(stderr, "%s: %s\n", path, o.file ? o.file->refused : "not V8");
		return -1;
	}
	o.instance = (struct runtime_instance){ .pid = o.pid, .file = o.file, .lines = true };
	o.process.serial = 1;
	return v8_code.describe(&o.instance, &o.process);
}

/* ---- V8's perf map ---- */

static void open_map(void)
{
	char path[64];
	int root_fd;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root", o.pid);
	root_fd = open(path, O_PATH | O_CLOEXEC);
	o.map = jitfile_open(root_fd, o.pid, &st);
	close(root_fd);
}

/* Returns what the map says of a function's code, "name file:line:column"; NULL: no function. */
static const char *in_map(uint64_t pc)
{
	static const char *const kinds[] = { "JS:", "Eval:", "Script:" };
	const char *name;
	struct stat st;

	if (!o.map || fstat(jitmap_fd(o.map), &st))
		return NULL;
	name = jitmap_name(o.map, jitmap_find(o.map, pc, (uint64_t)st.st_size));
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i]))) {
			name += strlen(kinds[i]);
			return name + strspn(name, "~^+*'"); /* kind of code */
		}
	return NULL;
}

static bool is_end(const char *text, size_t n, const char *end)
{
	size_t n_end = strlen(end);

	return n_end <= n && !memcmp(text + n - n_end, end, n_end);
}

/* Compares a function with the map's; one without a name is named by its location. */
static bool is_mapped(const char *mapped, const char *name, const char *file)
{
	const char *location = strrchr(mapped, ' ');
	size_t n_name = location ? (size_t)(location - mapped) : strlen(mapped), n_file = 0;

	if (!location)
		return !strcmp(mapped, name);
	location++;
	if (!n_name)
		return is_end(location, strlen(location), file ? name : "");
	for (size_t i = 0, colons = 0; location[i]; i++)
		if (location[strlen(location) - 1 - i] == ':' && ++colons == 2)
			n_file = strlen(location) - 1 - i;
	return (strlen(name) == n_name || strlen(name) == V8_NAME_BYTES - 1) &&
	       !memcmp(mapped, name, strlen(name)) && (!file || is_end(location, n_file, file));
}

/*
 * Compares the function of a frame with the map's; NULL: it has none. At the leaf, it is its caller
 * while its frame is not made yet, or no longer there.
 */
static void compare_with_map(uint64_t pc, bool is_leaf, bool is_caller, const char *name,
			     const char *file)
{
	const char *mapped = is_generated(pc) ? in_map(pc) : NULL;

	if (!mapped)
		return;
	if (!name) {
		*(is_leaf ? &o.in_map.leaf : &o.in_map.absent) += 1;
		if (!is_leaf)
			fprintf(stderr, "%#llx: absent, in the map %s\n", (unsigned long long)pc,
				mapped);
	} else if (is_mapped(mapped, name, file))
		o.in_map.equal++;
	else if (is_leaf && is_caller)
		o.in_map.leaf++;
	else if (o.in_map.different++ < 20)
		fprintf(stderr, "%#llx: %s (%s), in the map %s\n", (unsigned long long)pc, name,
			file ? file : "", mapped);
}

/* ---- a stack ---- */

static void on_definition(const struct runtime_def *def, size_t size, void *arg)
{
	struct runtime_function *function = v8_code.read(def, size);

	(void)arg;
	if (function && o.n_defined < STACK_WORDS)
		o.defined[o.n_defined].word = def->word,
		o.defined[o.n_defined++].function = function;
}

static const struct runtime_function *function_of(uint64_t word)
{
	for (size_t i = 0; i < o.n_defined; i++)
		if (o.defined[i].word == word)
			return o.defined[i].function;
	return NULL;
}

/* Returns the number in a name, as in "Class.f12_name"; 0: none. */
static int number_of(const char *name)
{
	for (const char *at = name; *at; at++)
		if (*at == 'f' && isdigit((unsigned char)at[1]) &&
		    (at == name || strchr(". #", at[-1]))) {
			char *end;
			long number = strtol(at + 1, &end, 10);

			if (*end == '_')
				return (int)number;
		}
	return 0;
}

/* Functions with the same name, and constructors, whose name has no number. */
static int normal(int number)
{
	switch (number) {
	case 10:
	case 100:
		return 0;
	case 17:
		return 11;
	case 112:
	case 114:
	case 116:
		return 110;
	case 113:
	case 115:
	case 117:
		return 111;
	default:
		return number;
	}
}

static void add(struct numbers *to, int number)
{
	number = normal(number);
	if (number && to->n < MAX_DEPTH)
		to->items[to->n++] = number;
}

static void note(const char *name, uint64_t pc, bool is_inlined)
{
	size_t n = strlen(o.text);

	snprintf(o.text + n, sizeof(o.text) - n, "    %s%s %llx\n", name,
		 is_inlined ? " (inlined)" : "", (unsigned long long)pc);
}

/* Adds the functions of a frame, innermost first. */
static void add_frame(struct numbers *ours, uint64_t word, uint64_t index, uint64_t pc,
		      bool is_return, int *thread)
{
	const struct runtime_function *function = function_of(word);
	struct runtime_position position = { .word = word,
					     .pc = pc,
					     .is_return = is_return,
					     .is_made = is_generated(pc),
					     .has_index = index,
					     .index = index };
	struct runtime_call calls[RUNTIME_MAX_CALLS] = {};
	size_t n;

	if (!function)
		return;
	n = v8_code.resolve(&o.instance, function, &position, calls);
	for (size_t i = 0; i < n; i++) {
		const struct runtime_function *f = calls[i].function ? calls[i].function : function;
		const char *name = f->name;

		sscanf(name, "thread%d_", thread);
		add(ours, number_of(name));
		note(name, pc, i + 1 < n);
		if (is_return ? i + 1 == n : !i)
			compare_with_map(pc - is_return, !is_return, index & V8_IS_RETURN, name,
					 f->file);
		runtime_function_free(calls[i].function);
	}
	o.n_functions += n;
	o.n_inlined += n ? n - 1 : 0;
}

/* Reads the functions of a stopped thread, innermost first. */
static size_t read_stack(pid_t tid, const struct unwind_regs *regs, struct numbers *ours,
			 int *thread)
{
	static uint64_t words[STACK_WORDS];
	static struct native_frames native;
	static bool named[STACK_DEPTH];
	struct runtime_thread t = { .tid = tid,
				    .tgid = (uint32_t)o.pid,
				    .process = o.process,
				    .sps = native.sps,
				    .framed = native.framed,
				    .definer = { on_definition, NULL } };
	uint64_t index;
	int reason;
	bool is_cut;
	size_t n;

	memset(&native, 0, sizeof(native));
	o.view.sps = native.sps;
	o.view.framed = native.framed;
	t.n_native = unwind_walk_remote(&o.view, regs, words, STACK_DEPTH, &reason);
	if (reason != UNWIND_COMPLETE) {
		read_mappings();
		memset(&native, 0, sizeof(native));
		t.n_native = unwind_walk_remote(&o.view, regs, words, STACK_DEPTH, &reason);
	}
	o.n_incomplete += reason != UNWIND_COMPLETE;
	o.n_defined = 0;
	o.text[0] = 0;
	memset(named, 0, sizeof(named));
	n = v8_code.walk(&t, words, STACK_WORDS, &is_cut);
	for (size_t i = t.n_native, frame = 0; i < n; i++) {
		if (runtime_is_segment(words[i])) {
			frame = runtime_segment_frame(words[i]);
			continue;
		}
		index = i + 1 < n && !runtime_is_word(words[i + 1]) ? words[i + 1] : 0;
		add_frame(ours, words[i], index, stack_address(words[frame]),
			  frame && !stack_is_exact(words[frame]), thread);
		i += index != 0;
		named[frame++] = true;
	}
	for (size_t i = 0; i < t.n_native; i++)
		if (!named[i])
			compare_with_map(stack_address(words[i]) - (i && !stack_is_exact(words[i])),
					 !i, false, NULL, NULL);
	for (size_t i = 0; i < o.n_defined; i++)
		runtime_function_free(o.defined[i].function);
	return n - t.n_native;
}

/* ---- the comparison: numbers innermost first ---- */

static bool ends_with(const struct numbers *all, const struct numbers *end)
{
	return all->n >= end->n &&
	       !memcmp(all->items + all->n - end->n, end->items, end->n * sizeof(int));
}

static bool is_part(const struct numbers *part, size_t first, const struct numbers *all)
{
	size_t i = first;

	for (size_t k = 0; k < all->n && i < part->n; k++)
		i += part->items[i] == all->items[k];
	return i == part->n;
}

static enum verdict compare(const struct numbers *ours, const struct numbers *truth)
{
	struct numbers rest = *ours;

	if (ours->n == truth->n && ends_with(ours, truth))
		return EQUAL;
	if (ours->n == truth->n + 1 && ends_with(ours, truth))
		return EDGE;
	if (ends_with(truth, &rest))
		return LEAF;
	return is_part(ours, 0, truth) || is_part(ours, 1, truth) ? HOLE : WRONG;
}

static bool read_shadow(uint64_t at, int thread, struct numbers *truth)
{
	int32_t words[HEAD + MAX_DEPTH];

	truth->n = 0;
	if (!peek_all(o.pid, at, words, sizeof(words)) || words[4] < 0 || words[4] > MAX_DEPTH ||
	    (thread >= 0 && words[5] != thread))
		return false;
	for (int i = words[4]; i-- > 0;)
		add(truth, words[HEAD + i]);
	return true;
}

static void print(const char *what, const struct numbers *numbers)
{
	fprintf(stderr, "  %s", what);
	for (size_t i = 0; i < numbers->n; i++)
		fprintf(stderr, " %d", numbers->items[i]);
	fprintf(stderr, "\n");
}

static void judge(const struct numbers *ours, int thread)
{
	enum verdict best = N_VERDICTS, verdict;
	struct numbers truth, closest = {};

	for (size_t i = 0; i < o.n_shadows; i++) {
		if (!read_shadow(o.shadows[i], thread, &truth))
			continue;
		verdict = compare(ours, &truth);
		if (verdict >= best)
			continue;
		best = verdict;
		closest = truth;
	}
	if (best == N_VERDICTS)
		return;
	o.counts[best]++;
	if (best < HOLE || o.counts[best] > 5)
		return;
	fprintf(stderr, best == WRONG ? "wrong\n" : "hole\n");
	print("found", ours);
	print("truth", &closest);
	fprintf(stderr, "%s", o.text);
}

static void sample(pid_t tid)
{
	struct user_regs_struct regs;
	struct unwind_regs ours;
	struct numbers numbers = {};
	int thread = -1;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return;
	ours = (struct unwind_regs){ 0 };
	memcpy(&ours, &regs, UNWIND_REGS_BYTES);
	if (read_stack(tid, &ours, &numbers, &thread) && numbers.n)
		judge(&numbers, thread);
	else
		o.n_without++;
}

/* ---- threads ---- */

static char state_of(pid_t tid)
{
	char path[64], text[256] = "", *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", o.pid, tid);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	at = strrchr(text, ')');
	return at ? at[2] : 'X';
}

static void sample_stopped(pid_t tid)
{
	int status;

	if (state_of(tid) != 'R' || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return;
	if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && waitpid(tid, &status, __WALL) == tid &&
	    WIFSTOPPED(status)) {
		sample(tid);
		ptrace(PTRACE_DETACH, tid, NULL,
		       status >> 16 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	}
}

static void sample_all(void)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", o.pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			sample_stopped(atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(argv[0], argv);
	_exit(127);
}

static int report(void)
{
	static const char *const names[] = { "equal", "edge", "leaf", "hole", "wrong" };
	unsigned long n = 0;

	for (int i = 0; i < N_VERDICTS; i++)
		n += o.counts[i];
	printf("%s: %lu stacks, %lu others, %lu incomplete, %lu functions, %lu inlined\n ",
	       o.file->title, n, o.n_without, o.n_incomplete, o.n_functions, o.n_inlined);
	for (int i = 0; i < N_VERDICTS; i++)
		printf(" %s %.3f %%", names[i], n ? 100.0 * (double)o.counts[i] / (double)n : 0.0);
	printf("\n");
	if (o.map)
		printf("  perf map: %lu equal, %lu different, %lu absent, %lu absent at the leaf\n",
		       o.in_map.equal, o.in_map.different, o.in_map.absent, o.in_map.leaf);
	return (!n && !o.map) || o.in_map.different || o.counts[WRONG] || o.counts[HOLE] * 100 > n;
}

int main(int argc, char **argv)
{
	const char *file = getenv("V8_FILE"); /* V8's library, if node links to one */
	unsigned int seed = 1;
	long n_samples = argc > 3 ? atol(argv[1]) : 0;

	if (argc <= 3 || !n_samples)
		return 2;
	o.pid = start(argv + 2);
	usleep(1500000);
	if (open_file(file ? file : argv[2]))
		return 1;
	o.own = own_tables_new();
	read_mappings();
	find_shadows();
	open_map();
	for (long i = 0; i < n_samples; i++) {
		usleep(300 + (unsigned int)rand_r(&seed) % 500);
		sample_all();
	}
	kill(o.pid, SIGKILL);
	waitpid(o.pid, NULL, 0);
	return report();
}
