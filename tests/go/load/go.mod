module goload

go 1.18
