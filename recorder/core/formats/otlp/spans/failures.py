"""Why a span or a tool failed: by its status, an exception event, or what its result says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded_object, first, first_text, integer
from recorder.core.formats.otlp.spans.content.blocks import (
    message_in,
    response_error,
    response_text,
    says_failed,
    text_of_result,
    tool_failed,
)
from recorder.core.formats.otlp.spans.content.tools import gemini_answer, result_of, status_of
from recorder.core.records import Json

# Codes of the status of a failed span, and of one that says success; a few senders leave the prefix out.
_ERRORS = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")
_SUCCESS = (1, "1", "STATUS_CODE_OK", "OK", "Ok")
_ATTRIBUTES = ("error.type", "error.message", "exception.message", "exception.type")  # of a span itself
_EXCEPTION = ("exception.message", "exception.type")
# Span events or log records of an exception in a span: of OpenTelemetry, and of GenAI.
RECORDS = frozenset(("exception", "gen_ai.client.operation.exception"))
_HTTP_STATUS = ("http.response.status_code", "http.status_code")
_NAMES = ("error.message", "error", "error.type")
_LANGFUSE = ("langfuse.observation.status_message",)
_DENIED = re.compile(r"User (?:did not allow|denied|rejected|declined)", re.IGNORECASE)  # Gemini CLI
_REPORTED = "The tool reported an error."

Events = Sequence[tuple[str, Fields]]


def of_span(status: Fields, attributes: Fields, events: Events) -> str:
    """Return why a span failed: by its status, else by `error.type` or an exception; "" for success.

    A status that says success, or a status of the tool itself, counts before these.
    """
    message = status.get("message")
    text = (message if isinstance(message, str) else "") or _exception(events)
    if status.get("code") in _ERRORS:
        return (text or _named(attributes))[:2000]
    if is_success(status):
        return ""
    if str(attributes.get("langfuse.observation.level")).upper() == "ERROR":
        return (text or first_text(attributes, _LANGFUSE) or _named(attributes))[:2000]
    if _exception(events) or first_text(attributes, _ATTRIBUTES):
        return (text or first_text(attributes, (_NAMES[0], "exception.message", *_ATTRIBUTES)))[:2000]
    is_marked = (
        str(attributes.get("error")).lower() == "true" or attributes.get("otel.status_code") == "ERROR"
    )
    return (text or _named(attributes))[:2000] if is_marked else ""


def of_record(event: str, attributes: Fields) -> str:
    """Return the exception that a log record reports; "" for another record."""
    return _exception([("exception", attributes)]) if event in RECORDS else ""


def is_success(status: Fields) -> bool:
    """Return whether a status says success; senders that set none leave it unset."""
    return status.get("code") in _SUCCESS


def of_model_call(attributes: Fields, finish: str, *, is_ok: bool) -> str:
    """Return why a model call failed that reports no success, as Claude Code's do, or ended with an error.

    "" for success; also where its status says so, whatever its answer ended with. A response of HTTP with a
    status of 400 or more is a failure, too.
    """
    code = integer(first(attributes, _HTTP_STATUS)) or 0
    if code >= 400 and not is_ok:
        return f"{code} {first_text(attributes, _NAMES)}".strip()[:2000]
    has_failed = _reports_failure(attributes) or (finish.lower() == "error" and not is_ok)
    return _named(attributes)[:2000] if has_failed else ""


def of_tool(attributes: Fields, events: Events, runtime: str, *, is_ok: bool) -> str:
    """Return why a tool failed, by an exception or by what it reports; "" for success or a cancelled one.

    `is_ok`: its status says success. Then the words of a result are no failure, a message that says so is.
    """
    if (found := _exception(events)) and not is_ok:
        return found
    if is_cancelled(attributes, runtime):
        return ""
    stated = response_error(gemini_answer(attributes)) if runtime == "gemini-cli" else ""
    if status_of(attributes, runtime) == "error" or _reports_failure(attributes):
        return (stated or first_text(attributes, (*names.TOOL_ERROR, *_NAMES)) or _REPORTED)[:500]
    if not is_ok and (found := first_text(attributes, names.TOOL_ERROR)):
        return found[:500]
    return stated[:500] or _result_failure(result_of(attributes, events, runtime), is_ok=is_ok)


def is_cancelled(attributes: Fields, runtime: str) -> bool:
    """Return whether a tool of Gemini CLI was cancelled, or refused by the user; that is no failure."""
    if runtime != "gemini-cli":
        return False
    return status_of(attributes, runtime) == "cancelled" or attributes.get("decision") == "reject"


def is_denied(attributes: Fields) -> bool:
    """Return whether the user refused a cancelled tool of Gemini CLI before it began."""
    reason = response_text(gemini_answer(attributes))
    return attributes.get("decision") == "reject" or _DENIED.search(reason) is not None


def _result_failure(result: Json, *, is_ok: bool) -> str:
    """Return the result of a tool if it says that the tool failed, else ""."""
    text = text_of_result(result)
    stated = says_failed(message_in(decoded_object(result)))
    has_failed = (tool_failed(text) and not is_ok) if stated is None else stated
    return (text[:500] or _REPORTED) if has_failed else ""


def _named(attributes: Fields) -> str:
    return first_text(attributes, _NAMES) or "failed"


def _reports_failure(attributes: Fields) -> bool:
    """Return whether `success` is false; log records have it as text."""
    return str(attributes.get("success")).lower() == "false"


def _exception(events: Events) -> str:
    """Return the message of the first exception of a span; "" without one."""
    found = [fields for event, fields in events if event in RECORDS]
    return (first_text(found[0], _EXCEPTION) or "exception")[:500] if found else ""
