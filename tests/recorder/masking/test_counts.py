"""Counts of masked values, by project, rule and day."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import save
from recorder.models import JournalEvent, MaskCount, Project
from recorder.operations.audit import COMMAND
from recorder.operations.masking import history
from recorder.projection.rebuild import rebuild
from tests.support.build import agent_start, line, message_start, message_update, turn_start

KEY = "AKIAIOSFODNN7EXAMPLE"
ADDRESS = "postgres://u:hunter2@h"
pytestmark = pytest.mark.django_db(transaction=True)


def send(project, *notes, producer="p", first=None, **more):
    lines = [line({"type": "X", "note": note}) for note in notes]
    return ingest(Batch(project.pk, producer, first, lines, **more))


def counts(project):
    return dict(MaskCount.objects.filter(project=project).values_list("rule", "masked"))


def test_each_mask_counts_for_its_rule_and_project(project):
    other = Project.objects.create(slug="other")
    send(project, f"{KEY} and {KEY}", ADDRESS, "nothing")
    send(project, KEY)
    send(other, KEY)
    assert counts(project) == {"aws-access-key-id": 3, "connection-string": 1}
    assert counts(other) == {"aws-access-key-id": 1}
    days = set(MaskCount.objects.values_list("day", flat=True))
    assert days == {JournalEvent.objects.earliest("pk").received_at.date()}


def test_what_is_not_stored_is_not_counted(project):
    send(project, KEY, first=0)
    assert send(project, KEY, first=0).duplicates == 1
    assert counts(project) == {"aws-access-key-id": 1}


def test_what_only_looks_like_a_mask_makes_no_row(project):
    send(project, "[masked:no-such-rule:0011aabb]", "[masked:jwt:0011aabb]")
    assert counts(project) == {"jwt": 1}, "a sender masks by our rules, too"


def test_masks_of_own_patterns_and_over_deltas_count(project):
    save(project.pk, RuleSettings(patterns=(OwnPattern("customer", r"\bACME-C\d{7}\b"),)))
    deltas = [message_update(text=part) for part in ("key ", KEY[:9], KEY[9:], " of ACME-C0041872 ")]
    events = [agent_start("s.a.1"), turn_start("s.a.1"), message_start(), *deltas]
    ingest(Batch(project.pk, "p", 0, [line(event) for event in events]))
    assert counts(project) == {"aws-access-key-id": 1, "customer": 1}


def test_the_demo_is_not_counted(project):
    send(project, KEY, is_demo=True)
    assert counts(project) == {}


def test_a_rebuild_and_a_removed_rule_leave_the_counts(project):
    send(project, KEY)
    save(project.pk, RuleSettings(off=frozenset(("aws-access-key-id",))))
    send(project, KEY)
    rebuild(project)
    assert counts(project) == {"aws-access-key-id": 1}


def test_masking_the_history_adds_what_it_masks(project):
    send(project, "mail ana@shop.example", f"again ana@shop.example {KEY}")
    save(project.pk, RuleSettings(on=frozenset(("email",))))
    history.run(project, COMMAND)
    assert counts(project) == {"aws-access-key-id": 1, "email": 2}
    history.run(project, COMMAND)
    assert counts(project) == {"aws-access-key-id": 1, "email": 2}


def test_any_number_of_masks_is_one_more_statement(project):
    send(project, "nothing", KEY)
    statements = []
    for notes in (["nothing"] * 40, [KEY] * 40):
        with CaptureQueriesContext(connection) as captured:
            send(project, *notes)
        statements.append(len(captured))
    assert statements[1] - statements[0] == 1
