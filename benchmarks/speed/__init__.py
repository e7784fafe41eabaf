"""How fast auxcal is, beside its peers and beside what the machine can do; see benchmarks/README.md."""
