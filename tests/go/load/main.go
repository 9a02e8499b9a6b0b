// SPDX-License-Identifier: GPL-2.0-only

// goload SECONDS [PROFILE [HZ]] keeps CPUs busy in all the ways that Go code has of being on a stack:
// deep ones that grow and move, panics and faults, closures, reflection, assembly, the collector, the
// scheduler, system calls, signals, generic functions, and C where it is built with cgo. With PROFILE it
// runs under its own profiler.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/big"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var end time.Time
var kept interface{}

// Functions that other files add: generic ones, C.
var more []func()

func goesOn() bool { return time.Now().Before(end) }

//go:noinline
func descend(n int, frame [48]int) int {
	if n == 0 {
		sum := 0
		for i := 0; i < 30000; i++ {
			sum += frame[i%48] ^ i
		}
		return sum
	}
	frame[n%48] = n
	return descend(n-1, frame) + frame[n%48]
}

// Each goroutine begins with a small stack, which is moved as it grows.
func grow() {
	done := make(chan int)
	for goesOn() {
		go func() { done <- descend(50, [48]int{1}) }()
		<-done
	}
}

func pass() {
	in, out := make(chan int), make(chan int)
	var lock sync.Mutex
	go func() {
		for v := range in {
			lock.Lock()
			v++
			lock.Unlock()
			out <- v
		}
	}()
	for i := 0; goesOn(); i++ {
		select {
		case in <- i:
			<-out
		case <-time.After(time.Minute):
		}
	}
	close(in)
}

type node struct {
	next *node
	data [6]int
}

//go:noinline
func fault(depth int) int {
	defer func() {
		if err := recover(); err != nil && depth > 0 {
			panic(err)
		}
	}()
	if depth == 0 {
		var none *node
		return none.data[1]
	}
	return fault(depth-1) + 1
}

func faults() {
	for goesOn() {
		fault(3)
	}
}

type shape interface{ area(int) int }
type square struct{ side int }

func (s square) area(n int) int { return s.side*s.side + n } // by pointer: through a wrapper

//go:noinline
func total(shapes []shape, n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += shapes[i%len(shapes)].area(i)
	}
	return
}

func close_over() {
	shapes := []shape{&square{3}, square{4}}
	for goesOn() {
		count := 0
		add := func(n int) int { count += n; return total(shapes, 500) }
		for i := 0; i < 500; i++ {
			kept = add(i)
		}
		words := strings.Fields(strings.Repeat("all happy families are alike ", 300))
		sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	}
}

func compute() {
	data, copied, nonce := make([]byte, 50000), make([]byte, 50000), make([]byte, 12)
	block, _ := aes.NewCipher(make([]byte, 32))
	gcm, _ := cipher.NewGCM(block)
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	big1 := new(big.Int).Exp(big.NewInt(7), big.NewInt(3000), nil)
	for goesOn() {
		copy(copied, data)
		kept = sha1.Sum(data)
		kept = sha256.Sum256(data)
		kept = sha512.Sum512(data)
		kept = crc32.ChecksumIEEE(data)
		kept = crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		kept = gcm.Seal(nil, nonce, data, nil)
		kept = bytes.Index(data, []byte("nothing"))
		kept = bytes.Equal(data, copied)
		kept = new(big.Int).Exp(big1, big.NewInt(65537), new(big.Int).Add(big1, big.NewInt(1)))
		ecdsa.Sign(rand.Reader, key, nonce)
	}
}

func allocate() {
	for i := 0; goesOn(); i++ {
		var list *node
		table := map[string]int{}
		for j := 0; j < 20000; j++ {
			list = &node{next: list}
			table[strconv.Itoa(j)] = j
		}
		text, _ := json.Marshal(table)
		json.Unmarshal(text, &table)
		kept = list
		if i%5 == 0 {
			runtime.GC()
		}
	}
}

func mirror() {
	f := reflect.ValueOf(func(n int, s string, a [4]int) (int, string) { return descend(2, [48]int{n}), s })
	made := reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value { return f.Call(in) })
	for goesOn() {
		kept = made.Call([]reflect.Value{reflect.ValueOf(1), reflect.ValueOf("s"), reflect.ValueOf([4]int{})})
		kept = fmt.Sprintf("%v %+v", []int{1, 2}, struct{ A, B int }{1, 2})
	}
}

func ask() {
	zero, _ := os.Open("/dev/zero")
	buffer := make([]byte, 4096)
	for goesOn() {
		for i := 0; i < 200; i++ {
			zero.Read(buffer)
			kept = time.Now()
			syscall.Getpid()
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		for i := 0; i < 20; i++ {
			w.Write(buffer)
		}
		w.Close()
		kept = debug.Stack()
	}
}

func be_signalled() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGUSR1)
	for goesOn() {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-signals
		time.Sleep(time.Millisecond)
	}
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	end = time.Now().Add(time.Duration(seconds) * time.Second)
	if len(os.Args) > 2 {
		file, _ := os.Create(os.Args[2])
		if len(os.Args) > 3 {
			hz, _ := strconv.Atoi(os.Args[3])
			runtime.SetCPUProfileRate(hz)
		}
		pprof.StartCPUProfile(file)
		defer pprof.StopCPUProfile()
	}
	debug.SetGCPercent(50)
	var all sync.WaitGroup
	for _, f := range append(more, grow, pass, faults, close_over, compute, allocate, mirror, ask, be_signalled) {
		all.Add(1)
		go func(f func()) {
			defer all.Done()
			for goesOn() {
				func() {
					defer func() { kept = recover() }()
					f()
				}()
			}
		}(f)
	}
	all.Wait()
}
