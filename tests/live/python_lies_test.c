// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that lie about their Python frames: tools end, print only what may be printed, and what
 * is true beside it.
 */
#include "python.h"

/* Overwrites what Python reads only if a function returns or fails, while other threads run. */
static const char program[] =
	"import ctypes, gc, itertools, mmap, sys, threading, time, types\n"
	"gc.disable()\n"
	"word = ctypes.c_uint64.from_address\n"
	"is_old = sys.version_info < (3, 11)\n"
	"is_311 = sys.version_info < (3, 12)\n"
	"previous, owned, instruction = ((24, 32, 96 if sys.version_info >= (3, 10) else 104)\n"
	"    if is_old else (48, 32, 56) if is_311 else (8, 0, 56))\n"
	"code_fields = [104, 112, 120] if is_old else [112, 128, 136]\n"
	"pages = mmap.mmap(-1, 4096)\n"
	"edge = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + 4096 - 16\n"
	"lies = [0, 1, 8, 2**64 - 1, 2**63, 2**47 - 8, 0xffff888000000000, edge, edge + 12,\n"
	"        id(object), id('text'), id(pages)]\n"
	"def spin(seconds=0.004):\n"
	"    end = time.monotonic() + seconds\n"
	"    while time.monotonic() < end:\n"
	"        pass\n"
	"def nap():\n"
	"    time.sleep(0.002)\n"
	"def template(seconds):\n"
	"    end = time.monotonic() + seconds\n"
	"    while time.monotonic() < end:\n"
	"        pass\n"
	"    time.sleep(0.002)\n"
	"def named(name, file):\n"
	"    names = {'co_name': name} if is_old else {'co_name': 'n', 'co_qualname': name}\n"
	"    code = template.__code__.replace(co_filename=file, **names)\n"
	"    return types.FunctionType(code, globals(), None, (0.004,))\n"
	"def interior(frame):\n"
	"    return id(frame) if is_old else word(id(frame) + 24).value\n"
	"def with_lie(address, lie):\n"
	"    kept = word(address).value\n"
	"    word(address).value = lie\n"
	"    spin()\n"
	"    nap()\n"
	"    word(address).value = kept\n"
	"def below(lie):\n"
	"    frame = interior(sys._getframe(2))\n"
	"    with_lie(frame + previous, lie)\n"
	"    with_lie(frame + owned, lie)\n"
	"    with_lie(frame + instruction, lie)\n"
	"def middle(lie):\n"
	"    below(interior(sys._getframe(lie)) if lie < 3 else lie)\n"
	"def outer(lie):\n"
	"    middle(lie)\n"
	"def change():\n"
	"    code = id(spin.__code__)\n"
	"    kept = [word(code + field).value for field in code_fields]\n"
	"    for lie in itertools.cycle(lies):\n"
	"        if time.process_time() > end:\n"
	"            break\n"
	"        for field in code_fields:\n"
	"            word(code + field).value = lie\n"
	"        for field, value in zip(code_fields, kept):\n"
	"            word(code + field).value = value\n"
	"print('@ready', flush=True)\n"
	"sys.stdin.buffer.read(1)\n"
	"end = time.process_time() + float(sys.argv[1])\n"
	"sys.setswitchinterval(0.0001)\n"
	"odd = [named('\\x1b[31mred;\\n', '\\x1b]0;owned\\x07.py'), named('\\udcff\\ud800\\x9b', "
	"'l\\0.py'),\n"
	"       named('x' * 100000, 'y' * 100000), named('', ''), named('\\u0421\\U0010ffff', "
	"'z')]\n"
	"thread = threading.Thread(target=change)\n"
	"thread.start()\n"
	"while time.process_time() < end:\n"
	"    for function in odd:\n"
	"        function()\n"
	"    for lie in [0, 1, 2] + lies:\n"
	"        outer(lie)\n"
	"thread.join()\n"
	"print('@done', flush=True)\n"
	"sys.stdin.buffer.read(1)\n";

/* Neither control bytes nor C1 nor what is no UTF-8; lines end. */
static bool is_printable(const char *text)
{
	for (const unsigned char *at = (const void *)text; *at; at++) {
		int n_more = *at < 0x80 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;

		if ((*at < 0x20 && *at != '\n') || *at == 0x7f || *at > 0xf4 ||
		    (*at >= 0x80 && *at < 0xc2) || (*at == 0xc2 && at[1] < 0xa0))
			return false;
		for (; n_more; n_more--)
			if ((*++at & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static const char *const tools[][4] = {
	{ "profile", "-U", "-F", "1999" },
	{ "profile", "-U", "--lines", "-F1999" },
	{ "offcputime", "-U", "--unwind", "auto" },
	{ "offcputime", "-U", "--lines", "--runnable" },
};

/* Each tool beside the program; what it prints holds the text. */
static void trace_lies(struct proc *start(void), const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		struct proc *work = start();
		struct proc *tool =
			trace_pid(work, tools[i][0], tools[i][1], tools[i][2], tools[i][3], "-f");

		CHECK(is_printable(tool->out));
		CHECK(is_printable(tool->err));
		CHECK(strstr(tool->out, text));
		CHECK(!work->has_ended);
	}
}

static struct proc *start_python(void)
{
	return python_start(python_script("lies.py", program), text_of("%d", at_size(3, 1)));
}

TEST_UNLESS(python_lacks, python_that_overwrites_its_frames_is_borne)
{
	trace_lies(start_python, "\\x1b[31mred\\x3b\\x0a (\\x1b]0\\x3bowned\\x07.py");
}
