"""What everything rests on; it knows nothing of calibration."""
