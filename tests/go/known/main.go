// SPDX-License-Identifier: GPL-2.0-only

// goknown RATE N has a heap and goroutines that are known: main.hold keeps 1000 of 2000 blocks of 4096 bytes,
// and N goroutines each wait in one place, for ever. RATE is the heap profile's. It prints what its
// own runtime says of them, "@ready", and waits for its standard input to end.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

type block [4096]byte

var (
	kept    = make([]*block, 0, 2500)
	nothing = make(chan int)
	never   = make(chan int)
	mutex   sync.Mutex
	group   sync.WaitGroup
)

//go:noinline
func hold(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, new(block))
	}
}

// Deeper than the runtime records, with every second call inlined.
func holdInlined(n int) { holdDeep(n - 1) }

//go:noinline
func holdDeep(n int) {
	if n > 0 {
		holdInlined(n)
		return
	}
	for i := 0; i < 500; i++ {
		kept = append(kept, new(block))
	}
}

func drop(n int) {
	for i := 0; i < n; i++ {
		kept[0] = new(block)
	}
}

func waitReceive() { <-nothing }
func waitSelect() {
	select {
	case <-nothing:
	case <-never:
	}
}
func waitMutex() { mutex.Lock() }
func waitGroup() { group.Wait() }
func waitSleep() { time.Sleep(1000 * time.Hour) }

//go:noinline
func waitDeep(n int) int {
	if n == 0 {
		<-nothing
	}
	return waitDeep(n-1) + 1
}

// Returns true if a function of that name is on the stack.
func through(stack []uintptr, name string) bool {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, name) || !more {
			return more
		}
	}
}

// Prints what the program's own profile says of a function: bytes and objects, and bytes with freed ones.
func printHeap(name string, rate int) {
	records := make([]runtime.MemProfileRecord, 10000)
	n, _ := runtime.MemProfile(records, true)
	bytes, objects, all := 0.0, 0.0, 0.0
	for _, r := range records[:n] {
		if r.AllocObjects == 0 || !through(r.Stack(), name) {
			continue
		}
		scale := 1.0
		if rate > 1 {
			size := float64(r.AllocBytes) / float64(r.AllocObjects)
			scale = 1 / (1 - math.Exp(-size/float64(rate)))
		}
		bytes += float64(r.InUseBytes()) * scale
		objects += float64(r.InUseObjects()) * scale
		all += float64(r.AllocBytes) * scale
	}
	fmt.Printf("@goknown bytes %.0f\n@goknown objects %.0f\n@goknown all %.0f\n", bytes, objects, all)
}

func main() {
	rate, _ := strconv.Atoi(os.Args[1])
	n, _ := strconv.Atoi(os.Args[2])
	runtime.MemProfileRate = rate
	hold(2000)
	for i := range kept[:1000] {
		kept[i] = nil
	}
	holdDeep(100)
	drop(3000)
	mutex.Lock()
	group.Add(1)
	for i := 0; i < n; i++ {
		go waitReceive()
		go waitSelect()
		go waitMutex()
		go waitGroup()
		go waitSleep()
		go waitDeep(i % 100)
	}
	for i := 0; i < 3; i++ {
		time.Sleep(10 * time.Millisecond)
		runtime.GC()
	}
	printHeap("main.hold", rate)
	fmt.Println("@ready")
	var line [1]byte
	os.Stdin.Read(line[:])
}
