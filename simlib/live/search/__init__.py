"""Every schedule of a function on a real PostgreSQL: who goes next is a choice, and every choice is tried.

The way through it: `connections` (a round trip is a point) -> `turns` (one goes, the others stand) -> `play` (one
schedule, from a clean `ground`) -> `tree` (all of them, less what `footprint` knows to be the same) -> `story`.
"""
