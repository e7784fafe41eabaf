"""Attacks by extreme numbers, damaged and forged files, surroundings and threads: nothing may be lost or silent."""
