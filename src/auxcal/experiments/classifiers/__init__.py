"""Target classifiers of the experiments, from their published weights."""
