"""Lines above the limit keep the head and tail of their long texts."""

import json

import pytest

from loopscope_client.transcripts.lines import WHOLE_MAX, prepared, read_line
from loopscope_client.transcripts.long_lines import KEPT, LINE_MAX, cut


def test_a_line_within_the_limit_stays_as_it_is():
    line = b'{"text":"%s"}' % (b"x" * (LINE_MAX - 20))
    assert cut(line) is line


@pytest.mark.parametrize("letter", ["x", "中", '"', "\\", "\u0000", "😀"])
def test_a_long_text_keeps_its_head_and_tail_and_says_how_much_is_missing(letter):
    text = "head " + letter * (LINE_MAX + 10) + " tail"
    line = json.dumps({"type": "user", "id": "call", "content": text, "again": text}).encode()
    fields = json.loads(short := cut(line))
    assert len(short) <= LINE_MAX
    assert fields["content"].startswith("head ")
    assert fields["content"].endswith(" tail")
    left_out = len(text) - KEPT[[len(fields["content"]) > kept for kept in KEPT].index(True)]
    assert (
        f"[loopscope: {left_out} characters were left out here; the line had {len(line)} bytes]"
        in short.decode()
    )
    assert fields | {"content": "", "again": ""} == {"type": "user", "id": "call", "content": "", "again": ""}


def test_many_texts_are_cut_more():
    line = json.dumps({"type": "user", "content": ["x" * 100_000] * 100}).encode()
    assert len(cut(line)) <= LINE_MAX
    assert len(json.loads(cut(line))["content"]) == 100


def test_of_a_line_of_short_texts_the_beginning_is_sent_and_too_long():
    line = json.dumps(["x" * 9] * (LINE_MAX // 8)).encode()
    assert len(cut(line)) == LINE_MAX + 2
    assert line.startswith(cut(line).rstrip())


@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_line_without_an_end_in_sight_costs_no_memory(tmp_path, is_sparse):
    path = tmp_path / "f.jsonl"
    size = (1 << 40) if is_sparse else 2 * WHOLE_MAX
    with path.open("wb") as file:
        if not is_sparse:
            file.write(b"x" * size)
        file.seek(size)
        file.write(b'\n{"a":1}\n')
    with path.open("rb") as file:
        raw, following = read_line(file), read_line(file)
    assert (raw.length, raw.has_end, raw.is_whole, len(raw.text)) == (size + 1, True, False, LINE_MAX + 2)
    (sent,) = prepared(raw)
    assert len(sent.sent) == LINE_MAX + 2, "which the server rejects as too long"
    assert following.text == b'{"a":1}'
