"""A list as a CSV file, JSON document or JSON lines, written in chunks: memory does not grow with the rows.

The document has the query that made it beside its items. In a CSV file a comment would be a row, so there the
query is part of the file's name.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote_plus

from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.text import slugify

from dashboard.web import csv_response
from dashboard.web.csv_response import Cell
from dashboard.web.errors import refused
from dashboard.web.query_params import Address
from dashboard.web.streaming_response import stream

CHUNK = 200  # rows in memory at a time
SEPARATORS = re.compile(r"[=&:,]")  # of words in a query
NAME_MAX = 60  # characters of the query in the name of a file
MEDIA = {"csv": "text/csv; charset=utf-8", "json": "application/json", "ndjson": "application/x-ndjson"}
Suffix: TypeAlias = Literal["csv", "json"]
LinesSuffix: TypeAlias = Literal["csv", "ndjson"]
Value: TypeAlias = str | int | float | Decimal | datetime | Sequence[str] | None
Rows: TypeAlias = Iterable[Sequence[Sequence[Value]]]


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason for refusing a query; `at` is the position of its error, in characters from 0."""

    message: str
    at: int


@dataclass(frozen=True, slots=True)
class Download:
    """A list to download: `header` names the values of each row."""

    name: str
    slug: str  # of the project
    address: Address
    header: Sequence[str]
    fault: Fault | None = None  # of the query of the address, which is then refused
    session: str = ""  # the id of the session whose rows alone are listed

    @property
    def query(self) -> str:
        return self.address.but().query.removeprefix("?")

    @property
    def about(self) -> Mapping[str, str]:
        """Return what a document says about itself."""
        of_session = {"session": self.session} if self.session else {}
        return {"list": self.name, "project": self.slug, **of_session, "query": self.query}

    @property
    def file_name(self) -> str:
        """Return the name of the file without its suffix: plain ASCII, with the query as words."""
        session = slugify(self.session)[:NAME_MAX].strip("-")
        words = slugify(SEPARATORS.sub("-", unquote_plus(self.query)))[:NAME_MAX].strip("-")
        return "-".join(filter(None, (self.name, self.slug, session, words)))


def respond(request: HttpRequest, download: Download, rows: Rows, suffix: Suffix) -> HttpResponseBase:
    """Return the file; an invalid parameter or query is refused, as no page would say that it was ignored."""
    refusal = refuse(request, getattr(download.address, "notes", ()), download.fault, suffix)
    if refusal:
        return refusal
    written = as_csv if suffix == "csv" else as_json
    return respond_with(request, download, written(download, rows), suffix)


def refuse(
    request: HttpRequest, notes: Sequence[str], fault: Fault | None, suffix: Suffix
) -> HttpResponse | None:
    """Return the refusal of a file, for JSON as the read API answers it; None if nothing is wrong."""
    message = " ".join([*notes, *([fault.message] if fault else [])])
    if not message:
        return None
    if suffix != "json":
        return refused(request, message)
    at = {"at": fault.at} if fault else {}
    answer = {"code": "bad_query", **at, "message": message}
    return JsonResponse(answer, status=400, json_dumps_params={"ensure_ascii": False})


def respond_with(
    request: HttpRequest, download: Download, chunks: Iterator[bytes], suffix: Suffix | LinesSuffix
) -> HttpResponseBase:
    """Return chunks of bytes as a file that is saved."""
    content = stream(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(content, content_type=MEDIA[suffix])
    response["Content-Disposition"] = f'attachment; filename="{download.file_name}.{suffix}"'
    return response


def as_csv(download: Download, rows: Rows) -> Iterator[bytes]:
    """Yield a CSV file; numbers are exact, several texts are separated by "; "."""
    yield csv_response.text(download.header, ()).encode()
    for chunk in rows:
        if chunk:
            yield csv_response.lines([_cell(value) for value in row] for row in chunk).encode()


def as_json(download: Download, rows: Rows) -> Iterator[bytes]:
    """Yield a document with the query and the items, one a line."""
    names = download.header
    return documents(
        download.about,
        ([json.dumps(dict(zip(names, map(_plain, row), strict=True))) for row in chunk] for chunk in rows),
    )


def documents(about: Mapping[str, str], chunks: Iterable[Sequence[str]]) -> Iterator[bytes]:
    """Yield a document whose items are given as JSON."""
    begin = json.dumps(about)[:-1] + ', "items": ['
    separator = begin + "\n"
    for chunk in chunks:
        if chunk:
            yield (separator + ",\n".join(chunk)).encode()
            separator = ",\n"
    yield f"{begin}]}}\n".encode() if separator != ",\n" else b"\n]}\n"


def chunked(
    rows: QuerySet[Any], read: Callable[[list[int]], Sequence[Sequence[Value]]]
) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield what `read` returns for the keys of sorted rows, some at a time.

    All keys are read first, as 8 bytes each: a row that moves meanwhile neither is left out nor comes twice.
    """
    pks = array("q", rows.values_list("pk", flat=True).iterator(chunk_size=2_000))
    for start in range(0, len(pks), CHUNK):
        yield read(pks[start : start + CHUNK].tolist())


def dollars(nano: int | None) -> Decimal | None:
    """Return an amount in dollars, exactly."""
    return None if nano is None else Decimal(nano).scaleb(-9)


def _plain(value: Value) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return format(value.normalize() + 0, "f")
    return list(value) if isinstance(value, tuple) else value


def _cell(value: Value) -> Cell:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, (str, int, float, Decimal)) or value is None:
        return value
    return "; ".join(value)
