// SPDX-License-Identifier: GPL-2.0-only
// Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.
'use strict';

function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function compareNames(a, b) {
	return a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id;
}

function sortRecords(n) {
	const records = [];
	let seed = 42;
	for (let i = 0; i < n; i++) {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		records.push({ id: i, name: 'name' + (seed % 1000) });
	}
	return records.sort(compareNames)[0].id;
}

function countWords(n) {
	const counts = new Map();
	for (let i = 0; i < n; i++) {
		const word = 'word' + (i * 7919) % 500;
		counts.set(word, (counts.get(word) || 0) + 1);
	}
	return counts.size;
}

function oneRound() {
	return fibonacci(22) + sortRecords(3000) + countWords(5000);
}

function runUntil(end) {
	let sum = 0;
	while (Date.now() < end)
		sum += oneRound();
	return sum;
}

console.log(runUntil(Date.now() + Number(process.argv[2]) * 1000));
