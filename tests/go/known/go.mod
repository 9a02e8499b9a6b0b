module goknown

go 1.18
