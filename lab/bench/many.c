// SPDX-License-Identifier: GPL-2.0-only
/* many LIBRARY...: loads them all, and calls one after the other for ever. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MAX_LIBRARIES 256

typedef long enter_fn(long x);

int main(int argc, char **argv)
{
	static enter_fn *enter[MAX_LIBRARIES];
	long x = 0;
	int n = 0;

	for (int i = 1; i < argc && n < MAX_LIBRARIES; i++, n++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "many_enter") : NULL;

		if (!symbol) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		memcpy(&enter[n], &symbol, sizeof(symbol));
	}
	while (n > 0) // NOLINT(bugprone-infinite-loop): until it is killed
		for (int i = 0; i < n; i++)
			x += enter[i](x);
	return 0;
}
