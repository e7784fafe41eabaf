"""The engine that trains calibrator networks; the only part of the library that needs torch to learn."""
