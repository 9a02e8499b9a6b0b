# SPDX-License-Identifier: GPL-2.0-only
"""calls.py KIND DEPTH MS: computes for so long, so many functions deep. KIND "same": one that calls
itself; "others": each is another one. Waits to be told to go, as the workloads of the live tests do."""
import sys
import time

kind, depth, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1000


def compute(end):
    while time.monotonic() < end:
        for _ in range(2000):
            pass


def same(n, end):
    return same(n - 1, end) if n else compute(end)


def others(n, end):
    names = {"call0": compute}
    for i in range(n):
        exec(f"def call{i + 1}(end):\n    return call{i}(end)\n", names)
    return names[f"call{n}"](end)


print("@ready", flush=True)
sys.stdin.read(1)
(same if kind == "same" else others)(depth, time.monotonic() + seconds)
print("@done", flush=True)
sys.stdin.read(1)
