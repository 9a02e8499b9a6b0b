# SPDX-License-Identifier: GPL-2.0-only
# Writes and reads JSON, and nothing else: for the examples of profile and pagefaults.
import json

words = [{"id": i, "name": "word %d" % i, "parts": [i, i + 1, i * 0.5]} for i in range(20000)]
for _ in range(20):
    words = json.loads(json.dumps(words))
