// SPDX-License-Identifier: GPL-2.0-only

//go:build go1.18
// +build go1.18

package main

type ring[T any] struct {
	items [64]T
	at    int
}

//go:noinline
func (r *ring[T]) put(item T) {
	r.items[r.at%64] = item
	r.at++
}

//go:noinline
func fold[T, S any](items []T, sum S, f func(S, T) S) S {
	for _, item := range items {
		sum = f(sum, item)
	}
	return sum
}

func init() {
	more = append(more, func() {
		var numbers ring[int]
		var pairs ring[struct{ a, b float64 }]
		for goesOn() {
			for i := 0; i < 1000; i++ {
				numbers.put(i)
				pairs.put(struct{ a, b float64 }{float64(i), 2})
			}
			kept = fold(numbers.items[:], 0.5, func(s float64, n int) float64 { return s + 1/float64(n+1) })
			kept = fold(pairs.items[:], 0, func(s int, p struct{ a, b float64 }) int { return s + int(p.a/p.b) })
		}
	})
}
