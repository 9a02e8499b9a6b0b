%% SPDX-License-Identifier: GPL-2.0-only
%% Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.
-module(work).
-export([main/1]).

fibonacci(N) when N < 2 -> N;
fibonacci(N) -> fibonacci(N - 1) + fibonacci(N - 2).

compare_names({IdA, NameA}, {IdB, NameB}) ->
	if
		NameA == NameB -> IdA =< IdB;
		true -> NameA < NameB
	end.

make_records(N, N, _) -> [];
make_records(I, N, Seed) ->
	Next = (Seed * 1103515245 + 12345) rem 2147483648,
	[{I, "name" ++ integer_to_list(Next rem 1000)} | make_records(I + 1, N, Next)].

sort_records(N) ->
	[{Id, _} | _] = lists:sort(fun compare_names/2, make_records(0, N, 42)),
	Id.

count_words(0, Counts) -> map_size(Counts);
count_words(I, Counts) ->
	Word = "word" ++ integer_to_list(I * 7919 rem 500),
	count_words(I - 1, maps:update_with(Word, fun(C) -> C + 1 end, 1, Counts)).

one_round() -> fibonacci(22) + sort_records(3000) + count_words(5000, #{}).

run_until(End, Sum) ->
	case erlang:system_time(millisecond) < End of
		true -> run_until(End, Sum + one_round());
		false -> Sum
	end.

main([Seconds]) ->
	End = erlang:system_time(millisecond) + list_to_integer(Seconds) * 1000,
	io:format("~p~n", [run_until(End, 0)]).
