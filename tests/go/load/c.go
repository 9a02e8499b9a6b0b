// SPDX-License-Identifier: GPL-2.0-only

//go:build cgo
// +build cgo

package main

/*
extern int backToGo(int);

static __attribute__((noinline)) int spend(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i * 3;
	return sum;
}

static __attribute__((noinline)) int through_c(int depth)
{
	volatile int frame[6] = { depth };

	return spend(30000) + backToGo(depth) + frame[0];
}
*/
import "C"

//export backToGo
func backToGo(depth C.int) C.int {
	sum := C.int(0)
	for i := C.int(0); i < 30000; i++ {
		sum += i ^ sum
	}
	if depth > 0 {
		return C.through_c(depth-1) + sum
	}
	kept = make([]int, 10)
	return sum
}

func init() {
	more = append(more, func() {
		for goesOn() {
			kept = C.through_c(2)
		}
	})
}
