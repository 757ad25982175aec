"""`mask --history` of a project with pruned bodies: records are masked where they stand, nothing is lost."""

import random
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from recorder.journal.removal import masks
from recorder.masking.project_rules import masker_of, save
from recorder.models import (
    AuditEntry,
    JournalEvent,
    LoopRecord,
    MaskingHistory,
    Project,
    SearchDocument,
    Session,
    SessionLabel,
)
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.operations.masking import history as masking_history
from recorder.projection.masking import LEAST, Secrets
from recorder.search import indexer, tables
from tests.recorder.old_bodies import consolidate, prune
from tests.recorder.operations.masking.test_mask_command import Kill, Killed
from tests.recorder.operations.secret_sessions import NOW, RULES, SECRET, expected, play, stored, whole
from tests.support.build import line
from tests.support.project_digest import records
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
OLD = NOW - timedelta(days=40)
CUT = "x" * 185  # the prompt begins with "Ask ": its title of 200 characters ends within the secret


def described(session, text):
    """Return the lines of a loop with tags and metadata, and a tool."""
    loop = Loop(session, "a.1")
    start = loop.start() | {"metadata": {"place": text, "n": 7}, "tags": ["nightly", text]}
    events = [start, loop.turn(), *loop.prompt(text), loop.answering(), loop.answer(text)]
    events += [loop.tool("c1", command=f"go {text}"), loop.progress("c1", text), loop.tool_end("c1", text)]
    return list(map(line, [*events, loop.turn_end(text), loop.end()]))


def record(*projects, cut=False):
    """Record sessions of which some are pruned, and some have a secret."""
    young = f"{CUT} {SECRET}" if cut else f"{SECRET} again"
    of_old = (whole("old", f"to {SECRET} now"), described("tagged", SECRET), whole("plain", "no words of it"))
    of_young = (whole("young", young), described("young-tagged", SECRET), whole("young-plain", "nothing"))
    for project in projects:
        for lines in of_old:
            play(project, lines, at=OLD)
        for n, lines in enumerate(of_young):
            play(project, lines, "pq"[n % 2])
    consolidate()
    for project in projects:
        assert prune(project).lines > 20


def without_keys(project):
    """Return the records of a project without tags and hashes of texts with tags: they differ by project."""
    keyed = r'\[masked:place:[0-9a-f]{8}\]|"(?:answer|arguments)_key": "[0-9a-f]+"'
    return sorted(re.sub(keyed, "", each) for each in records(project))


def pruned(project):
    rows = JournalEvent.objects.filter(project=project).exclude(pruned_on=None).order_by("pk")
    return [
        (pk, bytes(own), size, day)
        for pk, own, size, day in rows.values_list("pk", "own", "size", "pruned_on")
    ]


def documents():
    return sorted(SearchDocument.objects.filter(is_gone=False).values_list("session", "kind", "event"))


def labels(project):
    rows = SessionLabel.objects.filter(project=project)
    return sorted(" ".join(each) for each in rows.values_list("session__session_id", "name", "value"))


def bodies(project):
    found = JournalEvent.objects.filter(project=project, size__gt=0, pruned_on=None)
    every = stored(project)
    return {pk: every[pk] for pk in found.values_list("pk", flat=True)}


def test_what_is_there_is_masked_and_nothing_is_lost(project):
    record(project)
    before, gone = bodies(project), pruned(project)
    keys = set(Session.objects.values_list("pk", "session_id"))
    save(project.pk, RULES)
    mask = masker_of(project.pk).mask_text(SECRET)
    wanted_labels = sorted(each.replace(SECRET, mask) for each in labels(project))
    wanted = expected(project, before)

    done = masking_history.run(project, COMMAND)

    assert bodies(project) == wanted
    assert done.lines == sum(before[pk] != wanted[pk] for pk in before) > 5
    assert pruned(project) == gone
    assert set(Session.objects.values_list("pk", "session_id")) == keys
    assert SECRET not in "".join(records(project))
    assert not SessionLabel.objects.filter(value__contains=SECRET).exists()
    assert labels(project) == wanted_labels
    assert mask in str(wanted_labels)
    assert Session.objects.get(session_id="old").title.startswith("Ask to [masked:place:")
    assert list(findings()) == []


