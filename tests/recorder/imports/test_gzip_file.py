"""Compressed files of an import: read in linear time, within bounds on members and ratio."""

import gzip
import io
import zlib
from random import Random

import pytest

from recorder.imports import gzip_file
from recorder.imports.gzip_file import CHUNK, MEMBER_BYTES, MEMBERS, RATIO, OverBoundError, open_gzip
from recorder.models import EventRecord
from tests.recorder.imports.test_import_files import run
from tests.support.build import agent_start, line
from tests.support.count_calls import count_calls

TINY = gzip.compress(b"x", mtime=0)
NOISE = Random(14).randbytes(5 * CHUNK)


@pytest.fixture
def inflate(tmp_path):
    """Return a function that writes a file; it returns what the file inflates to."""

    def inflate(content, size=-1):
        path = tmp_path / "content.gz"
        path.write_bytes(content)
        with open_gzip(path) as file:
            return file.read(size)

    return inflate


@pytest.mark.parametrize("size", [0, 1, CHUNK - 50, CHUNK, 4 * CHUNK, 5 * CHUNK])
@pytest.mark.parametrize("padding", [b"", b"\0" * 9])
def test_members_of_every_size_are_read_as_the_gzip_module_reads_them(inflate, size, padding):
    content = b"".join(gzip.compress(NOISE[:size] + bytes([n])) for n in range(5)) + padding

    assert inflate(content) == gzip.decompress(content)


def test_lines_are_read_one_by_one_whatever_they_inflate_to(tmp_path):
    path = tmp_path / "lines.gz"
    lines = [b"a" * size + b"\n" for size in (0, 5, 70_000, 3_000_000, 1)]
    path.write_bytes(gzip.compress(b"".join(lines)))

    with open_gzip(path) as file:
        assert list(file) == lines


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (gzip.compress(NOISE)[:-9], EOFError),
        (gzip.compress(NOISE) + b"more", zlib.error),
        (gzip.compress(NOISE)[:-8] + bytes(8), zlib.error),
        (TINY[:3], EOFError),
        (b"\x1f\x8b\xffnothing", zlib.error),
    ],
)
def test_damage_is_an_error(inflate, content, error):
    with pytest.raises(error):
        inflate(content)


def test_a_file_may_have_some_tiny_members_and_many_of_the_usual_size(inflate):
    assert inflate(TINY * MEMBERS) == b"x" * MEMBERS
    member = gzip.compress(NOISE[:MEMBER_BYTES])
    assert len(inflate(member * 3 * MEMBERS)) == 3 * MEMBERS * MEMBER_BYTES


@pytest.mark.parametrize("mebibytes", [1, 4])
def test_a_file_of_tiny_members_is_refused_after_the_same_work(inflate, monkeypatch, mebibytes):
    inflated = []
    original = gzip_file._Inflated._inflate

    def counted(self, part, most):
        inflated.append(len(part))
        return original(self, part, most)

    monkeypatch.setattr(gzip_file._Inflated, "_inflate", counted)
    with pytest.raises(OverBoundError, match="members"):
        inflate(TINY * (mebibytes * 2**20 // len(TINY)))

    assert len(inflated) <= MEMBERS + CHUNK // MEMBER_BYTES + 1
    assert sum(inflated) <= len(inflated) * CHUNK


def test_a_bomb_is_refused_once_it_has_inflated_to_the_bound(inflate, monkeypatch):
    monkeypatch.setattr(gzip_file, "RATIO_FROM", 2**20)
    bomb = gzip.compress(b"\0" * (8 * 2**20))
    assert len(bomb) * RATIO < 8 * 2**20

    assert len(inflate(bomb, 2**20)) == 2**20
    with pytest.raises(OverBoundError, match="250 times"):
        inflate(bomb)


def test_twice_the_file_is_twice_the_work(tmp_path):
    def work(members):
        path = tmp_path / "work.gz"
        path.write_bytes(gzip.compress(NOISE, compresslevel=0) * members)
        with open_gzip(path) as file:
            return count_calls(io.BufferedReader.read, file)

    assert work(20) <= 2.5 * work(10)


@pytest.mark.django_db(transaction=True)
def test_an_import_keeps_the_lines_before_the_bound_and_goes_on_with_the_file_decompressed(
    project, tmp_path, monkeypatch
):
    monkeypatch.setattr(gzip_file, "RATIO_FROM", 2**20)
    events = [line(agent_start(f"s{n}.a.1")) for n in range(3)]
    content = b"\n".join([*events[:2], b" " * (9 * 2**20), events[2]])
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(content))

    output = run(tmp_path / "bomb.jsonl.gz", fails="not everything")
    assert "it inflates to more than 250 times its size; the lines up to 2 are imported" in output
    assert EventRecord.objects.count() == 2

    (tmp_path / "bomb.jsonl").write_bytes(content)
    run(tmp_path / "bomb.jsonl")
    assert EventRecord.objects.count() == 3
