"""Native lines: accepted as phi-core accepts them, else rejected with a code."""

import json
from math import isfinite

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recorder.core.events import Notice, SourceEvent
from recorder.core.formats import DEFAULT_LIMITS, InvalidLineError, Limits
from recorder.core.formats.native import EVENT_TYPES, parse, read_object
from tests.phi_core.scenarios import TAPES, TOLERANCE, events
from tests.support import build

BAD = {
    "trailing comma": (b'{"type":"InputRejected","loop_id":"l","reason":"x",}', "bad_json"),
    "infinity": (b'{"type":"X","args":{"max":Infinity}}', "bad_json"),
    "nan": (b'{"type":"X","x":NaN}', "bad_json"),
    "byte order mark": (b'\xef\xbb\xbf{"type":"X"}', "bad_json"),
    "cut off": (b'{"type":"X"', "bad_json"),
    "two objects": (b'{"type":"X"}{"type":"X"}', "bad_json"),
    "raw newline in a string": (b'{"type":"X","x":"\n"}', "bad_json"),
    "not UTF-8": (b'{"type":"X","x":"\xff"}', "bad_utf8"),
    "a surrogate as bytes": (b'{"type":"X","x":"\xed\xa0\x80"}', "bad_utf8"),
    "a string": (b'"AgentStart"', "not_object"),
    "a list": (b"[]", "not_object"),
    "null": (b"null", "not_object"),
    "no type": (b'{"loop_id":"l"}', "bad_type"),
    "type is a number": (b'{"type":1}', "bad_type"),
    "type is empty": (b'{"type":""}', "bad_type"),
    "type twice": (b'{"type":"X","type":"Y"}', "dup_key"),
    "type twice, once escaped": (b'{"type":"X","\\u0074ype":"Y"}', "dup_key"),
    "usage twice inside": (
        b'{"type":"AgentEnd","loop_id":"l","messages":[],"usage":{"input":1,"input":2,"output":0}}',
        "dup_key",
    ),
    "129 deep": (b'{"type":"X","x":' + b"[" * 128 + b"]" * 128 + b"}", "too_deep"),
    "129 deep in objects": (b'{"x":' * 128 + b"{}" + b"}" * 128, "too_deep"),
    "a list's end and another's beginning": (b'{"type":"X","x":[' + b"[]," * 200 + b"[]]}],[{}", "bad_json"),
    "100,000 deep": (b'{"type":"X","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
}


@pytest.mark.parametrize("case", TOLERANCE, ids=lambda case: case["name"])
def test_we_are_never_stricter_than_phi_core(case):
    if case["accepted"]:
        assert parse(build.line(case["event"])).type == case["event"]["type"]


REJECTED_LIKE_PHI = {
    "ts no zone": "bad_timestamp",
    "ts int": "bad_timestamp",
    "usage float": "wrong_type",
    "usage missing output": "missing_field",
    "usage negative": "out_of_range",
    "tool end no is_error": "missing_field",
    "kind rerun no tag": "wrong_type",
    "trigger lowercase": "wrong_type",
}


@pytest.mark.parametrize("case", [c for c in TOLERANCE if not c["accepted"]], ids=lambda case: case["name"])
def test_values_that_phi_core_rejects_are_rejected_in_fields_and_accepted_in_content(case):
    if case["name"] in REJECTED_LIKE_PHI:
        assert code_of(build.line(case["event"])) == REJECTED_LIKE_PHI[case["name"]]
    else:
        assert parse(build.line(case["event"])).type == case["event"]["type"]


@pytest.mark.parametrize(("line", "code"), BAD.values(), ids=BAD)
def test_a_malformed_line_is_rejected_with_its_code(line, code):
    assert code_of(line) == code


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.name[:2])
def test_every_line_of_the_tapes_is_parsed(tape):
    assert all(not isinstance(parse(line), SourceEvent) for line in tape.read_bytes().splitlines())


def test_the_tapes_hold_all_nineteen_events_of_phi_core():
    types = {event["type"] for tape in TAPES for event in events(tape)}

    assert len(types) == 19
    assert types <= set(EVENT_TYPES)


