module heap

go 1.15
