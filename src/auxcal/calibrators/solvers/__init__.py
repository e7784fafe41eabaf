"""The solvers that the methods share: Newton steps, linear and logistic maps, softmax, and the targets of a fit."""
