"""Captured spans with hostile values in random places break nothing: not the reader, nor either database."""

import json
import random
from copy import deepcopy

import pytest

from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

TEXTS = [
    "",
    "\x00",
    "a\x00b\x1b[31m",
    "\ud800",
    "\u202egpj.exe",
    "<script>window.__pwned=1</script>",
    "<img src=x onerror=window.__pwned=1>",
    "]]>&quot;'`{{7*7}}{% debug %}${7*7}",
    "../../../etc/passwd",
    "javascript:alert(1)",
    "null",
    "[",
    "[[]]",
    '{"role":1,"parts":{"type":[]}}',
    '[{"role":"assistant","parts":[{"type":"tool_call","id":7,"name":{},"arguments":"{"}]}]',
    "[" * 300 + "]" * 300,
    "NaN",
    "1e999",
    "-1",
    "9" * 400,
    "x" * 20_000,
    "\U0001f469\u200d\U0001f4bb" * 50,
    "2026-13-45T99:99:99Z",
]
NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400, 0.1, -0.0, 1e308, 5e-324]
OTHERS = [None, True, False, [], {}, [None], {"": None}, [[[]]], {"stringValue": 1}, {"arrayValue": None}]
VALUES = [
    {"stringValue": "x"},
    {"intValue": "9223372036854775807"},
    {"intValue": "-9223372036854775808"},
    {"intValue": "nine"},
    {"doubleValue": "NaN"},
    {"doubleValue": "-Infinity"},
    {"boolValue": "true"},
    {"bytesValue": "!!"},
    {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}, {}, None]}},
    {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}, {"key": "a"}, {}]}},
    {},
]


def places(node, found, path=()):
    """Collect the path of every value below a node, also in JSON that a text holds."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        found.append((*path, key))
        places(child, found, (*path, key))
    return found


def mutated(line, rng):
    """Return a line with one to three values replaced, removed, or repeated."""
    request = json.loads(line)
    for _ in range(rng.randint(1, 3)):
        _mutate(request, rng)
    return json.dumps(request, ensure_ascii=rng.random() < 0.5 or "\\ud800" in json.dumps(request)).encode()


def _mutate(request, rng):
    *path, last = rng.choice([each for each in places(request, []) if len(each) > 3])
    node = request
    for key in path:
        node = node[key]
    kept = node[last]
    if isinstance(kept, str) and kept[:1] in "[{" and rng.random() < 0.7:
        try:
            inner = json.loads(kept)
        except ValueError:
            inner = None
        if inner_places := places(inner, []):
            *inner_path, inner_last = rng.choice(inner_places)
            inner_node = inner
            for key in inner_path:
                inner_node = inner_node[key]
            inner_node[inner_last] = _hostile(rng)
            node[last] = json.dumps(inner)
            return
    match rng.randint(0, 5):
        case 0 if isinstance(node, dict):
            del node[last]
        case 1 if isinstance(node, list):
            node.append(deepcopy(kept))
        case _:
            node[last] = _hostile(rng)


def _hostile(rng):
    return deepcopy(rng.choice(rng.choice([TEXTS, NUMBERS, OTHERS, VALUES])))


@pytest.mark.parametrize("capture", captures.CAPTURES)
def test_a_mutated_capture_is_recorded_or_rejected(project, capture):
    rng = random.Random(capture)
    for batch in captures.lines(capture):
        sent = [mutated(line, rng) if rng.random() < 0.5 else line for line in batch]
        captures.record(project, sent)  # raises where our code does

    recorded = captures.shape(project)
    assert list(findings()) == []
    rebuild(project)
    assert captures.shape(project) == recorded
