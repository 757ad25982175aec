"""Which modules read and write records: writes in a few listed modules, reads in `queries` modules."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from tests.architecture.tree import CODE, ROOT, TEMPLATES, chain, name_of, nodes

# The store writes records, rollups their sums, the journal lines. Prices, insights and the scheduler's state
# have writers of their own; the as-of overlay writes temporary tables.
WRITERS = {
    "recorder/imports/transcripts/file_cache.py",  # a cache of its own, no records
    "recorder/projection/as_of/overlay.py",
    "recorder/projection/masking.py",
    "recorder/projection/removal.py",
    "recorder/projection/store.py",
    "recorder/projection/withdrawals.py",
    "recorder/projection/reported_costs.py",
    "recorder/pricing/stated_costs.py",
    "recorder/journal/spans/reader.py",
    "recorder/journal/spans/replay.py",
    "recorder/journal/spans/reported_calls.py",
    "recorder/journal/spans/transcript_times.py",
    "recorder/journal/translation.py",
    "recorder/journal/repeats/shared_lines.py",
    "recorder/pricing/rollups.py",
    "recorder/ingest/commit/unreadable_spans.py",
    "recorder/ingest/commit/span_backlog.py",
    "recorder/journal/append.py",
    "recorder/journal/producers.py",
    "recorder/journal/streams/open_streams.py",
    "recorder/journal/removal/foreign.py",
    "recorder/journal/removal/lines.py",
    "recorder/journal/removal/masks.py",
    "recorder/journal/removal/quarantine.py",
    "recorder/journal/tombstones.py",
    "recorder/pricing/price_book.py",
    "recorder/pricing/backfill.py",
    "recorder/pricing/totals.py",
    "recorder/pricing/turn_history.py",
    "recorder/operations/audit.py",
    "recorder/operations/audit_retention.py",
    "recorder/operations/deletion.py",
    "recorder/operations/expiry/records.py",
    "recorder/operations/expiry/notes.py",
    "recorder/operations/people/project_deletion.py",
    "recorder/operations/masking/history.py",
    "recorder/operations/scheduler.py",
    "recorder/operations/retention.py",
    "recorder/operations/retention_pins.py",
    "recorder/insights/store.py",
    "recorder/search/deleted_words.py",
    "recorder/search/documents.py",
    "recorder/search/indexer.py",
    "recorder/search/state.py",
    "recorder/search/tables.py",
    "recorder/search/titles.py",
    "recorder/ledger/adding.py",
    "recorder/masking/counts.py",
    "recorder/ledger/chains.py",
    "recorder/follower/cursors.py",
    "recorder/follower/steps.py",
    "recorder/ledger/state.py",
    "recorder/ledger/sums.py",
    "recorder/models/ledger.py",
    "recorder/models/waste.py",
    "recorder/waste/adding.py",
    "recorder/waste/rows.py",
    "recorder/waste/state.py",
    "recorder/journal/quarantine.py",
    "recorder/notes/definitions.py",
    "recorder/notes/evaluations.py",
    "recorder/notes/masking.py",
    "recorder/notes/mentions.py",
    "recorder/notes/revisions.py",
    "recorder/notes/write.py",
    "recorder/access/saved_views.py",
}
# SQL helpers of the writers; no other module may use the functions that write.
SQL, ROW_MAPPER = "recorder/database/sql.py", "recorder/database/row_mapper.py"
WRITING_SQL_FUNCTIONS = {"insert", "insert_all", "write"}
# Models of access are not records: views and commands write them.
ACCESS = {
    "Project",
    "Membership",
    "Profile",
    "Invite",
    "AccessToken",
    "Refusal",
    "ShareLink",
    "ShareOpening",
    "SignInLink",
    "SignIn",
    "ReadMark",
    "WasteReadMark",
    "Mute",
}
RECORDS = {model.__name__ for model in apps.get_app_config("recorder").get_models()} - ACCESS
WRITES = {
    "save",
    "create",
    "bulk_create",
    "bulk_update",
    "update",
    "update_or_create",
    "get_or_create",
    "delete",
}
RELATED = {
    relation.get_accessor_name()
    for model in apps.get_app_config("recorder").get_models()
    if model.__name__ in RECORDS
    for relation in model._meta.related_objects
}
WRITING_SQL = re.compile(
    r"\s*(INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|REPLACE\s+INTO)\b", re.I
)
WRITES |= {"a" + name for name in WRITES}


def may_read(file: Path) -> bool:
    """Whether the path says that a module reads: `queries`, a command, or who may see what."""
    return bool({"queries", "commands", "security"} & {file.stem, file.parent.name})


def record_writes(source: str) -> Iterator[tuple[int, str]]:
    """Return line and form of each write of a record: through a model, a related manager or SQL."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            owners = chain(node.func)[:-1]
            if owners and (owners[0] in RECORDS or RELATED & set(owners)):
                yield node.lineno, ".".join([*owners, node.func.attr])
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WRITING_SQL.match(node.value):
            yield node.lineno, "SQL"


def test_the_checks_find_code_templates_and_models():
    assert len(CODE) > 10
    assert TEMPLATES
    assert {"LoopRecord", "Session", "JournalEvent"} <= RECORDS


def test_only_the_listed_modules_write_records():
    wrong = [
        f"{name_of(file)}:{line} {form}"
        for file in CODE
        if name_of(file) not in WRITERS | {SQL}
        for line, form in record_writes(file.read_text())
    ]
    assert wrong == []


def test_only_writers_use_the_sql_functions_that_write():
    wrong = [
        f"{name_of(file)}:{node.lineno}"
        for file in CODE
        if name_of(file) not in WRITERS | {SQL, ROW_MAPPER}
        for node in nodes(file)
        if (
            isinstance(node, ast.Attribute)
            and chain(node)[:1] == ["sql"]
            and node.attr in WRITING_SQL_FUNCTIONS
        )
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "recorder.database.sql"
            and WRITING_SQL_FUNCTIONS & {alias.name for alias in node.names}
        )
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        'Session.objects.filter(pk=1).update(title="")',
        "session.loop_records.all().delete()",
        "await LoopRecord.objects.acreate(loop_id=name)",
        'cursor.execute("DELETE FROM recorder_turn")',
    ],
)
def test_a_write_of_a_record_is_found_in_every_form(line):
    assert len(list(record_writes(f"async def page():\n    {line}\n"))) == 1


def test_dashboard_reads_through_the_orm_only_in_queries():
    wrong = [
        f"{name_of(file)}:{node.lineno}"
        for file in CODE
        if file.relative_to(ROOT).parts[0] == "dashboard" and not may_read(file)
        for node in nodes(file)
        if isinstance(node, ast.Attribute) and node.attr in {"objects", "_default_manager", "_base_manager"}
    ]
    assert wrong == []
