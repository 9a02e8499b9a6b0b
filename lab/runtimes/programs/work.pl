# SPDX-License-Identifier: GPL-2.0-only
# Recursion, sorting with a callback and counting of words, for as many seconds as its argument says.
use strict;
use warnings;
use Time::HiRes 'time';

sub fibonacci
{
	my $n = shift;
	return $n < 2 ? $n : fibonacci($n - 1) + fibonacci($n - 2);
}

sub compare_names
{
	my ($x, $y) = @_;
	return $x->{name} cmp $y->{name} || $x->{id} - $y->{id};
}

sub sort_records
{
	my $n = shift;
	my $seed = 42;
	my @records;
	for my $i (0 .. $n - 1) {
		$seed = ($seed * 1103515245 + 12345) % 2147483648;
		push @records, { id => $i, name => 'name' . $seed % 1000 };
	}
	@records = sort { compare_names($a, $b) } @records;
	return $records[0]{id};
}

sub count_words
{
	my $n = shift;
	my %counts;
	$counts{ 'word' . $_ * 7919 % 500 }++ for 0 .. $n - 1;
	return scalar keys %counts;
}

sub one_round
{
	return fibonacci(22) + sort_records(3000) + count_words(5000);
}

sub run_until
{
	my $end = shift;
	my $sum = 0;
	$sum += one_round() while time < $end;
	return $sum;
}

print run_until(time + $ARGV[0]), "\n";
