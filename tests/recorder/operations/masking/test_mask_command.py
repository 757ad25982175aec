"""The command `mask --history`: counted first, interrupted at any statement, and no byte is left."""

import random
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from recorder.journal.removal import masks
from recorder.masking.project_rules import save
from recorder.models import AuditEntry, MaskingHistory
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.operations.masking import history as masking_history
from tests.recorder.interruptions import Kill, Killed
from tests.recorder.operations.secret_sessions import RULES, SECRET, expected, record_sessions, stored
from tests.support.journal_bytes import file_content

pytestmark = pytest.mark.django_db(transaction=True)


def test_killed_at_any_statement_it_is_resumed(project, monkeypatch):
    monkeypatch.setattr(masks, "PORTION", 7)
    record_sessions(project)
    before = stored(project)
    save(project.pk, RULES)
    wanted = expected(project, before)
    chances, kills = random.Random(7), 0
    longest = 40
    while not MaskingHistory.objects.filter(finished_at__isnull=False).exists():
        try:
            with connection.execute_wrapper(Kill(chances.randint(1, longest))):
                masking_history.run(project, COMMAND)
        except Killed:
            kills += 1
            longest += 40
        now = stored(project)
        assert now.keys() == before.keys()
        assert all(raw in {before[pk], wanted[pk]} for pk, raw in now.items())
        assert kills < 100
    assert kills > 3
    assert stored(project) == wanted
    (done,) = MaskingHistory.objects.all()
    assert done.lines == sum(before[pk] != wanted[pk] for pk in before), "counts survive interruptions"
    assert AuditEntry.objects.filter(action="masking.history").count() == 1
    assert list(findings()) == []


def test_the_command_counts_first_and_masks_then(project):
    record_sessions(project)
    save(project.pk, RULES)
    before = stored(project)
    out = StringIO()
    call_command("mask", "--history", "--dry-run", "--project", project.slug, stdout=out)
    assert stored(project) == before
    assert "lines would be changed" in out.getvalue()
    (places,) = [each for each in out.getvalue().splitlines() if "place: " in each]
    assert not MaskingHistory.objects.exists()
    out = StringIO()
    call_command("mask", "--history", stdout=out)
    assert places in out.getvalue()
    assert "VACUUM" in out.getvalue()
    with pytest.raises(CommandError, match="no project"):
        call_command("mask", "--history", "--project", "none")
    with pytest.raises(CommandError):
        call_command("mask")


@pytest.mark.sqlite
def test_no_byte_of_it_is_in_the_file_after_vacuum(project):
    record_sessions(project)
    file = Path(connection.settings_dict["NAME"])
    if not file.is_file():
        pytest.skip("the database is in memory")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() in file_content(file), "else this tests nothing"
    save(project.pk, RULES)
    masking_history.run(project, COMMAND)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for each in file.parent.glob(f"{file.name}*"):
        assert b"lighthouse-9417" not in file_content(each)