def test_the_records_are_those_of_a_project_that_had_the_rules_at_first(project):
    other = Project.objects.create(slug="other")
    save(other.pk, RULES)
    record(project, other)
    save(project.pk, RULES)
    assert without_keys(project) != without_keys(other), "else this tests nothing"
    masking_history.run(project, COMMAND)
    assert without_keys(project) == without_keys(other)


def test_a_secret_that_a_title_cuts_is_masked(project):
    record(project, cut=True)
    assert LoopRecord.objects.get(session__session_id="young").title.endswith("zanzibar-…")
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    assert SECRET[:LEAST] not in "".join(records(project))


def test_it_is_counted_first_and_audited(project):
    record(project)
    before = records(project)
    save(project.pk, RULES)
    out = StringIO()
    call_command("mask", "--history", "--dry-run", stdout=out)
    assert records(project) == before
    counted = masking_history.preview(project)
    done = masking_history.run(project, COMMAND)
    assert (counted.lines, counted.records) == (done.lines, done.records)
    assert done.records > 10
    assert f"and {done.records} records would be masked" in out.getvalue()
    (entry,) = AuditEntry.objects.filter(action="masking.history")
    assert entry.after["records"] == done.records
    assert entry.after["place"] == done.counts["place"]


def test_a_second_run_changes_nothing(project):
    record(project)
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    before = bodies(project), records(project)
    done = masking_history.run(project, COMMAND)
    assert (done.lines, done.rows, done.records) == (0, 0, 0)
    assert (bodies(project), records(project)) == before


def test_sessions_without_a_changed_line_or_a_pruned_body_are_not_read(project):
    record(project)
    young = Session.objects.get(session_id="young-plain")
    Session.objects.filter(pk=young.pk).update(title=f"to {SECRET}")  # as no line says
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    assert Session.objects.get(pk=young.pk).title == f"to {SECRET}"


def test_killed_at_any_statement_it_is_resumed(project, monkeypatch):
    monkeypatch.setattr(masks, "PORTION", 7)
    record(project, cut=True)
    before, gone = bodies(project), pruned(project)
    save(project.pk, RULES)
    wanted, counted = expected(project, before), masking_history.preview(project)
    chances, kills, longest = random.Random(5), 0, 40
    while not MaskingHistory.objects.filter(finished_at__isnull=False).exists():
        try:
            with connection.execute_wrapper(Kill(chances.randint(1, longest))):
                masking_history.run(project, COMMAND)
        except Killed:
            kills, longest = kills + 1, longest + 10
        assert all(raw in {before[pk], wanted[pk]} for pk, raw in bodies(project).items())
        assert kills < 100
    assert kills > 2
    assert (bodies(project), pruned(project)) == (wanted, gone)
    (done,) = MaskingHistory.objects.all()
    assert (done.lines, done.records) == (counted.lines, counted.records)
    assert SECRET[:LEAST] not in "".join(records(project))


def test_the_search_index_has_the_same_documents_without_the_secret(project):
    record(project)
    indexer.run_all()
    before = documents()
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    indexer.run_all()
    assert documents() == before
    assert not SearchDocument.objects.filter(text__contains=SECRET).exists()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {tables.table(project.pk)}")
        assert "lighthouse" not in str(cursor.fetchall())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a zanzib", "a MARK"),
        ("a zanzi", "a zanzi"),
        ("place: zanzibar-l…, n: 7", "place: MARK…, n: 7"),
        ("zanzibar-l…, zanzibar…", "MARK…, MARK…"),
        ("zanzibar is a place", "zanzibar is a place"),
        ("", ""),
        ("…", "…"),
    ],
)
def test_the_beginning_of_a_recognised_secret_is_masked_where_a_text_is_cut(text, wanted):
    assert Secrets({SECRET: "MARK"}).without_beginnings(text) == wanted
