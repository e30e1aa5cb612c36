"""`make bench`: every part's ratios, one line each; 1 when one of them misses its mark."""

from __future__ import annotations

import sys

from tests.bench import clock, crowd, explore, hand, live, payments, queues, scale

PARTS = {
    "clock": clock.report,
    "payments": payments.report,
    "hand": hand.report,
    "explore": explore.report,
    "live": live.report,
    "queues": queues.report,
    "scale": scale.report,
    "class": crowd.report,
}


def main(wanted: list[str]) -> int:
    """Run the parts that are named, or all."""
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"there is no bench {unknown[0]!r}; there are {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    missed = [name for name in wanted or PARTS if not PARTS[name]()]
    print(f"missed: {', '.join(missed)}" if missed else "all as they should be")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
