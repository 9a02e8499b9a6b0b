# SPDX-License-Identifier: GPL-2.0-only
# Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.

def fibonacci(n)
  n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)
end

def compare_names(a, b)
  order = a[:name] <=> b[:name]
  order.zero? ? a[:id] - b[:id] : order
end

def sort_records(n)
  seed = 42
  records = Array.new(n) do |i|
    seed = (seed * 1103515245 + 12345) % 2147483648
    { id: i, name: "name#{seed % 1000}" }
  end
  records.sort { |a, b| compare_names(a, b) }[0][:id]
end

def count_words(n)
  counts = Hash.new(0)
  n.times { |i| counts["word#{i * 7919 % 500}"] += 1 }
  counts.size
end

def one_round
  fibonacci(22) + sort_records(3000) + count_words(5000)
end

def run_until(finish)
  sum = 0
  sum += one_round while Time.now < finish
  sum
end

puts run_until(Time.now + Integer(ARGV[0]))
