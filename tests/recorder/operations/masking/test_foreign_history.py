"""`mask --history` on the lines of other runtimes, and on the native events that were derived from them."""

import pytest

from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import masker_of, save
from recorder.models import JournalEvent
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.operations.masking import history as masking_history
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures
from tests.recorder.operations.secret_sessions import expected, stored
from tests.support.foreign_tapes import TAPES, send, tape
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)

# Ordinary words, which many lines repeat, as secrets.
WORDS = RuleSettings(patterns=(OwnPattern("word", r"\b(?:the|file|test|python)\b"),))
TRANSCRIPTS = [
    (form, str(path.relative_to(TAPES)))
    for form in ("claude-code", "codex", "pi")
    for path in sorted((TAPES / form).glob("*/*.jsonl"))
]


def check(project):
    """Mask what is stored, and compare lines, records and integrity."""
    before = stored(project)
    save(project.pk, WORDS)
    masker, wanted = masker_of(project.pk), expected(project, before)
    done = masking_history.run(project, COMMAND)
    sent = set(JournalEvent.objects.filter(project=project, kind="line").values_list("pk", flat=True))
    after = stored(project)
    assert {pk: after[pk] for pk in sent} == {pk: wanted[pk] for pk in sent}
    assert done.lines == sum(before[pk] != wanted[pk] for pk in sent)
    assert all(masker.mask(raw).line == raw for raw in after.values())
    assert list(findings()) == []
    now = records(project)
    rebuild(project)
    assert records(project) == now


@pytest.mark.parametrize(("form", "path"), TRANSCRIPTS)
def test_transcripts(project, form, path):
    send(project, tape(path), form, cuts=(5, 9), flush=True)
    check(project)


@pytest.mark.parametrize("capture", captures.CAPTURES[::3])
def test_spans(project, capture):
    for batch in captures.lines(capture):
        captures.record(project, batch)
    check(project)
