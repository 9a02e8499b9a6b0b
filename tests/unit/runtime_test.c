// SPDX-License-Identifier: GPL-2.0-only
/* Runtimes by the files of their processes. */
#include "process/processes.h"
#include "runtimes/runtimes.h"
#include "unit.h"

/* The runtime of a process that executes these files; NULL: none is known. */
static const struct runtime *find_runtime(const char *first, const char *second)
{
	struct mapping items[] = { { .start = 0x1000, .end = 0x2000, .ino = 1, .dev = 1 },
				   { .start = 0x3000, .end = 0x4000, .ino = 2, .dev = 1 } };
	struct mappings read = { items, second ? 2 : 1 };
	struct map_store store = { .files = files_new() };
	struct timespec now = { 1, 0 };
	const struct runtime *runtime;
	struct maps *maps;

	items[0].path = (char *)first;
	items[1].path = (char *)second;
	maps = maps_from_proc(&store, &read, &now, NULL);
	runtime = runtime_find(maps);
	maps_release(maps);
	map_store_free(&store);
	return runtime;
}

static const char *find(const char *first, const char *second)
{
	const struct runtime *runtime = find_runtime(first, second);

	return runtime ? runtime->name : "none";
}

TEST(a_runtime_is_known_by_its_files)
{
	CHECK_STR(find("/usr/bin/java", "/usr/lib/jvm/lib/server/libjvm.so"), "java");
	CHECK_STR(find("/opt/app/server", "/usr/share/dotnet/libcoreclr.so"), ".NET");
	CHECK_STR(find("/usr/local/bin/node", NULL), "node");
	CHECK_STR(find("/usr/bin/app", "/usr/lib/x86_64-linux-gnu/libnode.so.108"), "node");
	CHECK_STR(find("/usr/sbin/php-fpm8.2", "/usr/lib/libc.so.6"), "php");
	CHECK_STR(find("/usr/sbin/apache2", "/usr/lib/apache2/modules/libphp8.2.so"), "php");
	CHECK_STR(find("/usr/bin/ruby3.1", "/usr/lib/libruby-3.1.so.3.1.2"), "ruby");
	CHECK_STR(find("/usr/lib/erlang/erts-13.1.5/bin/beam.smp", NULL), "erlang");
	CHECK_STR(find("/usr/bin/luajit-2.1.0-beta3", "/lib/libluajit-5.1.so.2.1.0"), "luajit");
	CHECK_STR(find("/usr/bin/julia", "/usr/lib/libjulia.so.1.5"), "julia");
	CHECK_STR(find("/usr/bin/mono-sgen", NULL), "mono");
	/* a deleted file is still known */
	CHECK_STR(find("/usr/bin/java", "/opt/jdk/lib/server/libjvm.so (deleted)"), "java");
	CHECK_STR(find("/usr/bin/node (deleted)", NULL), "node");
	/* what only begins likewise is something else */
	CHECK_STR(find("/usr/bin/node_exporter", NULL), "none");
	CHECK_STR(find("/usr/bin/node-exporter", NULL), "none");
	CHECK_STR(find("/usr/bin/nodemon", NULL), "none");
	CHECK_STR(find("/usr/bin/phpmyadmin", NULL), "none");
	CHECK_STR(find("/usr/bin/monotone", "/usr/bin/rubyfmt"), "none");
	CHECK_STR(find("", NULL), "none");
}

/* Its regular expressions are compiled, too, also without its own compiler. */
TEST(advice_for_php_names_both_compilers)
{
	const char *advice = find_runtime("/usr/bin/php8.2", NULL)->to_complete;

	CHECK_HAS(advice, "-d opcache.jit=off");
	CHECK_HAS(advice, "-d pcre.jit=0");
}

TEST(an_advice_has_the_pid_in_it)
{
	char text[64];

	runtime_advice(text, sizeof(text), "start it, then jcmd PID Compiler.perfmap", 812);
	CHECK_STR(text, "start it, then jcmd 812 Compiler.perfmap");
	runtime_advice(text, sizeof(text), "start it, then jcmd PID Compiler.perfmap", 0);
	CHECK_STR(text, "start it, then jcmd PID Compiler.perfmap");
	runtime_advice(text, sizeof(text), "start it with --names", 812);
	CHECK_STR(text, "start it with --names");
	runtime_advice(text, 8, "jcmd PID Compiler.perfmap", 812);
	CHECK_STR(text, "jcmd 81");
}
