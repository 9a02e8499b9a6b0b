// SPDX-License-Identifier: GPL-2.0-only

//go:build go1.18
// +build go1.18

package main

import "os"

type pair[K comparable, V any] struct {
	key   K
	value V
}

type list[K comparable, V any] struct{ pairs []pair[K, V] }

//go:noinline
func (l *list[K, V]) add(key K, value V) { l.pairs = append(l.pairs, pair[K, V]{key, value}) }

//go:noinline
func find[K comparable, V any](l *list[K, V], key K) (found V) {
	for _, p := range l.pairs {
		if p.key == key {
			found = p.value
		}
	}
	return
}

func init() {
	var a list[string, struct{ x, y [4]int }]
	var b list[[2]int8, map[string]chan<- int]
	if len(os.Args) > 100 {
		a.add(os.Args[0], find(&a, os.Args[1]))
		b.add([2]int8{}, find(&b, [2]int8{1}))
	}
}
