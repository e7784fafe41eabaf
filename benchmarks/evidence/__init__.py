"""How good CCAC-X is, and why: the experiments of docs/evidence.md and docs/which-method.md."""
