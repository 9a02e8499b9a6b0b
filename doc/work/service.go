// SPDX-License-Identifier: GPL-2.0-only

// A small shop over HTTP, for the examples of the manual: /list only computes, /order writes each
// order to disk while it holds a lock, as services do when they become slow.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"sort"
	"sync"
)

type item struct {
	Name  string
	Price int
}

type journal struct {
	sync.Mutex
	file *os.File
}

func (j *journal) append(line string) error {
	j.Lock()
	defer j.Unlock()
	if _, err := j.file.WriteString(line); err != nil {
		return err
	}
	return j.file.Sync()
}

func catalogue() []item {
	items := make([]item, 300)
	for i := range items {
		items[i] = item{fmt.Sprintf("item %d", i*7919%300), i * 31 % 97}
	}
	return items
}

func listItems(w http.ResponseWriter, _ *http.Request) {
	items := catalogue()
	sort.Slice(items, func(a, b int) bool { return items[a].Price < items[b].Price })
	json.NewEncoder(w).Encode(items)
}

func main() {
	file, err := os.Create(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	orders := &journal{file: file}
	http.HandleFunc("/list", listItems)
	http.HandleFunc("/order", func(w http.ResponseWriter, r *http.Request) {
		if err := orders.append(r.RemoteAddr + "\n"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
