"""Decisions only: no clock, no I/O, no hidden randomness."""
