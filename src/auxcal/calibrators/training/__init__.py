"""Training of the calibrator networks; the only part of the library that fits with torch."""
