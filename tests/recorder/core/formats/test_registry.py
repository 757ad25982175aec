"""The list of formats: names, readers, tapes and detection."""

import json
from pathlib import Path

import pytest

from recorder.core.formats import registry
from recorder.core.formats.base import strip_sse_framing
from recorder.core.formats.registry import FORMATS, READERS, SENT, SOURCE_OF
from recorder.core.sources import CLIENT, NATIVE, OTLP, SOURCES

TAPES = Path(__file__).parents[3] / "tapes"


def first_object(path):
    for line in path.read_bytes().splitlines():
        if line.strip() and not line.startswith((b"event:", b"id:", b"retry:")):
            return json.loads(strip_sse_framing(line))
    raise AssertionError(f"{path} holds no object")


def test_a_format_has_one_name_and_foreign_ones_a_reader():
    assert len({each.name for each in FORMATS}) == len(FORMATS)
    assert [each.name for each in FORMATS if each.reader is None] == ["native", OTLP]  # it reads batches
    assert {*SENT, *READERS, OTLP} == set(SOURCE_OF)
    assert {*SOURCE_OF.values(), CLIENT} == {*SOURCES}


@pytest.mark.parametrize("source", [source for source in SOURCES if source not in (NATIVE, CLIENT)])
def test_each_foreign_source_has_a_tape(source):
    assert [path for path in (TAPES / source).rglob("*") if path.is_file()] != []


@pytest.mark.parametrize(
    "path",
    [path for name in SENT for path in (TAPES / name).glob("*") if path.suffix in {".jsonl", ".sse"}],
    ids=lambda path: path.name,
)
def test_a_format_is_detected_by_the_first_object(path):
    assert registry.detect(first_object(path)) == path.parent.name


def test_a_native_event_is_detected_as_no_foreign_format():
    assert registry.detect(first_object(TAPES / "hostile.events.jsonl")) is None
