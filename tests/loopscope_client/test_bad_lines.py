"""Damaged lines of transcripts: what is whole in them is a line, and so is each remainder."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopscope_client.transcripts import bad_lines
from loopscope_client.transcripts.bad_lines import PARTS_MAX, RECORDS_MAX, whole_lines


def record(text, **more):
    fields = {"type": "user", "sessionId": "s", "message": {"content": [{"type": "text", "text": text}]}}
    return json.dumps(fields | more, ensure_ascii=False).encode()


A, B, C = record("Alpha"), record('} {"type": 中'), record("Gamma", timestamp="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (A, [A]),
        (B, [B]),
        (b"\xef\xbb\xbf" + A, [A]),
        (A + B, [A, B]),
        (A + b" \t" + B + C, [A, B, C]),
        (A[:29] + B, [A[:29], B]),
        (A[:-1] + B, [A[:-1], B]),
        (A + B[:20], [A, B[:20]]),
        (b"\0" * 400, [b"\0" * bad_lines.NULS]),
        (b"\0" * 9 + A, [b"\0" * 9, A]),
        (A + b"\0" * 9 + B, [A, b"\0" * 9, B]),
        (A[:29] + b"\0" * 9 + B[9:] + C, [A[:29], b"\0" * 9, B[9:], C]),
        (A[:29], [A[:29]]),
        (b"null", [b"null"]),
        (b"{bad}", [b"{bad}"]),
        (b'{"type":{"a":1}}', [b'{"type":{"a":1}}']),
        (b"\xff\xfe\xfd", [b"\xff\xfe\xfd"]),
    ],
)
def test_records_and_remainders_are_lines_of_their_own(line, found):
    assert whole_lines(line) == found


@pytest.mark.parametrize("text", ["Alpha", "中文", "é"])
@pytest.mark.parametrize(("encoding", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")])
def test_lines_of_utf_16_are_read(text, encoding, mark):
    lines = [record(text), record(f"{text}2"), record(f"{text}3")]
    whole = mark + b"\r\n".join(lines).decode().encode(encoding) + "\r\n".encode(encoding)
    parts = [part.removesuffix(b"\r") for part in whole.split(b"\n")]
    assert [each for part in parts if part.strip(b"\0") for each in whole_lines(part)] == lines


def test_an_object_inside_a_torn_record_is_no_record():
    inner = {"type": "text", "id": "t", "text": "x"}
    torn = json.dumps({"type": "user", "sessionId": "s", "message": {"content": [inner]}}).encode()[:-3]
    assert whole_lines(torn) == [torn]


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_nothing_is_lost_and_no_line_is_empty(line):
    line = line.replace(b"\n", b"")
    found = whole_lines(line)
    assert found
    assert all(each.strip() for each in found if line.strip())
    if b"\0" not in line and not line.startswith(bad_lines.BOM):
        assert _dense(b"".join(found)) == _dense(line)


def _dense(line):
    return bytes(each for each in line.replace(b"\xef\xbb\xbf", b"") if each not in b" \t\r\f\v")


@pytest.mark.parametrize("part", [b'{"', b'{"a":{"b":1},', b'{"type":"x","sessionId":"s"', b"[", b'{"a":"\0'])
def test_work_grows_with_the_line(part, monkeypatch):
    work = []
    found = bad_lines._record

    def counted(text, at):
        record, end = found(text, at)
        work.append(end - at + (end // bad_lines.COUNTED if record is None else 0))
        return record, end

    monkeypatch.setattr(bad_lines, "_record", counted)
    sums = []
    for times in (2000, 4000, 8000):
        work.clear()
        whole_lines(part * times)
        sums.append(sum(work) + len(part) * times)
    assert all(after <= 2.5 * before for before, after in pairwise(sums)), sums


@pytest.mark.parametrize(
    "line",
    [b"x\0" * 10_000 + b"yy" * 10_000, b'{"":0}' * 20_000],
    ids=["runs of NUL", "records"],
)
def test_a_damaged_line_is_taken_apart_within_bounds(line):
    found = whole_lines(line)

    assert len(found) <= max(2 * PARTS_MAX, RECORDS_MAX) + 2
    assert b"".join(found) == line
