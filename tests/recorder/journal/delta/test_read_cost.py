"""Reading a line costs what the line costs: copies nest to a bounded depth, however long a loop is."""

import json
from datetime import date
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.journal.delta.dedup_window import STATES, Window
from recorder.journal.delta.encoding import LOCAL, OWN, WHOLE, SourceSize, Stored, fault, restore
from recorder.journal.delta.state_chain import DEPTH, ancestors, follow, parent
from tests.support import build
from tests.support.long_loop import LongLoop

DAY = date(2026, 2, 11)
MESSAGE_DEPTH = 2


def copies(line, row):
    """Return the copies of a row as pairs: the source, and the part of it that is copied."""
    elements = [element for element in json.loads(row.pieces or "[]") if isinstance(element, list)]
    return [(line - element[0], element[3] if len(element) == 4 else WHOLE) for element in elements]


def followed(line, rows, part=WHOLE):
    """Return the copies that are followed when a part of a line is read."""
    found = copies(line, rows[line])
    return [copy for copy in found if part == WHOLE or (part == LOCAL and copy[1] == OWN)]


def depth(line, rows):
    """Return how many levels of sources are read for a line."""

    @cache
    def levels(line, part):
        return max((1 + levels(*copy) for copy in followed(line, rows, part)), default=0)

    return levels(line, WHOLE)


def read_rows(line, rows):
    """Return the lines whose rows are read for a line."""
    needed, new = set(), {(line, WHOLE)}
    while new:
        needed |= new
        new = {copy for source, part in new for copy in followed(source, rows, part)} - needed
    return {source for source, _ in needed}


def store(lines):
    """Return lines with their kinds, and their rows as one window stores them."""
    window = Window(DAY)
    kinds, rows = {}, {}
    for n, raw in enumerate(lines, 1):
        event = json.loads(raw)
        kinds[n] = event["type"]
        rows[n] = Stored(*window.store(n, raw, event["type"], event.get("loop_id")))
    return kinds, rows


def check(lines, kinds, rows):
    """Assert that lines are restored, copies lie inside their sources, and the depth is bounded."""
    assert [text for _, text in restore(rows)] == lines
    near = {n: SourceSize(len(raw), len(rows[n].own), rows[n].pieces) for n, raw in enumerate(lines, 1)}
    for n, row in rows.items():
        assert fault(n, near[n].size, len(row.own), row.pieces, near) is None
        assert depth(n, rows) <= (DEPTH if kinds[n] in STATES else MESSAGE_DEPTH)


@cache
def stored_loop(turns):
    """Return the kinds and rows of a loop without deltas."""
    return store(LongLoop(turns).lines())


@pytest.fixture(scope="module", params=[50, 400])
def loop(request):
    """A loop of some turns, stored."""
    lines = list(LongLoop(request.param, deltas=2).lines())
    return request.param, lines, *store(lines)


def test_lines_of_a_long_loop_are_restored_and_their_depth_is_bounded(loop):
    _, lines, kinds, rows = loop

    check(lines, kinds, rows)


def test_a_line_that_is_no_state_reads_the_rows_of_its_copies_and_of_its_messages(loop):
    _, _, kinds, rows = loop

    for n, row in rows.items():
        if kinds[n] not in STATES:
            direct = copies(n, row)
            messages = {source for source, part in direct if part == WHOLE}
            most = 2 + len(direct) + sum(len(copies(source, rows[source])) for source in messages)
            assert len(read_rows(n, rows)) <= most


@pytest.mark.parametrize("kind", ["TurnEnd", "MessageEnd", "ToolExecutionStart", "ToolExecutionEnd"])
def test_the_last_lines_of_a_long_loop_read_as_few_rows_as_those_of_a_short_one(kind):
    def rows_of_last(turns):
        kinds, rows = stored_loop(turns)
        return len(read_rows(max(n for n, each in kinds.items() if each == kind), rows))

    assert rows_of_last(400) == rows_of_last(50)


def test_the_last_request_of_a_loop_reads_rows_in_proportion_to_its_messages(loop):
    turns, _, kinds, rows = loop
    last = max(n for n, kind in kinds.items() if kind == "TurnRequest")

    assert len(read_rows(last, rows)) <= 5 * turns


@given(
    st.lists(
        st.tuples(st.sampled_from(("append", "change", "drop", "other")), st.integers(0, 60)), max_size=80
    )
)
def test_states_that_grow_change_and_shrink_are_restored_and_nest_to_a_bounded_depth(steps):
    parts, lines = [f"{n} {'abc' * n}" for n in range(60)], []
    for n, (step, at) in enumerate(steps):
        if step == "append":
            parts.append(f"appended {n} {'xyz' * at}")
        elif step == "change":
            parts[at % len(parts)] = f"changed {n} {'uvw' * at}"
        elif step == "drop" and len(parts) > 10:
            del parts[at % len(parts)]
        loop = "s.b.1" if step == "other" else "s.a.1"
        event = {"type": "TurnRequest", "loop_id": loop, "turn_index": n}
        lines.append(build.line({**event, "payload": {"messages": [{"text": part} for part in parts]}}))

    check(lines, *store(lines))


def test_ten_thousand_states_have_a_bounded_depth_and_a_parent_that_is_an_ancestor():
    chain = ()
    match = (0, 100, 0, 0, WHOLE)
    for line in range(10_000):
        above = ancestors(chain) if chain else ()
        if chain:
            assert above[-1][0] == parent(chain[-1][0] + 1)
        chain = follow(chain, line, 1, [match])
        assert len(chain) <= DEPTH
    assert chain[-1][0] == 9_999


@pytest.mark.parametrize("kind", ["MessageUpdate", "SourceEvent"])
def test_a_streaming_text_of_many_updates_has_a_bounded_depth(kind):
    text = " ".join(str(n) for n in range(3000))
    lines = [build.line({"type": kind, "message": build.assistant(text[:n])}) for n in range(0, 12_000, 20)]
    kinds, rows = store(lines)

    check(lines, kinds, rows)
