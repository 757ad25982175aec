"""Rows, cards and ribbons of any comparison share one grid."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dashboard.compaction_analysis.message_zones import compare
from dashboard.compaction_analysis.messages import messages
from dashboard.pages.compactions.flow_diagram import ROWS_MAX, SPAN_MAX, flow
from tests.support import build

SHEET = Path(__file__).parents[4] / "static" / "css" / "pages" / "compactions.css"
POOL = [
    *(build.user(f"message {n}") for n in range(30)),
    *(build.tool_result(f"c{n}", "long " * n, "bash") for n in range(10)),
    *(build.tool_result(f"c{n}", "cut", "bash") for n in range(10)),
]
SOME = st.lists(st.sampled_from(POOL), max_size=80)


def ends(ribbon):
    """Return a ribbon's four ends: left from and to, right from and to."""
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", ribbon.path)]
    return numbers[1], numbers[-1], numbers[7], numbers[9]


def test_rows_are_beside_the_card_of_their_zone():
    task, gone, kept, summary = (build.user(text) for text in ("task", "gone", "kept", "[Summary]"))
    drawn = flow(compare(messages([task, gone, kept]), messages([task, summary, kept])))

    assert [line.kind for line in drawn.lines] == ["first", "summary", "recent"]
    assert [(card.zone.kind, card.span) for card in drawn.cards] == [
        ("first", 2),
        ("summary", 3),
        ("recent", 2),
    ]
    assert drawn.rest == 4
    assert [ribbon.css for ribbon in drawn.ribbons] == ["first", "summary", "recent"]
    places = [[round(each / 100 * 7) for each in ends(ribbon)] for ribbon in drawn.ribbons]
    assert places == [[0, 1, 0, 2], [1, 2, 2, 5], [2, 3, 5, 7]]


@given(SOME, SOME)
def test_rows_cards_and_ribbons_fit_the_grid(before, after):
    drawn = flow(compare(messages(before), messages(after)))

    assert len(drawn.lines) <= ROWS_MAX
    assert len(drawn.lines) + drawn.rest >= sum(card.span for card in drawn.cards)
    assert all(card.span <= SPAN_MAX for card in drawn.cards)
    shown = sum(1 if line.row else line.folded for line in drawn.lines)
    assert shown == len(drawn.comparison.rows)
    for ribbon in drawn.ribbons:
        left, left_end, right, right_end = ends(ribbon)
        assert -0.5 <= left <= left_end <= 100.5
        assert -0.5 <= right <= right_end <= 100.5


def test_the_sheet_has_a_rule_for_every_height_of_a_card():
    css = " ".join(SHEET.read_text().split())

    assert [
        n for n in range(2, SPAN_MAX + 1) if f'[data-span="{n}"] {{ grid-row: span {n}; }}' not in css
    ] == []
