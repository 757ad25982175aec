"""The number of keys and values of a line, and what is refused because of it before it is parsed."""

import json
from itertools import cycle, islice

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.formats import EVENT_VALUES, InvalidLineError, Limits, native
from recorder.core.formats.base import parse as parse_foreign
from recorder.core.formats.base import parse_arguments
from recorder.core.formats.structure import has_more_values
from tests.support import build
from tests.support.foreign_tapes import TAPES

RECORDED = sorted((TAPES / "phi-core").glob("*.events.jsonl"))
TEXT = st.text() | st.sampled_from(['"', "\\", '\\"', ",:[{", '"a":[1,', "\\\\,"])
VALUES = st.recursive(
    st.none() | st.integers() | TEXT,
    lambda inside: st.lists(inside) | st.dictionaries(TEXT, inside),
    max_leaves=20,
)


def counted(value):
    """Return the number of keys and values inside a value; an empty list or object counts twice."""
    if isinstance(value, dict):
        return sum(2 + counted(inside) for inside in value.values()) or 1
    if isinstance(value, list):
        return sum(1 + counted(inside) for inside in value) or 1
    return 0


@pytest.fixture
def parsers(monkeypatch):
    """The parsers, which fail where they are called."""

    def parser(*_args, **_options):
        raise AssertionError("the line is parsed")

    monkeypatch.setattr(native, "from_json", parser)
    monkeypatch.setattr(native, "_load", parser)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_keys_and_values_are_counted_whatever_texts_hold(value, indent, ascii_only):
    text = json.dumps([value], indent=indent, ensure_ascii=ascii_only).encode(errors="surrogatepass")

    assert not has_more_values(text, counted([value]))
    assert has_more_values(text, counted([value]) - 1)


@pytest.mark.parametrize("values", ["1,", "[],", "{},", '"",', '"k":1,', "[[", '{"a":', '"":'])
def test_a_line_of_more_values_than_allowed_is_refused_before_it_is_parsed(parsers, values):
    line = b'{"type":"X","x":[' + values.encode() * EVENT_VALUES + b"1]}"

    for parse in (native.parse, parse_foreign):
        with pytest.raises(InvalidLineError, match=f"too_large.*{EVENT_VALUES} keys and values"):
            parse(line)


def test_a_message_of_more_values_than_allowed_is_refused_before_it_is_parsed(parsers):
    line = build.line(build.message_end("s.a.1") | {"message": {"content": list(range(EVENT_VALUES))}})

    [refused] = native.parse_all([line])

    assert refused.code == "too_large"


def test_as_many_values_as_allowed_are_parsed():
    line = json.dumps({"type": "X", "x": [1] * 50}).encode()

    with pytest.raises(InvalidLineError, match="too_large"):
        native.parse(line, limits=Limits(event_values=53))
    assert native.parse(line, limits=Limits(event_values=54)).name == "X"


@pytest.mark.parametrize(
    ("more", "code"),
    [('"end":1', None), ('"x":{"a":1,"a":2}', None), ('"type":"Y"', "dup_key"), ('"end":":,\\""', None)],
)
def test_of_very_many_keys_duplicates_are_found_without_the_check_of_jiter(monkeypatch, more, code):
    def from_json(text, *, catch_duplicate_keys, **options):
        assert not catch_duplicate_keys
        return jiter.from_json(text, catch_duplicate_keys=False, **options)

    monkeypatch.setattr(native, "from_json", from_json)
    keys = ",".join(f'"key{number}":{number}' for number in range(30_000))
    line = f'{{"type":"X",{keys},{more}}}'.encode()

    [parsed] = native.parse_all([line])

    assert (parsed.code if isinstance(parsed, InvalidLineError) else None) == code
    assert code or native.read_object(line) == json.loads(line)


def test_a_text_that_is_full_of_json_is_one_value():
    line = json.dumps({"type": "X", "x": '[{"a":1},' * 400_000}).encode()

    assert len(line) > 4_000_000
    assert native.parse(line, limits=Limits(event_bytes=10**7)).name == "X"


@pytest.mark.parametrize("tape", RECORDED, ids=lambda tape: tape.stem)
def test_a_request_of_seven_thousand_recorded_messages_is_accepted(tape):
    events = map(json.loads, tape.read_text().splitlines())
    messages = cycle([event["message"] for event in events if event["type"] == "MessageEnd"])
    request = {"type": "TurnRequest", "messages": list(islice(messages, 7_000))}

    assert not has_more_values(json.dumps(request).encode(), EVENT_VALUES)


def test_arguments_of_more_values_than_allowed_stay_a_text():
    short, long = ("[" + "1," * number + "1]" for number in (9, EVENT_VALUES))

    assert parse_arguments(short) == [1] * 10
    assert parse_arguments(long) == long
    assert parse_arguments("\ud800") == "\ud800"
