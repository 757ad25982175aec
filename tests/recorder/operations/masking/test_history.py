"""`mask --history`: what is stored already is masked, every other line and record stays as it was."""

import json
import re

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.insights.consolidate import consolidate
from recorder.journal.removal import masks
from recorder.masking.counts import masks_in
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import masker_of, save
from recorder.models import (
    AuditEntry,
    Insight,
    InsightEvidence,
    JournalEvent,
    MaskingHistory,
    Project,
    QuarantinedLine,
)
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.operations.masking import history as masking_history
from recorder.projection.rebuild import rebuild
from tests.phi_core.scenarios import FOLDER
from tests.recorder.insights.fixtures import working
from tests.recorder.operations.secret_sessions import (
    LONG,
    NOW,
    RULES,
    SECRET,
    SECRET_LONG,
    expected,
    play,
    record_sessions,
    stored,
    whole,
)
from tests.support.build import line
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)

TAPES = ("01-tools-two-prompts", "03-parallel-judge", "05-sub-agents", "06-compaction-block-based")


def masked_tape(project, name):
    """Record a tape of which an ordinary word, that many lines repeat, is a secret."""
    lines = (FOLDER / f"{name}.events.jsonl").read_bytes().splitlines()
    play(project, lines, name)
    return RuleSettings(patterns=(OwnPattern("word", r"\b(?:the|file|test)\b"),))


def without_tags(project):
    """Return the records of a project without tags, and hashes of texts with tags: they differ by project."""
    keyed = r'\[masked:place:[0-9a-f]{8}\]|"answer_key": "[0-9a-f]+"'
    return sorted(re.sub(keyed, "", each) for each in records(project))


def test_lines_are_masked_and_all_others_stay_byte_for_byte(project):
    record_sessions(project)
    before = stored(project)
    encoded = list(JournalEvent.objects.exclude(pieces=None).values_list("pk", flat=True))
    assert encoded, "else this tests nothing"
    save(project.pk, RULES)
    wanted = expected(project, before)

    done = masking_history.run(project, COMMAND)

    assert stored(project) == wanted
    changed = [pk for pk in before if before[pk] != wanted[pk]]
    assert done.lines == len(changed) > 5
    assert done.counts == {"place": sum(masks_in(raw) for raw in wanted.values())}
    assert all(SECRET not in each for each in records(project))
    for row in JournalEvent.objects.filter(size__gt=0):
        assert (row.size, row.masked or 0) == (len(wanted[row.pk]), masks_in(wanted[row.pk]))
    assert list(findings()) == []


def test_the_records_are_those_of_a_project_that_had_the_rules_at_first(project):
    other = Project.objects.create(slug="other")
    save(other.pk, RULES)
    record_sessions(project, other)
    save(project.pk, RULES)

    masking_history.run(project, COMMAND)

    assert without_tags(project) == without_tags(other)
    before = records(project)
    rebuild(project)
    assert records(project) == before


@pytest.mark.parametrize("name", TAPES)
def test_lines_that_copy_from_each_other_stay_readable(project, name):
    rules = masked_tape(project, name)
    before = stored(project)
    save(project.pk, rules)
    wanted = expected(project, before)
    masking_history.run(project, COMMAND)
    assert stored(project) == wanted
    assert list(findings()) == []


FRAGMENTS = (LONG, SECRET_LONG, SECRET, f"{SECRET} {LONG}", "x" * 300, "short", f"{LONG[:200]}{SECRET}")


@hypothesis_settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    )
)
def test_any_lines_that_copy_from_each_other_stay_readable(sessions):
    project = Project.objects.create(slug=f"h{Project.objects.count()}")
    for n, (parts, producer) in enumerate(sessions):
        play(project, whole(f"{project.slug}-{n}", " ".join(parts)), f"p{producer}")
    before = stored(project)
    save(project.pk, RULES)
    wanted = expected(project, before)
    masking_history.run(project, COMMAND)
    assert stored(project) == wanted
    assert list(findings()) == []


def test_masked_lines_are_still_encoded_against_each_other(project):
    for n in range(12):
        play(project, whole(f"s{n}", f"{SECRET_LONG} {n}"))
    save(project.pk, RULES)
    before = sum(len(bytes(own)) for own in JournalEvent.objects.values_list("own", flat=True))
    masking_history.run(project, COMMAND)
    after = sum(len(bytes(own)) for own in JournalEvent.objects.values_list("own", flat=True))
    assert after < 1.5 * before


