// SPDX-License-Identifier: GPL-2.0-only
/*
 * All tools in one static binary, for rescue images and foreign machines: "tracelets runqlat 5", or
 * by the name it is called as. Each tool's own main() is compiled in under another name; toolset.h,
 * made by the Makefile, lists them.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/version.h"
#include "run/features.h"

#define TOOL(name) int name##_main(int argc, char **argv);
#include "toolset.h"
#undef TOOL

struct applet {
	const char *name;
	int (*main)(int argc, char **argv);
};

#define TOOL(name) { #name, name##_main },
static const struct applet applets[] = {
#include "toolset.h"
};
#undef TOOL

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct applet *find_applet(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++)
		if (!strcmp(applets[i].name, name))
			return &applets[i];
	return NULL;
}

static int print_tools(void)
{
	printf("usage: tracelets TOOL [options]   (tracelets TOOL --help)\n"
	       "       tracelets check            what this kernel offers to the tools\n"
	       "       tracelets --install DIR    a link for each tool\n\ntools:\n");
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++)
		applets[i].main(0, NULL); /* prints its name and summary, see tool_main() */
	return 0;
}

/* ---- --install ---- */

/* True if path is a link to the binary: then it may stay. */
static bool is_link_to(const char *path, const char *binary)
{
	char target[PATH_MAX], resolved[PATH_MAX];

	return readlink(path, target, sizeof(target)) > 0 && realpath(path, resolved) &&
	       !strcmp(resolved, binary);
}

static int install_link(const char *binary, const char *folder, const char *name)
{
	char *path = mem_printf("%s/%s", folder, name);
	int err = 0;

	if (is_link_to(path, binary))
		msg_debug("%s is there already", path);
	else if (symlink(binary, path))
		err = msg_errno(errno, "making the link %s", path);
	free(path);
	return err;
}

static int install_links(const char *folder)
{
	char binary[PATH_MAX];
	int err = 0, e;

	if (!realpath("/proc/self/exe", binary))
		return msg_errno(errno, "finding out where this program is");
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++) {
		e = install_link(binary, folder, applets[i].name);
		err = err ? err : e;
	}
	return err;
}

/* ---- tracelets itself ---- */

static int print_usage_error(const char *word)
{
	msg_error("'%s' is neither a tool nor a command; 'tracelets' alone lists them", word);
	return 2;
}

static int run_command(int argc, char **argv)
{
	const char *word = argv[1];

	if (argc == 1 || !strcmp(word, "--help") || !strcmp(word, "-h"))
		return print_tools();
	if (argc == 2 && (!strcmp(word, "--version") || !strcmp(word, "-V")))
		return printf("tracelets %s\n", TRACELETS_VERSION) < 0;
	if (argc == 2 && !strcmp(word, "check"))
		return features_print(stdout) ? 1 : 0;
	if (argc == 3 && !strcmp(word, "--install"))
		return install_links(argv[2]) ? 1 : 0;
	if (!find_applet(word))
		return print_usage_error(word);
	return find_applet(word)->main(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	const struct applet *applet = argc > 0 ? find_applet(base_name(argv[0])) : NULL;

	if (argc == 0)
		return print_tools();
	return applet ? applet->main(argc, argv) : run_command(argc, argv);
}
