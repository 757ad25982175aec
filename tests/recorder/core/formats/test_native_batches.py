"""A batch of lines is parsed as each line alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.formats import InvalidLineError, Limits
from recorder.core.formats.native import parse, parse_all
from tests.recorder.core.formats.test_native import VALUES
from tests.support import build

_HEADS = ['{"type":"MessageStart",', '{"type":"MessageEnd",', '{"type": "MessageStart",', '{"type":"Notice",']
_RESTS = [
    '"loop_id":"l","message":{"role":"user"}}',
    '"loop_id":"l","message":{"role":"user"}} ',
    '"loop_id":"l","message":{"type":"MessageStart","a":1,"a":2}}',
    '"loop_id":"l","message":null,"message_id":"m"}',
    '"loop_id":"l","message":null,"message_id":7}',
    '"loop_id":"l","message":null,"message_id":"m","message_id":"n"}',
    '"loop_id":"l","message":null,"type":"MessageEnd"}',
    '"loop_id":"l","message":null,"\\u0074ype":"MessageStart"}',
    '"loop_id":"l","message":1e999}',
    '"loop_id":"l","message":NaN}',
    '"loop_id":"l","message":"\\ud800"}',
    '"loop_id":"long","message":[[[[[[]]]]]]}',
    '"loop_id":"","message":null}',
    '"loop_id":"l","message":}',
    '"loop_id":"l","message": [] }',
    '"loop_id":"l","message":1},{"x":2}',
    '"loop_id":"a b","message":1}',
    '"loop_id":"a\\u0020b","message":1}',
    '"loop_id":"\u00fcber","message":1}',
    '"loop_id":"a\tb","message":1}',
    '"loop_id":"l"}',
    "",
]
_LIMITS = st.builds(Limits, st.integers(60, 90), st.integers(4, 8), st.integers(1, 4)) | st.just(Limits())


@given(st.lists(st.builds(str.__add__, st.sampled_from(_HEADS), st.sampled_from(_RESTS))), _LIMITS)
def test_a_batch_is_parsed_as_its_lines_are_one_by_one(lines, limits):
    lines = [line.encode() for line in lines]

    assert list(map(_outcome, parse_all(lines, limits=limits))) == [_alone(line, limits) for line in lines]


@pytest.mark.parametrize("rest", _RESTS)
@given(_LIMITS)
def test_a_message_with_equal_start_and_end_is_parsed_as_alone(rest, limits):
    lines = [f'{{"type":"{kind}",{rest}'.encode() for kind in ("MessageStart", "MessageEnd")]

    assert list(map(_outcome, parse_all(lines, limits=limits))) == [_alone(line, limits) for line in lines]


_TEXTS = VALUES.map(json.dumps) | st.text('"\\\\[]{},:1eN. tufal\u00fc\ud800', max_size=12)


@given(st.lists(st.tuples(st.sampled_from(_HEADS), _TEXTS | st.sampled_from(["null", "[]"])), max_size=4))
def test_any_message_in_a_batch_is_parsed_as_alone(parts):
    texts = [f'{head}"loop_id":"l","message":{text}}}' for head, text in parts]
    lines = [text.encode(errors="surrogatepass") for text in texts]

    assert list(map(_outcome, parse_all(lines))) == [_alone(line, Limits()) for line in lines]


def test_a_message_with_equal_start_and_end_is_parsed_once():
    fields = {"loop_id": "l", "message": build.user()}
    lines = [build.line({"type": kind, **fields}) for kind in ("MessageStart", "MessageEnd")]

    start, end = parse_all(lines)

    assert (start.type, end.type) == ("MessageStart", "MessageEnd")
    assert start.message is end.message


def _alone(line, limits):
    try:
        return _outcome(parse(line, limits=limits))
    except InvalidLineError as error:
        return _outcome(error)


def _outcome(read):
    return (read.code, read.path, read.message) if isinstance(read, InvalidLineError) else read
