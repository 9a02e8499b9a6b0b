// SPDX-License-Identifier: GPL-2.0-only
// Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Work {
	static final class Entry {
		final int id;
		final String name;

		Entry(int id, String name) {
			this.id = id;
			this.name = name;
		}
	}

	static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	static int compareNames(Entry a, Entry b) {
		int order = a.name.compareTo(b.name);
		return order != 0 ? order : a.id - b.id;
	}

	static int sortRecords(int n) {
		List<Entry> records = new ArrayList<>();
		long seed = 42;
		for (int i = 0; i < n; i++) {
			seed = (seed * 1103515245L + 12345) % 2147483648L;
			records.add(new Entry(i, "name" + seed % 1000));
		}
		records.sort(Work::compareNames);
		return records.get(0).id;
	}

	static int countWords(int n) {
		Map<String, Integer> counts = new HashMap<>();
		for (int i = 0; i < n; i++)
			counts.merge("word" + i * 7919L % 500, 1, Integer::sum);
		return counts.size();
	}

	static long oneRound() {
		return fibonacci(22) + sortRecords(3000) + countWords(5000);
	}

	static long runUntil(long end) {
		long sum = 0;
		while (System.currentTimeMillis() < end)
			sum += oneRound();
		return sum;
	}

	public static void main(String[] args) {
		System.out.println(runUntil(System.currentTimeMillis() + Integer.parseInt(args[0]) * 1000L));
	}
}
