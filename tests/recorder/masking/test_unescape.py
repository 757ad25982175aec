"""The levels of a line: decoded as JSON is, with offsets that lead back to the line."""

import json

from hypothesis import given
from hypothesis import strategies as st

from recorder.masking.unescape import texts_of, unescape

TEXT = st.text('abAnru0041/\\"\n\t\0é€😀')
LONG = st.text('a\\\n"', min_size=300, max_size=600)  # more escapes than a portion has


@given(TEXT, st.booleans())
def test_a_string_is_decoded_as_json_decodes_it(text, is_ascii):
    assert unescape(json.dumps(text, ensure_ascii=is_ascii)[1:-1].encode()) == text.encode()


@given(TEXT, st.integers(1, 4), st.booleans())
def test_text_quoted_several_times_is_found_in_one_of_the_levels(text, times, is_ascii):
    line = f"<{text}>"
    for _ in range(times):
        line = json.dumps({"q": line}, ensure_ascii=is_ascii)
    assert any(f"<{text}>".encode() in level.content for level in texts_of(line.encode()))


@given(TEXT | LONG, st.integers(1, 2))
def test_offsets_lead_to_what_decodes_to_the_same(text, times):
    line = "é" + text
    for _ in range(times):
        line = json.dumps([line])
    raw = line.encode()
    for level, found in enumerate(texts_of(raw), 1):
        for at in range(len(found.content)):
            start, end = found.line_span(at, at + 1)
            decoded = raw[start:end]
            for _ in range(level):
                decoded = unescape(decoded)
            assert found.content[at] in decoded


def test_a_line_without_escapes_is_its_only_level():
    assert [text.content for text in texts_of(b'{"a": 1}')] == [b'{"a": 1}']


def test_what_is_no_escape_of_json_stays():
    assert unescape(rb"\d \x41 \ud83d \u12 \ ") == rb"\d \x41 \ud83d \u12 \ "
