module gopython

go 1.18
