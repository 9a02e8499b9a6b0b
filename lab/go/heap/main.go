// SPDX-License-Identifier: GPL-2.0-only

// heap RATE allocates in the ways that heap profiles differ in, and prints the records of its own
// profile: at its start, and for each line of standard input, which is the number of garbage
// collections before that. RATE is the profile's. Nothing is collected in between.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"strconv"
	"strings"
)

type node struct {
	next *node
	text [40]byte
}

type shape interface{ grow(n int) []byte }

type inner struct{ factor int }

func (i inner) grow(n int) []byte { return make([]byte, n*i.factor) }

// Its method is the embedded one's: the compiler makes a wrapper.
type outer struct {
	*inner
	name string
}

var (
	kept   = map[int]interface{}{}
	list   *node
	blobs  [][]byte
	sink   interface{}
	shapes = []shape{outer{&inner{7}, "a"}, &outer{&inner{9}, "b"}, inner{5}}
)

// Inlined into each other.
func smallest(n int) *node { return &node{next: list} }
func smaller(n int) *node  { return smallest(n + 1) }
func small(n int)          { list = smaller(n) }

//go:noinline
func deep(n int) {
	if n == 0 {
		kept[len(kept)] = make([]byte, 5000)
		return
	}
	deep(n - 1)
}

// Calls itself through a function that is inlined.
func through(n int) { deeper(n - 1) }

//go:noinline
func deeper(n int) {
	if n <= 0 {
		blobs = append(blobs, make([]byte, 300))
		return
	}
	through(n)
}

func closure(n int) func() string {
	return func() string { return strings.Repeat("x", n) + strconv.Itoa(n) }
}

//go:noinline
func keep(n int) {
	for i := 0; i < n; i++ {
		small(i)
		kept[len(kept)] = closure(i % 900)()
		blobs = append(blobs, shapes[i%len(shapes)].grow(i%200+1))
		if i%50 == 0 {
			deep(i / 50 % 200)
			deeper(i / 50 % 90)
		}
		if i%500 == 0 {
			blobs = append(blobs, make([]byte, 1<<20))
		}
	}
}

//go:noinline
func waste(n int) {
	for i := 0; i < n; i++ {
		sink = make([]byte, i%5000)
		sink = fmt.Sprint(i)
	}
}

// Drops a part of what is kept.
func drop() {
	for k := range kept {
		if k%3 == 0 {
			delete(kept, k)
		}
	}
	blobs = append([][]byte(nil), blobs[len(blobs)/3:]...)
}

// Each record: allocations, frees, size, functions from the innermost one on.
func print(out *bufio.Writer, records []runtime.MemProfileRecord) {
	n, ok := runtime.MemProfile(records, true)
	if !ok {
		panic("too many records")
	}
	for _, r := range records[:n] {
		if r.AllocObjects == 0 {
			continue
		}
		fmt.Fprintf(out, "%d %d %d", r.AllocObjects, r.FreeObjects, r.AllocBytes/r.AllocObjects)
		for frames := runtime.CallersFrames(r.Stack()); ; {
			frame, more := frames.Next()
			fmt.Fprint(out, ";", frame.Function)
			if !more {
				break
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "end")
	out.Flush()
}

func main() {
	runtime.MemProfileRate, _ = strconv.Atoi(os.Args[1])
	debug.SetGCPercent(-1)
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	records := make([]runtime.MemProfileRecord, 100000)

	keep(20000)
	for print(out, records); in.Scan(); print(out, records) {
		waste(5000)
		drop()
		keep(2000)
		n, _ := strconv.Atoi(in.Text())
		for ; n > 0; n-- {
			runtime.GC()
		}
	}
}
