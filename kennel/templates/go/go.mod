module example.com/{{package}}

go 1.22
