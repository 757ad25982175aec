"""A frame is read line by line: every line as it came, blank ones are none."""

import pytest

from recorder.ingest.websocket.frames import BadFrame, Lines, read
from recorder.journal.batch import lines_of


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"", []),
        (b"\n\n \t\r\n", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"\na\r\n\nb", [b"a\r", b"b"]),
        (b"a\rb\x0bc\x0cd\xe2\x80\xa8e\n", [b"a\rb\x0bc\x0cd\xe2\x80\xa8e"]),
    ],
)
def test_a_line_ends_at_a_newline_and_nowhere_else(body, lines):
    assert lines_of(body) == lines


def test_the_lines_of_a_frame_follow_its_header_or_begin_it():
    header, events = '{"op":"events","first":7,"n":2}', '{"type":"ü"}\n\n{"type":"b"}\n'
    lines = ['{"type":"ü"}'.encode(), b'{"type":"b"}']

    framed = read(f"\r\n{header}\n{events}", is_bare=False)
    bare = read(f"\n{events}", is_bare=False)

    assert isinstance(framed, Lines)
    assert (framed.first, framed.lines) == (7, lines)
    assert isinstance(bare, Lines)
    assert (bare.first, bare.lines) == (None, lines)


def test_a_header_that_counts_other_lines_than_there_are_is_refused():
    with pytest.raises(BadFrame, match="which is 1"):
        read('{"op":"events","first":0,"n":2}\n{"type":"a"}', is_bare=False)
