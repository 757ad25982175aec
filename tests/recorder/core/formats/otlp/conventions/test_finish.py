"""The finish reason of a call, in whichever form a sender wrote it."""

import json

import pytest

from recorder.core.formats.otlp.spans.finish import finish_reason


@pytest.mark.parametrize("value", [
    *("stop", ["stop"], '["stop"]', "['stop', 'length']", "('stop',)", "stop,length", [["stop"]]),
    *({"unified": "stop", "raw": "x"}, json.dumps({"type": "stop"}), [{"reason": "stop"}]),
])  # fmt: skip
def test_a_reason_is_the_first_one(value):
    assert finish_reason(value) == "stop"


@pytest.mark.parametrize("value", [None, "", [], [None], "None", "null", ["null"], {}, {"other": "stop"}])
def test_words_for_none_are_no_reason(value):
    assert finish_reason(value) == ""


def test_an_enum_is_its_name():
    assert finish_reason("FinishReason.MAX_TOKENS") == "MAX_TOKENS"
