#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks a file for the Firefox Profiler: columns are of one length, indices in range, times ascending."""
import json
import sys

# Columns that are indices into another table, or of "" into the categories.
INDICES = {
    "stackTable": {"frame": "frameTable"},
    "frameTable": {"func": "funcTable", "category": ""},
    "funcTable": {"name": "stringArray", "fileName": "stringArray", "resource": "resourceTable"},
    "resourceTable": {"name": "stringArray"},
    "nativeSymbols": {},
    "samples": {"stack": "stackTable"},
    "markers": {"name": "stringArray", "category": ""},
}


def length_of(thread, table):
    rows = thread[table]
    return len(rows) if isinstance(rows, list) else rows["length"]


def check_table(thread, name, n_categories):
    table = thread[name]
    for column, values in table.items():
        assert not isinstance(values, list) or len(values) == table["length"], (name, column)
    for column, target in INDICES[name].items():
        limit = length_of(thread, target) if target else n_categories
        least = -1 if column == "resource" else 0
        assert all(i is None or least <= i < limit for i in table[column]), (name, column, limit)


def check_thread(thread, n_categories):
    for name in INDICES:
        check_table(thread, name, n_categories)
    assert all(prefix is None or prefix < i for i, prefix in enumerate(thread["stackTable"]["prefix"]))
    samples, markers = thread["samples"], thread["markers"]
    times, weights = samples["time"], samples["weight"]
    assert times and times == sorted(times) and times[0] >= 0 and min(weights) >= 0, thread["name"]
    if samples["weightType"] == "tracing-ms":
        assert all(a + w <= b + 1e-5 for a, w, b in zip(times, weights, times[1:])), thread["name"]
    assert markers["startTime"] == sorted(markers["startTime"])
    for start, end, data in zip(markers["startTime"], markers["endTime"], markers["data"]):
        assert start <= end and start in times
        assert 0 <= data["cause"]["stack"] < length_of(thread, "stackTable")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        profile = json.load(file)
    categories = profile["meta"]["categories"]
    assert any(category["color"] == "grey" for category in categories)
    assert profile["threads"], "no thread"
    for thread in profile["threads"]:
        check_thread(thread, len(categories))
    owners = [(thread["pid"], thread["tid"]) for thread in profile["threads"]]
    assert len(owners) == len(set(owners)), "a thread twice"


main()
