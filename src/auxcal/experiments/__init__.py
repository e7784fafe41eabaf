"""The experiments of the paper: data sets, target classifiers, suites and their bundles."""
