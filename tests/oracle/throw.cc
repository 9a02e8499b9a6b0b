// SPDX-License-Identifier: GPL-2.0-only
/*
 * throw SECONDS: exceptions, thrown through frames with destructors, caught and thrown again. They
 * are allocated with malloc(), so that stacks are taken inside of the C++ runtime too, and cleanups
 * run while the frames below are being left.
 */
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define ODD __attribute__((noinline)) static

struct shape {
	virtual ~shape() = default;
	virtual long area(long x) const = 0;
};

struct other {
	virtual ~other() = default;
	virtual long weight(long x) const = 0;
};

/* The second base's functions are reached through thunks. */
struct square : shape, other {
	std::string name = "a name that is too long to be stored in place";

	long area(long x) const override
	{
		return static_cast<long>(std::string(64 + (x & 7), 'x').size());
	}
	long weight(long x) const override
	{
		if (x % 3 == 0)
			throw std::runtime_error("an error with a text that needs memory " + name);
		return area(x);
	}
};

struct cleanup {
	std::unique_ptr<int> value = std::make_unique<int>(1);

	~cleanup()
	{
		std::vector<std::string> texts(3, std::string(50, 'y'));
	}
};

ODD long deepest(const other &o, long x)
{
	cleanup c;

	return o.weight(x) + *c.value;
}

ODD long thrower(const other &o, long x, int depth)
{
	cleanup c;

	return depth ? thrower(o, x, depth - 1) + 1 : deepest(o, x);
}

ODD long rethrower(const other &o, long x)
{
	cleanup c;

	try {
		return thrower(o, x, static_cast<int>(x & 7));
	} catch (const std::logic_error &) {
		return 0;
	} catch (...) {
		std::string text(100, 'z');

		throw;
	}
}

ODD long translator(const other &o, long x)
{
	try {
		return rethrower(o, x);
	} catch (const std::runtime_error &e) {
		std::throw_with_nested(std::logic_error(e.what()));
	}
}

ODD long carrier(const std::function<long(long)> &call, long x)
{
	std::exception_ptr held;

	try {
		return call(x);
	} catch (...) {
		held = std::current_exception();
	}
	try {
		std::rethrow_exception(held);
	} catch (const std::exception &e) {
		return static_cast<long>(std::string(e.what()).size());
	}
}

ODD long sorter(long x)
{
	std::vector<std::string> words;

	for (int i = 0; i < 40; i++)
		words.push_back(std::to_string((x + i) * 7919 % 101) +
				" with a tail of some length");
	try {
		std::sort(words.begin(), words.end(), [x](std::string a, std::string b) {
			if (x % 5 == 0 && a > b)
				throw 1;
			return a < b;
		});
	} catch (int n) {
		return n;
	}
	return static_cast<long>(words[0].size());
}

static void work(double seconds)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
	square s;

	for (long x = 0; std::chrono::steady_clock::now() < end; x++) {
		carrier([&](long y) { return translator(s, y) + s.area(y); }, x);
		sorter(x);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? std::stod(argv[1]) : 1;
	std::thread second(work, seconds);

	work(seconds);
	second.join();
	return 0;
}
