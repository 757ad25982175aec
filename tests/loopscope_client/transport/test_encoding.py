"""Every value becomes one line of JSON."""

import json
from datetime import UTC, datetime

import pytest

from loopscope_client.transport.encoding import DEPTH, line_of, shortened
from recorder.core.formats.native import parse


class Broken:
    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (float("nan"), None),
        ([1.5, float("inf"), -float("inf")], [1.5, None, None]),
        ({1: "a", (2, 3): "b"}, {"1": "a", "(2, 3)": "b"}),
        (
            datetime(2026, 1, 1, tzinfo=UTC),
            "datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)",
        ),
        (b"bytes", "b'bytes'"),
        (Broken(), "<Broken>"),
        ("\ud800 alone", "\ud800 alone"),
        pytest.param(10**5000, "<an integer of 16610 bits>", id="digits"),
        ("\n\x00\u2028", "\n\x00\u2028"),
    ],
)
def test_a_value_without_a_json_form_is_converted(value, becomes):
    line = line_of({"type": "Step", "value": value})

    assert b"\n" not in line
    assert json.loads(line)["value"] == becomes
    assert parse(line).name == "Step"


def test_a_circular_value_ends():
    around = {}
    around["again"] = [around]

    assert "..." in json.loads(line_of({"value": around}))["value"]["again"][0]


def test_values_below_the_depth_limit_become_text():
    deep = value = []
    for _ in range(5_000):
        value.append([])
        value = value[0]

    parse(line_of({"type": "Step", "value": deep}))
    assert line_of({"value": deep}).count(b"[") <= DEPTH + 10_000


def test_a_shortened_event_keeps_its_ids_and_counts():
    usage = {"input": 1, "output": 2}
    end = {
        "type": "AgentEnd",
        "loop_id": "s.a.1",
        "timestamp": "2026-01-01T00:00:00Z",
        "usage": usage,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x" * 500}]}] * 20_000,
    }

    line = shortened(line_of(end), 100_000)

    assert len(line) <= 100_000
    event = parse(line)
    assert (event.loop_id, event.usage.input, event.usage.output) == ("s.a.1", 1, 2)
    assert json.loads(line)["cut_from_bytes"] > 10_000_000
