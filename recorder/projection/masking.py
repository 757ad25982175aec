"""Masks the texts of records where they stand, of records that cannot be derived again: bodies were pruned.

Ids, keys, times and numbers stay. Records shorten texts, so one may end within a secret: it is recognised if
the secret is known from a line (`Secrets`), and stands before an ellipsis or at the end of the text.

Cost: the records of the sessions are read once, `SESSIONS` sessions at a time; those that change are written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from django.db import models

from recorder.core.records import (
    Anomaly,
    Approval,
    Compaction,
    Loop,
    ModelConfig,
    Record,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.database import row_mapper, sql
from recorder.masking.masker import Masker
from recorder.models import LedgerBlock, Waste, WasteLoop, WasteRedo
from recorder.models.fields import JsonText
from recorder.models.ledger import NAME as BLOCK_NAME
from recorder.models.waste import NAME as WASTE_NAME
from recorder.projection import store

SESSIONS = 50
LEAST = 6  # characters of a secret by which its beginning is recognised
LONGEST = 500  # characters of a beginning
ELLIPSIS = "…"
Changed = set[tuple[str, int]]  # tables and primary keys

_LOOPS = f"loop_id IN (SELECT id FROM recorder_looprecord WHERE {sql.in_list('session_id')})"
_TEXTS: dict[type[Record], tuple[str, ...]] = {
    Session: ("title", "summary", "working_dir", "activity", "formation", "tags", "metadata"),
    Loop: ("title", "activity", "error", "rejection", "continuation_tag", "metadata"),
    Turn: ("answer", "error"),
    ToolCall: ("summary", "progress"),
    Compaction: ("summary", "block"),
    Approval: ("command", "risk", "reason", "warnings", "options"),
    TextBlock: ("text",),
    Anomaly: ("text",),
}
_OF_SESSIONS: dict[type[Record], str] = {
    Session: sql.in_list("id"),
    **dict.fromkeys((Loop, Approval, Anomaly), sql.in_list("session_id")),
    **dict.fromkeys((Turn, ToolCall, Compaction, TextBlock), _LOOPS),
}


class Secrets:
    """Values that were masked in lines, and what replaces them."""

    def __init__(self, marks: Mapping[str, str]) -> None:
        self._marks = marks
        self._by_beginning: dict[str, list[str]] = defaultdict(list)
        for secret in marks:
            self._by_beginning[secret[:LEAST]].append(secret)

    def without_beginnings(self, text: str) -> str:
        """Return a text in which a secret that was cut is masked as the whole one is."""
        end = len(text)
        while self._marks and end > 0:
            if (start := self._start(text, end)) is not None:
                text = text[: start[0]] + start[1] + text[end:]
                end = start[0]
            end = text.rfind(ELLIPSIS, 0, end)
        return text

    def _start(self, text: str, end: int) -> tuple[int, str] | None:
        """Return where a secret begins that is cut at `end`, and its mask."""
        for at in range(max(0, end - LONGEST), end - LEAST + 1):
            for secret in self._by_beginning.get(text[at : at + LEAST], ()):
                if secret.startswith(text[at:end]):
                    return at, self._marks[secret]
        return None


NO_SECRETS = Secrets({})


def mask_sessions(
    project: int, sessions: Collection[int], masker: Masker, secrets: Secrets = NO_SECRETS, *, write: bool
) -> Changed:
    """Mask the records of some sessions; return those that change. Nothing is written without `write`."""
    changed: Changed = set()
    ordered = sorted(sessions)
    for at in range(0, len(ordered), SESSIONS):
        chosen = sql.list_param(ordered[at : at + SESSIONS])
        for kind, where in _OF_SESSIONS.items():
            changed |= _mask(kind, where, chosen, masker, secrets, write=write)
        changed |= _mask_blocks(ordered[at : at + SESSIONS], masker, secrets, write=write)
        changed |= _mask_wastes(ordered[at : at + SESSIONS], masker, secrets, write=write)
    if write:
        table = row_mapper.table(Session)
        own = sorted(pk for name, pk in changed if name == table.name)
        renewed = table.select(f"WHERE {sql.in_list('r.id')}", sql.list_param(own))
        store.write_labels(project, [each for each in renewed if isinstance(each, Session)])
    return changed


def _mask_blocks(sessions: Collection[int], masker: Masker, secrets: Secrets, *, write: bool) -> Changed:
    """Mask the arguments by which the block ledger names results: without bodies it is not made again."""
    rows = []
    for block in LedgerBlock.objects.filter(session__in=sessions).exclude(detail=""):
        masked = secrets.without_beginnings(masker.mask_text(block.detail))[:BLOCK_NAME]
        if masked != block.detail:
            block.detail = masked
            rows.append(block)
    if write:
        LedgerBlock.objects.bulk_update(rows, ("detail",), batch_size=100)
    return {("recorder_ledgerblock", block.pk) for block in rows}


def _mask_wastes(sessions: Collection[int], masker: Masker, secrets: Secrets, *, write: bool) -> Changed:
    """Mask the names of files that were read again, and forget what the rules remember of running loops."""
    rows = []
    for waste in Waste.objects.filter(session__in=sessions).exclude(name=""):
        masked = secrets.without_beginnings(masker.mask_text(waste.name))[:WASTE_NAME]
        if masked != waste.name:
            waste.name = masked
            rows.append(waste)
    if write:
        Waste.objects.bulk_update(rows, ("name",), batch_size=100)
        WasteRedo.mark(WasteLoop.objects.filter(session__in=sessions).values_list("session", flat=True))
    return {("recorder_waste", waste.pk) for waste in rows}


def mask_project(project: int, masker: Masker, *, write: bool) -> Changed:
    """Mask the records of a project that belong to no session: model configs, and some anomalies."""
    configs = _mask(ModelConfig, "project_id = %s", project, masker, NO_SECRETS, write=write)
    where = "project_id = %s AND session_id IS NULL"
    return configs | _mask(Anomaly, where, project, masker, NO_SECRETS, write=write)


def sessions_of(lines: Sequence[int]) -> set[int]:
    """Return the sessions of some lines of the journal."""
    found: set[int] = set()
    for at in range(0, len(lines), 500):
        rows = sql.read(
            f"SELECT DISTINCT session_id FROM recorder_eventrecord WHERE {sql.in_list('id')}",
            sql.list_param(lines[at : at + 500]),
        )
        found |= {session for (session,) in rows if session is not None}
    return found


def pruned_sessions(project: int) -> set[int]:
    """Return the sessions of which bodies were pruned."""
    where = "project_id = %s AND pruned_on IS NOT NULL"
    return {pk for (pk,) in sql.read(f"SELECT id FROM recorder_session WHERE {where}", project)}


def _mask(
    kind: type[Record], where: str, chosen: sql.Value, masker: Masker, secrets: Secrets, *, write: bool
) -> Changed:
    columns = list(_columns(kind))
    name, selected = row_mapper.table(kind).name, ", ".join(str(each.column) for each in columns)
    rows: list[tuple[sql.Value, ...]] = []
    for pk, *values in sql.read(f"SELECT id, {selected} FROM {name} WHERE {where}", chosen):
        masked = [_masked(*pair, masker, secrets) for pair in zip(columns, values, strict=True)]
        if masked != values:
            rows.append((*masked, pk))
    if write and rows:
        placed = ", ".join(f"{each.column} = %s" for each in columns)
        sql.write(f"UPDATE {name} SET {placed} WHERE id = %s", rows)
    return {(name, int(str(row[-1]))) for row in rows}


def _columns(kind: type[Record]) -> Iterator[models.Field[object, object]]:
    names = ("snapshot", "parameter") if kind is ModelConfig else _TEXTS[kind]
    return (row_mapper.MODELS[kind]._meta.get_field(name) for name in names)  # type: ignore[misc]  # no relation


def _masked(
    column: models.Field[object, object], value: object, masker: Masker, secrets: Secrets
) -> str | None:
    if value is None or value == "":
        return value
    text = str(value)
    if isinstance(column, JsonText):
        return masker.mask(text.encode()).line.decode()
    return secrets.without_beginnings(masker.mask_text(text))[: column.max_length]
