-- SPDX-License-Identifier: GPL-2.0-only
-- Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.

local function fibonacci(n)
	if n < 2 then
		return n
	end
	return fibonacci(n - 1) + fibonacci(n - 2)
end

local function compare_names(a, b)
	if a.name ~= b.name then
		return a.name < b.name
	end
	return a.id < b.id
end

local function sort_records(n)
	local records, seed = {}, 42
	for i = 1, n do
		seed = (seed * 16807) % 2147483647
		records[i] = { id = i, name = "name" .. seed % 1000 }
	end
	table.sort(records, compare_names)
	return records[1].id
end

local function count_words(n)
	local counts, size = {}, 0
	for i = 1, n do
		local word = "word" .. (i * 7919) % 500
		if not counts[word] then
			size = size + 1
		end
		counts[word] = (counts[word] or 0) + 1
	end
	return size
end

local function one_round()
	return fibonacci(22) + sort_records(3000) + count_words(5000)
end

local function run_until(finish)
	local sum = 0
	while os.time() < finish do
		sum = sum + one_round()
	end
	return sum
end

print(run_until(os.time() + tonumber(arg[1])))
