# SPDX-License-Identifier: GPL-2.0-only
# Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.

@noinline fibonacci(n) = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)

@noinline compare_names(a, b) = a[2] == b[2] ? a[1] < b[1] : a[2] < b[2]

@noinline function sort_records(n)
    records = Tuple{Int,String}[]
    seed = 42
    for i in 1:n
        seed = (seed * 1103515245 + 12345) % 2147483648
        push!(records, (i, string("name", seed % 1000)))
    end
    sort!(records, lt = compare_names)
    records[1][1]
end

@noinline function count_words(n)
    counts = Dict{String,Int}()
    for i in 1:n
        word = string("word", i * 7919 % 500)
        counts[word] = get(counts, word, 0) + 1
    end
    length(counts)
end

@noinline one_round() = fibonacci(22) + sort_records(3000) + count_words(5000)

@noinline function run_until(finish)
    sum = 0
    while time() < finish
        sum += one_round()
    end
    sum
end

println(run_until(time() + parse(Int, ARGS[1])))