@pytest.mark.parametrize(
    ("event", "path", "code"),
    [
        ({**build.turn_start(), "turn_index": 2**32}, "turn_index", "out_of_range"),
        ({**build.turn_start(), "turn_index": True}, "turn_index", "wrong_type"),
        ({**build.turn_start(), "turn_index": "0"}, "turn_index", "wrong_type"),
        ({**build.agent_end(), "usage": None}, "usage", "wrong_type"),
        ({**build.agent_end(), "usage": build.usage(2**53)}, "usage.input", "out_of_range"),
        ({**build.agent_start(), "config_snapshot": {"model": "m"}}, "config_snapshot", "missing_field"),
        ({**build.turn_start(), "loop_id": "a\tb"}, "loop_id", "bad_id"),
        ({**build.turn_start(), "loop_id": ""}, "loop_id", "bad_id"),
        ({**build.turn_start(), "loop_id": "x" * 513}, "loop_id", "bad_id"),
        ({**build.turn_start(), "loop_id": "ü" * 257}, "loop_id", "bad_id"),
        ({**build.turn_start(), "loop_id": "a\u202eb"}, "loop_id", "bad_id"),
        ({**build.turn_start(), "loop_id": "\ud800"}, "loop_id", "bad_id"),
        ({**build.turn_start(), "loop_id": None}, "loop_id", "wrong_type"),
        ({**build.turn_start(), "loop_id": 7}, "loop_id", "wrong_type"),
        ({**build.turn_start(), "timestamp": "yesterday"}, "timestamp", "bad_timestamp"),
        ({**build.turn_start(), "timestamp": "2026-02-30T00:00:00Z"}, "timestamp", "bad_timestamp"),
        (
            {**build.turn_start(), "timestamp": "2026-01-02T03:04:05.1234567891Z"},
            "timestamp",
            "bad_timestamp",
        ),
        ({**build.turn_start(), "timestamp": None}, "timestamp", "bad_timestamp"),
        ({"type": "Notice", "kind": "warning"}, "session_id", "missing_field"),
    ],
)
def test_fields_that_are_computed_with_are_validated(event, path, code):
    with pytest.raises(InvalidLineError) as raised:
        parse(build.line(event))

    assert (raised.value.code, raised.value.path) == (code, path)


@pytest.mark.parametrize(
    "content",
    ['"\\ud800"', '"\\u0000"', "1" * 5_000, "1e999", '{"a":1,"a":2}', "[" * 126 + "]" * 126, "null", '"hi"'],
    ids=["lone surrogate", "NUL", "huge integer", "huge float", "duplicate key", "127 deep", "null", "text"],
)
def test_content_may_be_anything(content):
    parse(f'{{"type":"MessageEnd","loop_id":"l","message":{content}}}'.encode())


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5_000], ids=["huge", "hugely negative", "long"])
def test_a_number_beyond_a_float_becomes_null(number):
    event = f'{{"type":"AgentStart","agent_id":"a","session_id":"s","loop_id":"l","metadata":[{number},1.5],'
    assert parse(f'{event}"timestamp":"2026-01-02T03:04:05Z"}}'.encode()).metadata == [None, 1.5]


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        (b"null", "the value is an object"),
        (b'{"input":1.5,"output":1}', "the value is a whole number"),
        (b'{"input":1e999,"output":1}', "the number is out of range"),
        (b'{"input":NaN,"output":1}', "NaN is not JSON"),
    ],
)
def test_the_reason_of_a_rejected_line_is_in_words_of_json(usage, message):
    with pytest.raises(InvalidLineError) as refusal:
        parse(build.line({**build.agent_end(), "usage": "U"}).replace(b'"U"', usage))

    assert refusal.value.message == message


@pytest.mark.parametrize("number", ["9007199254740992", "9" * 400, "9" * 5_000, "1e999"])
@pytest.mark.parametrize("rest", ["", ',"x":1,"x":2'], ids=["parsed by jiter", "parsed by json"])
@pytest.mark.parametrize(
    "event",
    [build.turn_start(), build.agent_end(), build.compaction_ended()],
    ids=lambda event: event["type"],
)
def test_a_count_that_is_too_large_is_out_of_range(event, number, rest):
    first = next(name for name in ("turn_index", "usage", "messages_before") if name in event)
    counted = {"input": "N", "output": 1} if first == "usage" else "N"
    line = build.line({**event, first: counted}).replace(b'"N"', number.encode())

    assert code_of(line[:-1] + rest.encode() + b"}") == "out_of_range"


def test_a_duplicate_key_of_an_unused_field_is_accepted():
    assert isinstance(parse(b'{"type":"Notice","loop_id":"l","kind":"k","zzz":1,"zzz":2}'), Notice)


def test_an_unknown_type_keeps_its_name_and_its_valid_ids():
    event = parse(b'{"type":"AgentPaused","loop_id":"l","session_id":"bad\\u0000"}')

    assert event == SourceEvent(source="native", name="AgentPaused", loop_id="l")


def test_a_line_larger_than_the_limit_is_rejected():
    with pytest.raises(InvalidLineError, match="too_large"):
        parse(build.line(build.agent_start()), limits=Limits(event_bytes=100))


