// SPDX-License-Identifier: GPL-2.0-only
/* One of many shared libraries with a thousand functions, of which some are called in a row. */
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))

#define ONE(n)                           \
	long many_##n(long x);           \
	PLAIN long many_##n(long x)      \
	{                                \
		volatile long y = x * 3; \
		return y + 0x##n;        \
	}
#define TEN(n)    \
	ONE(n##0) \
	ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) \
	TEN(n##0)  \
	TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)

HUNDRED(0)
HUNDRED(1)
HUNDRED(2)
HUNDRED(3)
HUNDRED(4)
HUNDRED(5)
HUNDRED(6)
HUNDRED(7)
HUNDRED(8)
HUNDRED(9)

/* Works for some 100 us, and naps. */
PLAIN static long stay(long x)
{
	for (int i = 0; i < 20000; i++)
		x += many_555(x);
	usleep(50);
	return x + 1;
}

PLAIN static long pass_on(long x)
{
	return stay(x) + 1;
}

long many_enter(long x);
long many_enter(long x)
{
	return pass_on(x) + 1;
}
