// SPDX-License-Identifier: GPL-2.0-only

// self reads hex addresses of its own code, as they are in its file, and prints what the runtime says
// of them: for each address the calls that it is in, innermost first, as "address function file line",
// with tabs between. What it imports is there for its code.
package main

import (
	"bufio"
	_ "crypto/tls"
	_ "database/sql"
	"debug/elf"
	_ "encoding/gob"
	_ "encoding/xml"
	"fmt"
	_ "go/types"
	_ "html/template"
	_ "image/png"
	_ "math/big"
	_ "net/http/pprof"
	"os"
	_ "regexp"
	"runtime"
	"strconv"
	"strings"
	_ "unsafe" // for the linkname
)

// Only a return address's own function is told by runtime.CallersFrames; this adds those inlined there.
//
//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr

// Returns the page of the first loadable segment, which is not always 0.
func firstAddress(file *elf.File) uint64 {
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD {
			return segment.Vaddr &^ 0xfff
		}
	}
	panic("no segment")
}

// By how much a position-independent program lies elsewhere than its file says.
func bias() uint64 {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if file.Type != elf.ET_DYN {
		return 0
	}
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	defer maps.Close()
	for in := bufio.NewScanner(maps); in.Scan(); {
		if strings.HasSuffix(in.Text(), " "+path) {
			start, _ := strconv.ParseUint(strings.SplitN(in.Text(), "-", 2)[0], 16, 64)
			return start - firstAddress(file)
		}
	}
	panic("no mapping of " + path)
}

func print(out *bufio.Writer, address, bias uint64) {
	// A return address lies behind its call. One at a time: frames are not independent of each other
	// where one of them panics.
	for _, pc := range expand([]uintptr{uintptr(address + bias + 1)}) {
		frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		fmt.Fprintf(out, "%x\t%s\t%s\t%d\n", address, frame.Function, frame.File, frame.Line)
	}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	b := bias()
	for in.Scan() {
		address, err := strconv.ParseUint(in.Text(), 16, 64)
		if err != nil {
			panic(err)
		}
		print(out, address, b)
	}
}