@pytest.mark.parametrize(
    ("event", "path"),
    [
        ({**build.agent_start(), "agent_id": "12345678901"}, "agent_id"),
        ({**build.turn_start(), "loop_id": "\u00fc" * 6}, "loop_id"),
        (build.parallel_start("1", "12345678901"), "loop_ids"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_id_longer_than_the_limit_is_rejected(event, path):
    with pytest.raises(InvalidLineError) as raised:
        parse(build.line(event), limits=Limits(id_bytes=10))

    assert (raised.value.code, raised.value.path) == ("bad_id", path)
    assert parse(build.line(event))


def test_an_id_as_long_as_the_limit_is_accepted():
    assert parse(build.line({**build.turn_start(), "loop_id": "1234567890"}), limits=Limits(id_bytes=10))


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-02-11t10:00:00.123456789+01:00", "2026-02-11T09:00:00.123456+00:00"),
        ("2026-02-11 10:00:00.1z", "2026-02-11T10:00:00.100000+00:00"),
        ("2026-02-11T10:00:00-00:00", "2026-02-11T10:00:00+00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999+00:00"),
        ("2017-01-01T00:59:60.5+01:00", "2016-12-31T23:59:59.999999+00:00"),
    ],
)
def test_times_are_read_in_utc_and_cut_to_the_microsecond(text, utc):
    assert parse(build.line({**build.turn_start(), "timestamp": text})).timestamp.isoformat() == utc


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-11",
        "2026-02-11T10:00Z",
        "20260211T100000Z",
        "2026-W07-3T10:00:00Z",
        "2026-02-11T10:00:00",
        "2026-02-11T10:00:00,5Z",
        "2026-02-11T10:00:00+0100",
        "2026-02-11T10:00:00+01:00:30",
        "2026-02-11T10:60:60Z",
        "0001-01-01T00:00:00+01:00",
        "٢026-02-11T10:00:00Z",
    ],
)
def test_other_iso_8601_formats_are_rejected(text):
    assert code_of(build.line({**build.turn_start(), "timestamp": text})) == "bad_timestamp"


def test_brackets_in_strings_are_not_depth():
    parse(build.line({"type": "X", "x": "[{" * 500 + '"'}))


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_line_is_parsed_or_raises_invalid_line_error(line):
    code_of(line)


@given(
    st.dictionaries(
        st.sampled_from(["type", "loop_id", "timestamp", "usage", "message", "result"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=5)
        | st.sampled_from(sorted(EVENT_TYPES)),
    )
)
def test_any_fields_are_parsed_or_raise_invalid_line_error(fields):
    code_of(build.line(fields))


def code_of(line, limits=DEFAULT_LIMITS):
    try:
        parse(line, limits=limits)
    except InvalidLineError as error:
        return error.code
    return None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=10,
)


@given(st.dictionaries(st.text() | st.sampled_from(["type", "usage"]), VALUES))
def test_a_line_is_parsed_as_the_json_module_parses_it(fields):
    plain = json.dumps({**fields, "usage": {"input": 1}}, ensure_ascii=False, separators=(",", ":"))
    for text in (json.dumps(fields), json.dumps(fields, indent=1), plain):
        assert read_object(text.encode()) == json.loads(text)


_NUMBER = r"-?(0|[1-9][0-9]{0,320})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?"


@given(st.lists(st.from_regex(_NUMBER, fullmatch=True)))
@example(["9" * 308 + ".0", "9" * 309 + ".0", "1" * 300 + "e9", "9" * 4300, "0e9999", "1E400", "1e+309"])
def test_a_number_is_parsed_as_python_parses_it_or_is_null(numbers):
    for space in ("", " "):
        text = f'{{"x":[{space}{f"{space},{space}".join(numbers)}{space}]}}'
        assert repr(read_object(text.encode())["x"]) == repr([_number(text) for text in numbers])


def _number(text):
    value = json.loads(text)
    return value if isinstance(value, int) or isfinite(value) else None


@pytest.mark.parametrize("text", ['"', '\\"', "\\", '\\\\"', "[[[", '"[{', "\n[", "é]"])
def test_brackets_in_text_are_not_depth(text):
    line = json.dumps({"type": "X", text: [text] * 200, "x": [[text]]}).encode()
    deep = json.dumps({"type": "X", text: [text] * 200, "x": [[[text]]]}).encode()

    assert parse(line, limits=Limits(depth=3)).name == "X"
    with pytest.raises(InvalidLineError, match="too_deep"):
        parse(deep, limits=Limits(depth=3))


@given(VALUES, st.integers(1, 6), st.sampled_from(["", ',"y":1,"y":2']))
def test_a_line_is_too_deep_if_it_is_deeper_than_the_limit(value, most, duplicate):
    line = f'{{"type":"X","x":{json.dumps(value)}{duplicate}}}'

    assert code_of(line.encode(), Limits(depth=most)) == ("too_deep" if _depth(value) + 1 > most else None)


def _depth(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)
