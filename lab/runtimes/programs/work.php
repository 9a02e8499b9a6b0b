<?php
// SPDX-License-Identifier: GPL-2.0-only
// Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.

function fibonacci(int $n): int
{
	return $n < 2 ? $n : fibonacci($n - 1) + fibonacci($n - 2);
}

function compare_names(array $a, array $b): int
{
	return strcmp($a['name'], $b['name']) ?: $a['id'] - $b['id'];
}

function sort_records(int $n): int
{
	$records = [];
	$seed = 42;
	for ($i = 0; $i < $n; $i++) {
		$seed = ($seed * 1103515245 + 12345) % 2147483648;
		$records[] = ['id' => $i, 'name' => 'name' . $seed % 1000];
	}
	usort($records, 'compare_names');
	return $records[0]['id'];
}

function count_words(int $n): int
{
	$counts = [];
	for ($i = 0; $i < $n; $i++) {
		$word = 'word' . $i * 7919 % 500;
		$counts[$word] = ($counts[$word] ?? 0) + 1;
	}
	return count($counts);
}

function one_round(): int
{
	return fibonacci(22) + sort_records(3000) + count_words(5000);
}

function run_until(float $end): int
{
	$sum = 0;
	while (microtime(true) < $end)
		$sum += one_round();
	return $sum;
}

echo run_until(microtime(true) + (int)$argv[1]), "\n";
