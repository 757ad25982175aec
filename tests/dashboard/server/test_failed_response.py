"""A response that fails: before its start it is a 500, afterwards it breaks off."""

import asyncio
from types import SimpleNamespace

import pytest
from daphne.http_protocol import WebRequest

from dashboard.server.daphne import Server as Daphne
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


async def returns(*_, **__):
    """An application that forgets the end of its response."""


async def fails(*_, **__):
    raise RuntimeError


async def is_cancelled(*_, **__):
    raise asyncio.CancelledError


@pytest.mark.parametrize("application", [returns, fails, is_cancelled])
@pytest.mark.parametrize("is_complete", [False, True])
async def test_a_response_that_its_application_leaves_unfinished_breaks_off_at_once(application, is_complete):
    broken = []
    protocol = SimpleNamespace(
        recent_grant=lambda: None, finished=is_complete, channel=object(), handle_exception=broken.append
    )
    protocol = type("Protocol", (SimpleNamespace,), {"__hash__": object.__hash__})(**vars(protocol))
    server = Daphne.__new__(Daphne)
    server.application, server.connections = application, {protocol: {}}

    server.create_application(protocol, {"type": "http"})
    task = server.connections[protocol]["application_instance"]
    await asyncio.gather(task, return_exceptions=True)  # reads its exception, else asyncio logs it later
    await asyncio.sleep(0)  # its callbacks run in the next iteration of the loop

    assert len(broken) == (0 if is_complete else 1)
