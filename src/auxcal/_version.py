"""The version, in a file of its own: files are stamped with it by modules that must not import the whole package."""

VERSION = "0.1.0"
