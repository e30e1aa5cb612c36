"""The result table: it prints the same on a terminal, in a notebook and in nbval."""

from __future__ import annotations

import pytest

from simlib.table import SHOWN, Table

SMALL = Table(("name", "n"), (("a", 1), ("long name", None), ("<b>", 2.5)))


def test_text_lines_up_and_numbers_stand_right() -> None:
    assert str(SMALL).splitlines() == [
        "name         n",
        "---------  ---",
        "a            1",
        "long name",
        "<b>        2.5",
    ]


def test_html_escapes_what_it_shows() -> None:
    assert "&lt;b&gt;" in SMALL._repr_html_()
    assert "<b>" not in SMALL._repr_html_()


def test_a_long_table_says_how_much_it_left_out() -> None:
    assert str(Table(("i",), tuple((i,) for i in range(SHOWN + 5)))).endswith("… and 5 rows more")


def test_scalar_wants_exactly_one_value() -> None:
    assert Table(("n",), ((3,),)).scalar() == 3
    with pytest.raises(ValueError, match="one row of one column"):
        SMALL.scalar()


def test_a_column_is_found_by_name() -> None:
    assert SMALL.column("n") == [1, None, 2.5]
    with pytest.raises(ValueError, match="no column 'm'"):
        SMALL.column("m")
