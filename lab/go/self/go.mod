module self

go 1.18
