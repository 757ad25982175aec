"""The stored form of a line: what each kind of copy addresses, and which faults are found."""

import json
from datetime import UTC, datetime

import pytest

from recorder.journal import read
from recorder.journal.delta.encoding import SourceSize, Stored, fault, restore, sources
from recorder.models import JournalEvent, Producer, Project

# Line 4 has three local stretches: 0 to 8, 10 to 17, 20 to 21.
ROWS = {
    1: Stored(b"abcdefgh"),
    2: Stored(b"..", "[2,[1,0,4,0],[1,2,3]]"),  # ..abcdcde
    4: Stored(b"-xyz++", "[[3,0,8,0],[2,0,2],1,[3,0,2,0],3,1,[2,6,3],1]"),
}
LINES = {1: b"abcdefgh", 2: b"..abcdcde", 4: b"abcdefgh..-abxyz+cde+"}


def near(rows, lines):
    return {n: SourceSize(len(lines[n]), len(row.own), row.pieces) for n, row in rows.items()}


def test_copies_of_whole_lines_and_of_literals_are_restored():
    assert dict(restore(ROWS)) == LINES
    assert sources(4, ROWS[4].pieces) == {1, 2}


def test_a_literal_copy_needs_the_row_of_its_source_alone():
    rows = {4: Stored(b"-xyz+", "[[3,0,2,0],1]"), 6: Stored(b"<>", "[1,[2,1,3,0],1]")}

    assert dict(restore(rows, {6})) == {6: b"<xyz>"}


def test_a_local_copy_needs_its_source_and_the_rows_of_that_source_s_literals():
    rows = {n: ROWS[n] for n in (1, 4)} | {6: Stored(b"", "[[2,10,6,1],[2,20,1,1],[2,2,3,1]]")}

    assert dict(restore(rows, {6})) == {6: b"-abxyz" + b"+" + b"cde"}


@pytest.mark.parametrize(
    ("pieces", "is_right"),
    [
        ("[[2,10,6,1]]", True),
        ("[[2,10,8,1]]", False),  # beyond the end of the stretch
        ("[[2,17,1,1]]", False),  # within a copy of a whole line
        ("[[2,20,2,1]]", False),
        ("[[5,0,8,1]]", True),  # a line without copies is one stretch
        ("[[5,0,9,1]]", False),
        ("[[2,0,6,0]]", True),
        ("[[2,0,7,0]]", False),
        ("[[2,0,21]]", True),
        ("[[2,0,22]]", False),
        ("[[3,0,1]]", False),  # no such line
        ("[[0,0,1]]", False),
    ],
)
def test_a_copy_is_checked_against_the_bytes_that_it_addresses(pieces, is_right):
    known = near(ROWS, LINES)
    size = json.loads(pieces)[0][2]

    assert (fault(6, size, 0, pieces, known) is None) is is_right


def test_sizes_that_do_not_add_up_are_faults():
    assert fault(6, 3, 1, "[[5,0,2,0],1]", near(ROWS, LINES)) is None
    assert "stored bytes" in fault(6, 3, 2, "[[5,0,2,0],1]", near(ROWS, LINES))
    assert "size" in fault(6, 4, 1, "[[5,0,2,0],1]", near(ROWS, LINES))


@pytest.mark.django_db
def test_the_query_follows_copies_no_further_than_they_need():
    project = Project.objects.create(slug="p")
    producer = Producer.objects.create(project=project, name="p")
    rows = {
        **ROWS,
        5: Stored(b"56789", "[[4,0,1,0],[1,0,21],5]"),
        6: Stored(b"", "[[2,10,6,1]]"),
        7: Stored(b"", "[[2,0,5,0]]"),
    }
    for n, row in rows.items():
        JournalEvent.objects.create(
            pk=1000 + n,
            project=project,
            producer=producer,
            seq=n,
            received_at=datetime(2026, 2, 11, tzinfo=UTC),
            **row._asdict(),
        )

    def needed(line):
        found = read._stored([1000 + line])
        return {row - 1000 for row in found.rows}, {row - 1000 for row in found.whole}

    assert needed(5) == ({1, 2, 4, 5}, {5, 1, 2, 4})
    assert needed(6) == ({1, 4, 6}, {6})
    assert needed(7) == ({5, 7}, {7})
    assert read.texts([1006, 1004, 1007]) == {1004: LINES[4], 1006: b"-abxyz", 1007: b"56789"}
