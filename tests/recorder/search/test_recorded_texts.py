"""Every recorded text is found, and once, whichever of its events hold it."""

import json

import pytest
from django.db import transaction

from recorder.core.search.tokens import query_tokens
from recorder.models import SearchDocument, SearchState, Session
from recorder.search import documents, indexer, queries
from recorder.search.match import Match
from tests.recorder.search.test_indexer import check, send, terms
from tests.support import build, foreign_tapes

pytestmark = pytest.mark.django_db(transaction=True)

LOOP = "s.a.1"


def kinds(project, text):
    """Return the kind of each document that has a text."""
    found = queries.newest(project.pk, Match((query_tokens(text),)), queries.TOP, 100).found
    return sorted(documents.NAMES[hit.kind] for hit in found if hit.kind != SearchDocument.TITLE)


def codex(*payloads):
    head = {"id": "t", "session_id": "t", "base_instructions": {"text": "You are a careful basalt"}}
    lines = [("session_meta", head), ("event_msg", {"type": "task_started", "turn_id": "t1"}), *payloads]
    return [json.dumps({"type": kind, "payload": payload}).encode() for kind, payload in lines]


def item(role, text, kind="input_text"):
    return (
        "response_item",
        {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
    )


@pytest.mark.parametrize("cuts", [(), (1,), (1, 2, 3, 4, 5, 6)])
def test_instructions_of_codex_are_system_prompts(project, cuts):
    lines = codex(
        item("developer", "Obey the granite"),
        item("user", "Mine the quartz"),
        item("developer", "Obey the granite"),
        item("assistant", "The quartz is mined", "output_text"),
        ("event_msg", {"type": "task_complete"}),
    )
    for end in (*cuts, len(lines)):
        foreign_tapes.send(project, lines[:end], "codex")
        indexer.run_all()

    assert kinds(project, "careful basalt") == kinds(project, "granite") == ["system"]
    assert kinds(project, "quartz") == ["answer", "prompt"]
    check(project)


def request(text, loop=LOOP):
    messages = [build.user("earlier"), build.assistant("before"), build.user(text)]
    result = {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}
    return {**build.turn_start(loop), "type": "TurnRequest", "payload": {"messages": [*messages, result]}}


def message(text, loop=LOOP):
    return {"type": "MessageEnd", "loop_id": loop, "message": build.user(text)}


def repeated(name):
    """Return the events of a loop whose prompt one of its events holds."""
    text = [build.user("Find the needle")]
    turn = build.turn_start(LOOP)
    return {
        "request": [build.agent_start(LOOP), turn, request("Find the needle"), build.agent_end(LOOP)],
        "start": [build.agent_start(LOOP, messages=text), turn, build.agent_end(LOOP)],
        "end": [build.agent_start(LOOP), turn, build.agent_end(LOOP, messages=text)],
        "all": [
            build.agent_start(LOOP, messages=text),
            turn,
            message("Find the needle"),
            request("Find the needle"),
            request("Find the needle"),
            build.agent_end(LOOP, messages=text),
        ],
        "message": [
            build.agent_start(LOOP),
            turn,
            message("Find the needle"),
            request("Find the needle"),
            build.agent_end(LOOP, messages=text),
        ],
    }[name]


@pytest.mark.parametrize("name", ["request", "start", "end", "all", "message"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_prompt_is_found_once_whichever_events_hold_it(project, name, is_cut):
    for event in repeated(name):
        send(project, event)
        if is_cut:
            indexer.run_all()
    check(project)

    assert kinds(project, "needle") == ["prompt"]


def test_a_prompt_that_is_sent_again_is_found_again_and_one_of_a_request_is_not(project):
    send(project, build.agent_start(LOOP), build.turn_start(LOOP), message("needle"), message("needle"))
    send(project, build.agent_start("s.a.2"), build.turn_start("s.a.2"), request("needle", "s.a.2"))
    indexer.run_all()

    assert kinds(project, "needle") == ["prompt", "prompt"]


def test_details_of_a_result_are_found_beside_its_content(project):
    end = build.tool_end(LOOP)
    content = [{"type": "text", "text": "exit 0"}]
    end["result"] = {"content": content, "details": {"diff": "+ quartz", "note": "exit 0"}}
    send(project, build.agent_start(LOOP), build.turn_start(LOOP), build.tool_start(LOOP), end)
    indexer.run_all()

    assert kinds(project, "quartz") == kinds(project, "exit 0") == ["tool_result"]
    check(project)


@pytest.mark.parametrize("text", ["0 " * 60_000, "a b " * 60_000, "x y z w " * 40_000])
def test_a_text_that_repeats_few_words_is_found_to_its_end(project, text):
    send(project, build.agent_start(LOOP), build.turn_start(LOOP), message(text + "zerosneedle at last"))
    indexer.run_all()

    assert kinds(project, "zerosneedle at last") == ["prompt"]
    assert SearchDocument.objects.count() < 150


def test_parts_of_identifiers_are_found_and_deleted_with_their_text(project):
    names = " ".join(f"nameOfUser{chr(97 + n % 26) * (n // 26 + 1)}" for n in range(400))
    send(project, build.agent_start(LOOP), build.turn_start(LOOP), message(f"call getUserName {names}"))
    indexer.run_all()

    assert kinds(project, "UserName") == kinds(project, "call getUserName") == ["prompt"]
    assert kinds(project, "user name") == kinds(project, "name of") == []
    with transaction.atomic():
        documents.remove(project.pk, [Session.objects.get().pk])
    assert terms(project) == {}


def test_an_index_of_earlier_rules_is_made_anew(project):
    send(project, *repeated("request"))
    indexer.run_all()
    SearchDocument.objects.filter(kind=SearchDocument.PROMPT).delete()
    SearchState.objects.update(version="1-15.0.0")
    indexer.run_all()

    assert kinds(project, "needle") == ["prompt"]
