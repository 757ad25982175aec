"""The one list of formats: what a line may be written in, and what a recorder must know of who wrote it.

A foreign format is its module here, a tape in `tests/tapes/` and its entry in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from recorder.core.formats import cagent, grida
from recorder.core.formats.aidaemon import AidaemonReader
from recorder.core.formats.base import NextLoop, Reader
from recorder.core.formats.cagent.database_rows import CagentStoreReader
from recorder.core.records import Json

Convention = Literal["beside", "inside"]  # where cached tokens are counted: beside `input`, or inside it
MakeReader = Callable[[Json, str, NextLoop], Reader]  # of a producer: its state, its key, loops' numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of lines, and the runtime that writes it."""

    name: str  # as `format=` of the ingest endpoints and `--format` of imports name it
    source: str  # of the sessions that its lines begin
    reader: MakeReader | None = None  # of foreign lines; native ones are events already
    runtime: str = ""  # its name on pages; "" is whatever program uses the client
    is_sent: bool = True  # whether agents send it; the rows of a store are only imported
    usage_convention: Convention | None = None  # None: the api or the provider of a call says it
    detect: Callable[[Mapping[str, object]], bool] | None = None  # by the first object of an event file


FORMATS: tuple[Format, ...] = (
    Format(name="native", source="phi-core"),
    Format(
        name="cagent",
        source="cagent",
        reader=cagent.CagentReader,
        runtime="cagent",
        usage_convention="beside",  # whoever answered
        detect=lambda first: first.get("type") in cagent.TRANSLATORS,
    ),
    Format(
        name="cagent-db",
        source="cagent",
        reader=CagentStoreReader,
        runtime="cagent",
        is_sent=False,
        usage_convention="beside",
    ),
    Format(
        name="aidaemon",
        source="aidaemon",
        reader=AidaemonReader,
        runtime="aidaemon",
        usage_convention="beside",  # it knows of no cache
        detect=lambda first: "event_type" in first and "data" in first,
    ),
    Format(
        name="grida",
        source="grida",
        reader=grida.GridaReader,
        runtime="Grida",
        detect=lambda first: first.get("type") in grida.EVENTS,
    ),
)
SENT: tuple[str, ...] = tuple(each.name for each in FORMATS if each.is_sent)
READERS: Mapping[str, MakeReader] = {each.name: each.reader for each in FORMATS if each.reader}
SOURCE_OF: Mapping[str, str] = {each.name: each.source for each in FORMATS}
SOURCES: tuple[str, ...] = tuple(dict.fromkeys(SOURCE_OF.values()))
RUNTIMES: Mapping[str, str] = {each.source: each.runtime for each in FORMATS}
CONVENTIONS: Mapping[str, Convention] = {
    each.source: each.usage_convention for each in FORMATS if each.usage_convention
}


def detect(first: Mapping[str, object]) -> str | None:
    """Return the foreign format of an event file by its first object; None if it is of none of them."""
    return next((each.name for each in FORMATS if each.detect and each.detect(first)), None)
