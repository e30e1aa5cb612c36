"""One file a story: its knobs, its world, what to count."""
