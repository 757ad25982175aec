"""A session as one HTML file: complete, safe and without anything to load."""

import re
from contextlib import suppress
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from dashboard.shared.session_file.document import html_file
from recorder.journal.read import Pruned
from recorder.models import Project, Session
from tests.support.foreign_tapes import TAPES

pytestmark = pytest.mark.django_db(transaction=True)
# What could load, run or send something. Text of agents is escaped, so it has no such tags.
ACTIVE = re.compile(
    r"<(script|iframe|object|embed|link|form|base|svg|video|audio)\b|\son\w+=[\"']|url\(|@import"
)


def sessions(tape):
    project = Project.objects.create(slug="default")
    with suppress(CommandError):
        call_command("import_runs", str(TAPES / tape), stdout=StringIO(), stderr=StringIO())
    return list(Session.objects.filter(project=project).order_by("pk"))


def text(session):
    return b"".join(html_file(session)).decode()


@pytest.mark.parametrize(
    "tape", ["hostile.events.jsonl", "phi-core/05-sub-agents.events.jsonl", "claude-code"]
)
def test_it_has_nothing_active(tape):
    for session in sessions(tape):
        made = text(session)
        outside = re.sub(r"&lt;.*?&gt;", "", made)  # escaped text is inert
        assert ACTIVE.search(re.sub(r">[^<]*<", "><", outside)) is None
        assert "default-src 'none'" in made
        assert made.endswith("</html>")


def test_it_has_the_texts_figures_and_tools_of_a_session():
    (session,) = sessions("phi-core/06-compaction-block-based.events.jsonl")

    made = text(session)

    assert made.count('class="file-turn"') == session.turns
    assert made.count("<b>log</b>") == session.tool_calls
    for expected in ("Scan the logs for errors.", "Checking log part 4.", "9 messages became 7", "$0.0667"):
        assert expected in made
    assert made.count('<section class="file-loop"') == session.loops


def test_a_sub_agent_is_linked_from_its_tool_call_and_follows_its_caller():
    session = next(each for each in sessions("claude-code") if each.sub_agents)

    made = text(session)

    assert '<a class="file-link" href="#loop-2">' in made
    assert 'data-depth="1"' in made
    assert made.index('id="loop-1"') < made.index('id="loop-2"')


def test_half_a_surrogate_pair_is_written():
    session = sessions("phi-core/05-sub-agents.events.jsonl")[0]
    session.title = "\ud83d"

    assert "<title>? ·" in text(session)


def test_a_session_with_pruned_bodies_is_refused():
    session = sessions("phi-core/05-sub-agents.events.jsonl")[0]
    session.pruned_on = session.created_at.date()

    with pytest.raises(Pruned):
        text(session)


def test_the_command_writes_it():
    session = sessions("phi-core/05-sub-agents.events.jsonl")[0]
    out = StringIO()

    call_command("export_session", session.session_id, "--as=html", stdout=out)

    assert out.getvalue() == text(session)
