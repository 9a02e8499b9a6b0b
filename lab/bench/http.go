// SPDX-License-Identifier: GPL-2.0-only

// An HTTP server as services in Go are: a request is parsed, some of it sorted, and answered in JSON.
package main

import (
	"encoding/json"
	"net/http"
	"os"
	"sort"
	"strings"
)

func answer(w http.ResponseWriter, r *http.Request) {
	words := strings.Split(r.URL.Query().Get("words"), ",")
	sort.Strings(words)
	json.NewEncoder(w).Encode(map[string]interface{}{"path": r.URL.Path, "words": words})
}

func main() {
	http.HandleFunc("/", answer)
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		panic(err)
	}
}
