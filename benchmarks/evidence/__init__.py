"""How good CCAC-X is, and why: the experiments of docs/evidence/ccac-x.md and docs/explain/which-method.md."""
