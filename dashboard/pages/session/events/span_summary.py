"""One-line summaries of spans and log records: model or tool, texts, tokens, why it failed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.pages.session.events.bodies import Object, string
from dashboard.rendering.number_format import plural
from recorder.core.content.text import one_line
from recorder.core.formats import InvalidLineError
from recorder.core.formats.otlp.spans.attributes import decoded
from recorder.core.formats.otlp.spans.content import tools
from recorder.core.formats.otlp.spans.digest import Item
from recorder.core.formats.otlp.spans.reading import read_item
from recorder.core.records import Json

WRAPPERS = ("resourceSpans", "resourceLogs")
SHARED = (
    *(
        "app.",
        "deployment.",
        "event.",
        "host.",
        "organization.",
        "service.",
        "session.",
        "span.",
        "telemetry.",
    ),
    *("terminal.", "thread.", "user."),
)


def summary(event: Object) -> str:
    """Return a one-line summary of an export request with one span or log record."""
    try:
        item = read_item(dict(event), b"")
    except InvalidLineError as error:
        return error.message
    parts = [
        *filter(
            None, {"model": _of_call, "agent": _of_call, "tool": _of_tool}.get(item.digest.kind, _none)(item)
        )
    ]
    failure = [f"failed: {item.digest.error}"] if item.digest.error else []
    return ", ".join((*failure, *(parts or [one_line(_own(item))])))


def _of_call(item: Item) -> Iterator[str]:
    yield item.digest.model
    if output := (item.digest.usage or {}).get("output"):
        yield plural(output, "output token")
    if names := [name for _, name in item.messages.calls]:
        yield f"calls {' '.join(names)}"
    yield " ".join(string(block.get("text")) for block in item.messages.output if block.get("type") == "text")


def _of_tool(item: Item) -> Iterator[str]:
    attributes, events, runtime = item.attributes, item.events, item.digest.runtime
    yield one_line(decoded(tools.arguments_of(attributes, events, runtime)))
    yield one_line(decoded(tools.result_of(attributes, events, runtime)))


def _none(_: Item) -> Iterator[str]:
    yield ""


def _own(item: Item) -> dict[str, Json]:
    """Return the attributes that a span does not share with the others of its program."""
    return {name: value for name, value in item.attributes.items() if not name.startswith(SHARED)}
