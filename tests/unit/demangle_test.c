// SPDX-License-Identifier: GPL-2.0-only
/* Names of C++ and Rust functions, and names made to keep a demangler busy. */
#include "symbols/demangle.h"
#include "unit.h"

/* "" where it stays as it is. Valid until the next call. */
static const char *readable(const char *name)
{
	static char *text;

	free(text);
	text = demangle(name);
	return text ? text : "";
}

TEST(names_are_as_people_wrote_them)
{
	/* reads cxx names */
	CHECK_STR(readable("_Z1fv"), "f()");
	CHECK_STR(readable("_ZN4node9inspector5Agent4StopEv"), "node::inspector::Agent::Stop()");
	CHECK_STR(readable("_ZNKSt6vectorIiSaIiEE4sizeEv"),
		  "std::vector<int, std::allocator<int> >::size() const");
	CHECK_STR(readable("_Z1fi.cold"), "f(int) [clone .cold]");
	/* reads rust names */
	CHECK_STR(readable("_RNvNtC4work6tracer4spin"), "work::tracer::spin");
	CHECK_STR(readable("_RNvC6_123foo3bar"), "123foo::bar");
	CHECK_STR(readable("_ZN4work6legacy4leaf17h0123456789abcdefE"), "work::legacy::leaf");
	/* a crate's hash may contain "G" */
	CHECK_STR(readable("_RNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal"),
		  "std::rt::lang_start_internal");
	/* keeps the mark of stubs */
	CHECK_STR(readable("_ZdlPv@plt"), "operator delete(void*)@plt");
	CHECK_STR(readable("_RNvC4work4leaf@plt"), "work::leaf@plt");
	CHECK_STR(readable("free@plt"), "");
	/* leaves other names alone */
	CHECK_STR(readable("main"), "");
	CHECK_STR(readable(""), "");
	CHECK_STR(readable("_"), "");
	CHECK_STR(readable("_Z"), "");
	CHECK_STR(readable("_R"), "");
	CHECK_STR(readable("_Zebra"), "");
	CHECK_STR(readable("_Z1f"), "f"); /* as c++filt says */
	CHECK_STR(readable("_start"), "");
	CHECK_STR(readable("f"), "");
	CHECK_STR(readable("_Z@plt"), "");
}

/* Each parameter is a pair of the one before it: 2^30 times "int, int" in the end. */
TEST(bounds_text_that_doubles)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1f1AIiiE";
	size_t n = strlen(name);

	for (int i = 0; i < 30; i++)
		n += (size_t)sprintf(name + n, "S_IS%c_S%c_E", digits[i], digits[i]);
	CHECK_STR(readable(name), "");
	name[strlen("_Z1f1AIiiE") + 2 * strlen("S_IS0_S0_E")] = '\0';
	CHECK_STR(readable(name),
		  "f(A<int, int>, A<A<int, int>, A<int, int> >, "
		  "A<A<A<int, int>, A<int, int> >, A<A<int, int>, A<int, int> > >)");
}

/* libiberty would count 62^10 lifetimes, without printing any. */
TEST(bounds_lifetimes)
{
	CHECK_STR(readable("_RYYYYYFFFYYYXYYYYOOOOOOOOOOOOFFFOOFFFFFFFFFFFFC0FFFFFFFFFFFC0FFYY"
			   "YYYYYYYYFFFC0FFFFFFFFFFFFFFFGLOBYYYYYAL_FFFOC0OOOOOOOOOYYFFFFFOO"),
		  "");
	CHECK_STR(readable("_RMC0FGGLOBYYYYYAL_EuE"), "");
	CHECK_STR(readable("_RMC0DGGLOBYYYYYAL_EL_"), "");
}

TEST(bounds_depth_and_length)
{
	size_t n = 10u << 20;
	char *name = mem_zalloc(1, n + 1);

	memset(name, 'P', n);
	memcpy(name, "_Z1f", 4);
	CHECK_STR(readable(name), "");
	name[5000] = '\0';
	CHECK_STR(readable(name), "");
	memset(name + 2, 'N', 4998);
	CHECK_STR(readable(name), "");
	memset(name, 'I', 16000);
	memcpy(name, "_RNvC1a", 7);
	name[16000] = '\0';
	CHECK_STR(readable(name), "");
	free(name);
}
