"""Bodies packed with zstd: decoded within bounds where Python can, refused with the reason where not."""

import zlib

import pytest

from recorder.ingest.http import content_encoding
from recorder.ingest.http.content_encoding import MEMBERS, RATIO_FROM, ZSTD_CHUNK, ZSTD_WINDOW_LOG, inflated
from recorder.ingest.http.response import Fault
from recorder.models import JournalEvent
from tests.recorder.journal.spans.test_endpoint import body, send, span

LIMIT = 16 * 2**20
WINDOW = 1 << ZSTD_WINDOW_LOG


class Frame:
    """A frame, packed as zlib does."""

    def __init__(self):
        self._inner = zlib.decompressobj()

    def decompress(self, part, most=0):
        assert len(part) <= ZSTD_CHUNK
        return self._inner.decompress(part, most)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class OfPython:
    """A stand-in for Python's own module."""

    __name__ = "compression.zstd"
    ZstdError = zlib.error

    class DecompressionParameter:
        window_log_max = 100

    class ZstdDecompressor(Frame):
        def __init__(self, options):
            assert options == {100: ZSTD_WINDOW_LOG}
            super().__init__()


class OfPackage:
    """A replacement of the package, whose decoder takes no limit of what it returns."""

    __name__ = "zstandard"
    ZstdError = zlib.error

    class ZstdDecompressor:
        def __init__(self, max_window_size):
            assert max_window_size == WINDOW

        def decompressobj(self):
            return Frame()


@pytest.fixture(params=[OfPython, OfPackage])
def module(request, monkeypatch):
    monkeypatch.setattr(content_encoding, "zstd_module", request.param)


def fault_of(packed, limit=LIMIT):
    with pytest.raises(Fault) as found:
        inflated(packed, limit, encoding="zstd")
    return found.value.status, found.value.body["code"]


def test_a_body_in_frames_is_read_within_the_budget(module):
    text = bytes(range(256)) * 40
    held = []
    packed = zlib.compress(text) + zlib.compress(b"end")

    assert inflated(packed, LIMIT, held.append, "zstd") == text + b"end"
    assert sum(held) == WINDOW + len(text) + 3


def test_a_body_out_of_bounds_is_refused(module):
    packed = zlib.compress(b"0123456789")
    assert inflated(packed, 10, encoding="zstd") == b"0123456789"
    assert fault_of(packed, 9) == (413, "too_large")
    assert fault_of(zlib.compress(b"\0" * (RATIO_FROM + 1))) == (413, "too_large")
    assert fault_of(zlib.compress(b"") * (MEMBERS + 1)) == (400, "bad_encoding")
    assert fault_of(b"not zstd") == (400, "bad_encoding")
    assert fault_of(packed[:-1]) == (400, "bad_encoding")


def test_spans_may_be_packed_where_python_reads_zstd(token, module):
    assert send(zlib.compress(body(span())), token, content_encoding="zstd").status == 200
    assert JournalEvent.objects.filter(kind="line").count() == 1
    assert "zstd" in send(body(span()), token, content_encoding="br").headers["accept-encoding"]


def test_without_a_decoder_the_answer_names_what_to_install(token, monkeypatch):
    monkeypatch.setattr(content_encoding, "zstd_module", lambda: None)
    answer = send(body(span()), token, content_encoding="zstd")

    assert (answer.status, answer.headers["accept-encoding"]) == (415, "gzip, deflate")
    assert "loopscope[zstd]" in answer.json["message"]
