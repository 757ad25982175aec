"""Digest of all records of a project, independent of primary keys: equal digests mean equal records."""

import hashlib
import json

from recorder.core.records import EventRecord, Group, Loop, ModelConfig, Session, Turn
from recorder.database import row_mapper, sql
from recorder.models import JournalEvent, Price, Spending
from recorder.pricing.rollups import FIGURES

OF_EVENT = {
    *("start_event", "end_event", "title_event", "request_event", "update_event", "resolve_event"),
    *("event", "message"),
}
NAMED = {
    Session: lambda row, _: row.session_id,
    ModelConfig: lambda row, _: row.key,
    Group: lambda row, name: f"{name(Session, row.session)}/group {row.ordinal}",
    Loop: lambda row, name: f"{name(Session, row.session)}/{row.loop_id}#{row.run}",
    Turn: lambda row, name: f"{name(Loop, row.loop)}/turn {row.ordinal}",
}


def digest(project):
    """Return one hash for all records of `project`."""
    return hashlib.sha256("\n".join(records(project)).encode()).hexdigest()


def records(project):
    """Return every record of `project` as a line of text, sorted."""
    return sorted([*_of_tables(project, None), *spending(project)])


def records_of(project, sessions):
    """Return every record of some sessions of `project` as a line of text, sorted."""
    return sorted(_of_tables(project, set(sessions)))


def _of_tables(project, sessions):
    rows = {kind: {row.id: row for row in _rows(kind, project)} for kind in row_mapper.MODELS}
    events = dict(_named(_lines(project)))

    def name(kind, pk):
        return None if pk is None else NAMED[kind](rows[kind][pk], name)

    def is_wanted(row):
        if sessions is None or isinstance(row, Session):
            return sessions is None or row.id in sessions
        return getattr(rows[Loop].get(getattr(row, "loop", None), row), "session", None) in sessions

    return [_words(kind, row, name, events) for kind in rows for row in rows[kind].values() if is_wanted(row)]


def spending(project):
    """Return the rollups of a project that are not zero."""
    sums = Spending.objects.filter(project=project).select_related("config")
    return sorted(
        f"Spending {row.span} {row.start} {row.config and row.config.key} {row.agent_id} {row.segment}"
        f" {figures}"
        for row in sums
        if any((figures := {name: getattr(row, name) for name in FIGURES}).values())
    )


def _price(pk):
    row = Price.objects.get(pk=pk)
    return f"{row.model} {row.provider} {row.edition} {row.valid_from} {row.daily} {row.bands}"


def _named(lines):
    """Name each line by its number, or by its position after the last numbered line."""
    last = {}
    for line in lines:
        seq, beside = last.get(line.producer_id, (-1, 0))
        seq, beside = (seq, beside + 1) if line.seq is None else (line.seq, 0)
        last[line.producer_id] = seq, beside
        yield line.pk, f"{line.producer.name}:{seq}" + (f"+{beside}" if beside else "")


def _words(kind, row, name, events):
    table = row_mapper.table(kind)
    values = {}
    for field in table.fields:
        value = getattr(row, field)
        if field == "id":
            value = events[value] if kind is EventRecord else None
        elif field in table.links:
            value = name(table.links[field], value)
        elif field == "producer":
            value = None
        elif field == "price":
            value = None if value is None else _price(value)
        elif field in OF_EVENT and isinstance(value, int):
            value = events.get(value, value)
        values[field] = value
    return f"{kind.__name__} {json.dumps(values, sort_keys=True, default=str)}"


def _rows(kind, project):
    meta = row_mapper.MODELS[kind]
    path = next(path for path in PATHS if _has(meta, path))
    keys = meta.objects.filter(**{path: project}).values_list("pk", flat=True)
    return row_mapper.table(kind).select(f"WHERE {sql.in_list('r.id')}", sql.list_param(keys))


PATHS = ("project", "journal__project", "session__project", "loop__session__project")


def _has(model, path):
    return any(field.name == path.split("__")[0] for field in model._meta.get_fields())


def _lines(project):
    return JournalEvent.objects.filter(project=project).select_related("producer").order_by("id")
