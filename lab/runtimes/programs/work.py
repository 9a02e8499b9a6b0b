# SPDX-License-Identifier: GPL-2.0-only
# Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.
import functools
import sys
import time


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def compare_names(a, b):
    if a[1] != b[1]:
        return -1 if a[1] < b[1] else 1
    return a[0] - b[0]


def sort_records(n):
    records, seed = [], 42
    for i in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        records.append((i, 'name%d' % (seed % 1000)))
    records.sort(key=functools.cmp_to_key(compare_names))
    return records[0][0]


def count_words(n):
    counts = {}
    for i in range(n):
        word = 'word%d' % (i * 7919 % 500)
        counts[word] = counts.get(word, 0) + 1
    return len(counts)


def one_round():
    return fibonacci(22) + sort_records(3000) + count_words(5000)


def run_until(end):
    total = 0
    while time.time() < end:
        total += one_round()
    return total


print(run_until(time.time() + int(sys.argv[1])))
