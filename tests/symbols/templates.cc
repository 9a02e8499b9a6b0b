// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions made from templates, inlined into each other, for the comparison of source lines: the
 * standard library's own, lambdas, recursion by type, virtual calls and exceptions.
 */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace
{

template <unsigned int N> struct fibonacci {
	static unsigned long add(unsigned long x)
	{
		return fibonacci<N - 1>::add(x) + fibonacci<N - 2>::add(x ^ N);
	}
};

template <> struct fibonacci<1> {
	static unsigned long add(unsigned long x)
	{
		return x + 1;
	}
};

template <> struct fibonacci<0> {
	static unsigned long add(unsigned long x)
	{
		return x;
	}
};

template <typename T> class shape
{
public:
	virtual ~shape() = default;
	virtual T area() const = 0;
};

template <typename T> class square : public shape<T>
{
public:
	explicit square(T side)
		: side_(side)
	{
		if (side < 0)
			throw std::invalid_argument("side");
	}
	T area() const override
	{
		return side_ * side_;
	}

private:
	T side_;
};

template <typename... T> unsigned long sum_all(const std::tuple<T...> &values)
{
	return std::apply([](auto... each) { return (static_cast<unsigned long>(each) + ...); },
			  values);
}

template <typename Key, typename Value>
Value count_words(const std::vector<Key> &words, std::map<Key, Value> &counts)
{
	for (const auto &word : words)
		++counts[word];
	return std::accumulate(counts.begin(), counts.end(), Value{},
			       [](Value sum, const auto &item) { return sum + item.second; });
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> words(argv, argv + argc);
	std::vector<std::unique_ptr<shape<double>>> shapes;
	std::map<std::string, unsigned long> counts;
	std::function<bool(const std::string &, const std::string &)> longer =
		[](const std::string &a, const std::string &b) { return a.size() > b.size(); };
	unsigned long total = fibonacci<12>::add(static_cast<unsigned long>(argc));
	double area = 0;

	std::sort(words.begin(), words.end(), longer);
	try {
		for (int side = argc; side > -2; side--)
			shapes.push_back(std::make_unique<square<double>>(side));
	} catch (const std::invalid_argument &error) {
		std::puts(error.what());
	}
	for (const auto &one : shapes)
		area += one->area();
	total += sum_all(std::make_tuple(argc, 2L, 'c', area)) + count_words(words, counts);
	std::printf("%lu\n", total);
	return 0;
}
