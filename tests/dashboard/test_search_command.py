"""`loopscope search` on the command line."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from recorder.models import Project
from recorder.search import indexer
from tests.dashboard.pages.session.conftest import feed, project
from tests.support import build
from tests.support.small_loop import Loop

__all__ = ["feed", "project"]


@pytest.fixture
def recorded(feed, project):
    feed(*build.small_loop("plain.a.1"))
    waits = Loop("waits")
    feed(waits.start(), waits.turn(), waits.tool("t", "edit"))
    Project.objects.create(slug="other")


@pytest.mark.usefixtures("recorded")
def test_sessions_are_printed_as_text_or_as_lines_of_json(capsys):
    call_command("search", "tool:edit")
    assert "waits" in (text := capsys.readouterr().out)
    assert "plain" not in text

    call_command("search", "session:plain")
    assert ", 1 turn)" in capsys.readouterr().out

    call_command("search", "", "--json", "--limit", "1")
    call_command("search", "session:plain", "--json")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["session_id"] for line in lines] == ["waits", "plain"]

    call_command("search", "turns:>=0", "--project", "other")
    assert capsys.readouterr().out == ""


def test_hits_are_printed_below_their_session(feed, project, capsys):
    loop = Loop("found")
    hostile = "The needle\x1b[2J\u202e is\nhere"
    feed(loop.start(), loop.turn(), *loop.prompt("A needle?"), loop.tool("t", "edit", path="needle.txt"))
    feed(*[event for text in (hostile, "no needle") for event in (loop.answering(), loop.answer(text))])
    feed(*build.small_loop("plain.a.1"))
    indexer.run_all()

    call_command("search", "needle")
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert "found" in head
    assert lines == [
        "    answer       no needle",
        "    answer       The needle [2J  is here",
        "    tool call    edit path: needle.txt",
        "    2 more hits",
    ]

    call_command("search", "needle", "--json")
    line = json.loads(capsys.readouterr().out)
    assert (line["session_id"], line["more"]) == ("found", 2)
    assert line["hits"][0] | {"loop": 0, "turn": 0, "event": 0, "at": ""} == {
        "kind": "answer",
        "loop": 0,
        "turn": 0,
        "event": 0,
        "at": "",
        "snippet": "no needle",
        "ranges": [[3, 9]],
    }

    call_command("search", "turns:>=0", "--json")
    assert [json.loads(line)["hits"] for line in capsys.readouterr().out.splitlines()] == [[], []]


@pytest.mark.usefixtures("recorded")
def test_a_bad_query_exits_with_2_and_its_position_is_marked(capsys):
    with pytest.raises(SystemExit) as exited:
        call_command("search", "a costs:>1")
    assert exited.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "a costs:>1",
        "  ^^^^^",
        "Unknown key “costs” at character 3. Did you mean cost?",
        "Write: a cost:>1",
    ]
    with pytest.raises(SystemExit):
        call_command("search", "a OR")


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("arguments", [("--project", "none"), ("--limit", "0")], ids=" ".join)
def test_an_unknown_project_or_a_bad_limit_is_an_error(arguments):
    with pytest.raises(CommandError):
        call_command("search", "a", *arguments)
