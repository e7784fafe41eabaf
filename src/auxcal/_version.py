"""The version, in a file of its own, for modules that must not import the whole package."""

VERSION = "0.1.0"
