"""Ids of sessions and users, and tags, under the names and in the types in which senders write them."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.conversation.id": 7},
        {"session.id": 7},
        {"traceloop.association.properties.thread_id": 7},
        {"metadata": json.dumps({"thread_id": 7})},
        {"metadata": json.dumps({"session_id": 7, "thread_id": "other"})},
        {"metadata": {"thread_id": 7}},
        {"session.id": 7.0},
    ],
)
def test_an_integer_is_a_session_id_as_text(attributes):
    [start] = of_type([span(CHAT | attributes)], "AgentStart")

    assert start["session_id"] == "7"


@pytest.mark.parametrize("other", [True, 7.5, "", "null", [7]])
def test_other_values_are_no_session_id(other):
    assert span(CHAT | {"session.id": other}).digest.session == ""


BEFORE = ["ai.telemetry.metadata.", "ai.settings.context.", "traceloop.association.properties.", "metadata.",
          "langsmith.metadata.", "langfuse.trace.metadata.", "lmnr.association.properties."]  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    "name", ["session_id", "sessionId", "thread_id", "threadId", "conversation_id", "chatId"]
)
def test_metadata_that_a_program_set_names_the_session(before, name):
    assert span(CHAT | {before + name: "s"}).digest.session == "s"


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", ["user_id", "userId"])
def test_metadata_that_a_program_set_names_the_user(before, name):
    assert span(CHAT | {before + name: "u"}).digest.user == "u"


@pytest.mark.parametrize("name", [
    *("metadata", "langsmith.metadata", "langfuse.trace.metadata", "ai.telemetry.metadata"),
    *("braintrust.metadata", "litellm.metadata", "langfuse.observation.metadata"),
])  # fmt: skip
def test_metadata_in_one_attribute_names_session_user_and_tags(name):
    about = {"session_id": "s", "user_id": "u", "tags": ["a", "b"]}
    for value in (json.dumps(about), about):
        item = span(CHAT | {name: value})
        assert (item.digest.session, item.digest.user) == ("s", "u")
        [start] = of_type([item], "AgentStart")
        assert start["metadata"]["tags"] == "a, b"
    for value in ("{", "[]", "7", json.dumps({"session_id": "unknown"})):
        assert span(CHAT | {name: value}).digest.session == ""


@pytest.mark.parametrize("name", [
    *("langfuse.sessionId", "llm.session_id", "agent.session.id", "gen_ai.agent.session.id"),
    *("agno.session.id", "gen_ai.thread_id", "openai.thread_id", "dify.conversation.id"),
    *("copilot_chat.chat_session_id", "litellm.litellm_session_id", "trace.metadata.session_id"),
    *("posthog.session_id", "genkit:sessionId", "openclaw.sessionId", "app.session.id", "chainlit.thread_id"),
])  # fmt: skip
def test_further_senders_name_the_session(name):
    assert span(CHAT | {name: "s"}).digest.session == "s"


@pytest.mark.parametrize("name", [
    "langfuse.userId", "langsmith.trace.user_id", "agno.user.id", "litellm.user_id", "llm.openai.user",
    "posthog.distinct_id", "trace.metadata.user_id",
])  # fmt: skip
def test_further_senders_name_the_user(name):
    assert span(CHAT | {name: "u"}).digest.user == "u"


@pytest.mark.parametrize("name", ["mcp.session.id", "browser.session_id", "http.session.id"])
def test_sessions_of_a_protocol_are_none_of_the_agent(name):
    assert span(CHAT | {name: "s"}).digest.session == ""


def test_a_session_counts_before_a_thread_whatever_wrote_them():
    about = {"ai.telemetry.metadata.threadId": "t", "langsmith.metadata.session_id": "s"}
    assert span(CHAT | about).digest.session == "s"


@pytest.mark.parametrize("word", [
    *("<none>", "(none)", "not set", "unset", "{}", "-1", "{{session_id}}", "${SESSION}", "unknown-session"),
    *("unspecified", "not available", "no session"),
    "00000000-0000-0000-0000-000000000000",
])  # fmt: skip
def test_words_and_templates_are_no_ids(word):
    digest = span(CHAT | {"session.id": word, "user.id": word}).digest
    assert (digest.session, digest.user) == ("", "")


@pytest.mark.parametrize("attributes", [
    {"tag.tags": ["a", "b"]},
    {"langfuse.trace.tags": json.dumps(["a", "b"])},
    {"langsmith.span.tags": "a, b"},
    {"traceloop.association.properties.tags": ["a", "b"]},
    {"ai.settings.context.tags": ["a", "b"]},
    {"logfire.tags": ["a", "b"]},
    {"metadata": json.dumps({"tags": ["a", "b"]})},
    {"metadata": {"tags": "a,b"}},
])  # fmt: skip
def test_tags_are_those_of_each_name(attributes):
    [start] = of_type([span(CHAT | attributes)], "AgentStart")
    assert start["metadata"]["tags"] == "a, b"


def test_json_is_an_id_as_some_clients_write_it():
    text = json.dumps({"device_id": "d", "session_id": "s"})
    assert span(CHAT | {"user.id": text}).digest.user == text
