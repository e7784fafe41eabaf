"""The parts of CCAC-X: the open map, the maps of the score, the correction, and the evidence that weighs them."""
