"""Speed, told as ratios of programs that run in turn on the same machine: `make bench`, `make conformance`."""
