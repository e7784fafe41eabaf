"""The suites."""