def test_lines_that_come_after_it_are_encoded_against_masked_ones(project):
    record_sessions(project)
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    before = stored(project)
    play(project, whole("next", SECRET_LONG), "p")
    play(project, whole("next-2", LONG), "q")
    after = stored(project)
    assert {pk: after[pk] for pk in before} == before
    assert SECRET.encode() not in b"".join(after.values())
    assert list(findings()) == []


def test_a_line_that_is_sent_again_as_it_was_is_a_duplicate(project):
    lines = whole("s", SECRET_LONG)
    ingest(Batch(project.pk, "p", 0, lines))
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    before = stored(project)
    again = ingest(Batch(project.pk, "p", 0, lines))
    assert (again.duplicates, list(again.rejected)) == (len(lines), [])
    assert stored(project) == before


def test_a_second_run_changes_nothing(project):
    record_sessions(project)
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    before = stored(project), records(project)
    done = masking_history.run(project, COMMAND)
    assert (done.lines, done.rows, done.counts) == (0, 0, {})
    assert (stored(project), records(project)) == before


def test_other_projects_stay(project):
    other = Project.objects.create(slug="other")
    record_sessions(other)
    before = stored(other), records(other)
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    assert (stored(other), records(other)) == before


def test_it_is_an_entry_of_the_audit_log_with_counts(project):
    record_sessions(project)
    save(project.pk, RULES)
    done = masking_history.run(project, COMMAND)
    (entry,) = AuditEntry.objects.filter(action="masking.history")
    assert (entry.actor_kind, entry.target, entry.project_id) == ("command", project.slug, project.pk)
    assert entry.after == {"lines": done.lines, "rejected": 0, "place": done.counts["place"]}


def test_derived_events_and_rejected_lines_are_masked(project):
    user = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "cc",
        "timestamp": "2026-11-01T10:00:00Z",
        "message": {"role": "user", "content": f"go to {SECRET}"},
    }
    play(project, [json.dumps(user).encode()], "transcript", format="claude-code")
    play(project, [b'{"type":"AgentStart","note":"' + SECRET.encode() + b'"'], "broken")
    assert SECRET.encode() in bytes(QuarantinedLine.objects.get().raw)
    assert JournalEvent.objects.filter(kind="read").exists()
    save(project.pk, RULES)
    done = masking_history.run(project, COMMAND)
    assert (done.lines, done.rejected) == (1, 1)
    assert SECRET.encode() not in b"".join(stored(project).values())
    assert SECRET.encode() not in bytes(QuarantinedLine.objects.get().raw)
    assert SECRET not in "".join(records(project))


def test_insights_are_masked(project):
    events = working("s1.coder.1", "test!", "edit a.py", "test")
    lines = [line(event).replace(b"bad line", f"no {SECRET} at".encode()) for event in events]
    play(project, lines)
    consolidate(project, lambda *_: None)
    assert InsightEvidence.objects.filter(text__contains=SECRET).exists()
    assert Insight.objects.filter(statement__contains="zanzibar-lighthouse-#").exists()
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    assert InsightEvidence.objects.filter(text__contains="[masked:place:").exists()
    assert not InsightEvidence.objects.filter(text__contains="lighthouse").exists()
    assert not Insight.objects.filter(statement__contains="lighthouse").exists()


def test_lines_are_never_changed_without_a_run(project):
    record_sessions(project)
    save(project.pk, RULES)
    (day, *_) = masks.days(project.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        masks.mask_day(day, masker_of(project.pk), lambda _: None)
    MaskingHistory.objects.create(project=Project.objects.create(slug="other"), started_at=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        masks.mask_day(day, masker_of(project.pk), lambda _: None)


def test_a_line_that_is_not_restored_as_it_should_be_changes_nothing(project, monkeypatch):
    record_sessions(project)
    before = stored(project)
    save(project.pk, RULES)
    monkeypatch.setattr(masks, "_encoded", lambda *_: (b"{}", None))
    with pytest.raises(masks.NotRestored):
        masking_history.run(project, COMMAND)
    assert stored(project) == before
