"""A response that fails: before its start it is a 500, afterwards it breaks off."""

from types import SimpleNamespace

import pytest
from daphne.http_protocol import WebRequest

from dashboard.server.http_channel import Request


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_failed_response_never_looks_complete(monkeypatch, has_begun):
    done = []
    monkeypatch.setattr(WebRequest, "basic_error", lambda self, status, *_: done.append(status))
    request = Request.__new__(Request)
    request._response_started = has_begun
    transport = SimpleNamespace(abortConnection=lambda: done.append("aborted"))
    request.channel = SimpleNamespace(transport=transport)
    request.handle_exception(RuntimeError())

    assert done == (["aborted"] if has_begun else [500])
