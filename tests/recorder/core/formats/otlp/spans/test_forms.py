"""Messages are read in every form in which senders write them."""

import json

import pytest

from recorder.core.formats.otlp.spans.content.forms import CUT, messages_in, opened
from tests.recorder.core.formats.otlp.spans.lines import log, of_type, span

USER = {"role": "user", "content": "Weather?"}
LANGCHAIN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "HumanMessage"],
    "kwargs": {"content": "Weather?"},
}


@pytest.mark.parametrize("value", [
    "Weather?",
    [USER],
    USER,
    {"messages": [USER]},
    {"messages": [["user", "Weather?"]]},
    {"messages": [[{"type": "human", "content": "Weather?"}]]},
    {"messages": [[LANGCHAIN]]},
    {"input": "Weather?"},
    {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
    {"args": [], "kwargs": {"question": "Weather?"}},
    {"messages": [{"type": "human", "data": {"content": "Weather?"}}]},
    {"inputs": {"messages": [USER]}},
    [{"type": "text", "text": "Weather?"}],
    [{"text": "Weather?"}],
])  # fmt: skip
@pytest.mark.parametrize("escapes", [0, 1, 2])
def test_a_prompt_is_its_text_in_each_form(value, escapes):
    for _ in range(escapes):
        value = json.dumps(value)
    [end, *_] = of_type([span(CALL | {"gen_ai.prompt": value})], "MessageEnd")

    assert end["message"]["role"] == "user"
    assert [block["text"] for block in end["message"]["content"]] == ["Weather?"]


CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 4,
    "gen_ai.usage.output_tokens": 2,
}


@pytest.mark.parametrize("value", [
    "Rain.",
    {"role": "assistant", "content": "Rain."},
    {"choices": [{"message": {"role": "assistant", "content": "Rain."}}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Rain."}]}}]},
    {"generations": [[{"text": "Rain.", "type": "ChatGeneration"}]]},
    {"content": [{"type": "text", "text": "Rain."}], "role": "assistant"},
    {"type": "ai", "data": {"content": "Rain."}},
    {"outputs": {"content": "Rain.", "role": "assistant"}},
    {"output": [{"role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]}]},
])  # fmt: skip
def test_an_answer_is_its_text_in_each_form(value):
    text = value if isinstance(value, str) else json.dumps(value)
    [message] = [
        each["message"]
        for each in of_type([span(CALL | {"gen_ai.completion": text})], "MessageEnd")
        if each["message"]["role"] == "assistant"
    ]
    assert [block["text"] for block in message["content"]] == ["Rain."]


@pytest.mark.parametrize("length", range(12, 70, 3))
def test_json_that_was_cut_is_shown_as_far_as_it_goes(length):
    text = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Capital of Chile, please?"}]}])
    found = json.dumps(messages_in(text[:length], "user"))

    if length > text.index("Capital") + 3:
        assert "Cap" in found
        assert json.dumps(CUT)[1:-1] in found


def test_a_message_that_was_cut_before_its_text_is_the_mark_alone():
    text = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Capital of Chile?"}]}])
    item = span(CALL | {"gen_ai.input.messages": text[: text.index('", "content"')]})
    [end] = of_type([item], "MessageEnd")[:1]
    assert [block["text"] for block in end["message"]["content"]] == [CUT.strip()]


def blocks_of_answer(attributes):
    ends = of_type([span(CALL | attributes)], "MessageEnd")
    return [block for end in ends for block in end["message"]["content"] if end["message"]["role"] != "user"]


BLOCKS = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "text", "text": "Rain."}]


@pytest.mark.parametrize("message", [
    {"role": "assistant", "content": json.dumps(BLOCKS)},
    {"role": "assistant", "parts": [{"type": "text", "content": json.dumps(BLOCKS)}]},
    {"role": "assistant", "content": [{"type": "text", "text": json.dumps(BLOCKS)}]},
])  # fmt: skip
def test_blocks_in_the_text_of_an_answer_are_blocks(message):
    assert blocks_of_answer({"gen_ai.output.messages": json.dumps([message])}) == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Rain."},
    ]


@pytest.mark.parametrize("text", [
    '[{"type": "invoice", "sum": 3}]', '[{"type": "text"}]', '[{"type": 7}]', '[1, {"type": "text"}]',
    '[{"type": "text", "text": "cut', "[]", '[{"type": ["text"], "text": "x"}]',
    '{"type": "text", "text": "x"}',
])  # fmt: skip
def test_a_text_that_is_other_json_stays_a_text(text):
    message = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
    found = blocks_of_answer({"gen_ai.output.messages": json.dumps([message])})
    assert found == [{"type": "text", "text": text}]


def test_messages_may_be_texts_in_json_of_a_list():
    attributes = {
        "gen_ai.input.messages": [json.dumps(USER)],
        "gen_ai.output.messages": [json.dumps({"role": "assistant", "content": "Rain."})],
    }
    ends = of_type([span(CALL | attributes)], "MessageEnd")
    found = [(end["message"]["role"], end["message"]["content"][0]["text"]) for end in ends]
    assert found == [("user", "Weather?"), ("assistant", "Rain.")]


def test_details_of_a_call_may_be_in_the_body_of_their_log_record():
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "Rain."}]}]
    about = {"gen_ai.input.messages": [USER], "gen_ai.output.messages": json.dumps(answer)}
    name = "gen_ai.client.inference.operation.details"
    for record in (log(name, body=about), log(name, about), log(name, body=json.dumps(about))):
        ends = of_type([span(CALL), record], "MessageEnd")
        assert [end["message"]["content"][0]["text"] for end in ends] == ["Weather?", "Rain."]


def test_a_finish_reason_that_python_printed_has_the_name_of_its_value():
    [end] = of_type([span(CALL | {"gen_ai.response.finish_reasons": ["FinishReason.STOP"]})], "TurnEnd")
    assert end["message"]["stopReason"] == "STOP"


@pytest.mark.parametrize("text", ["[[plain]] a question", '{"city": "Oslo"', "[1] as said", '"quoted" word'])
def test_a_text_that_looks_like_json_stays(text):
    assert isinstance(opened(text), str) or text.startswith("{")


def test_bytes_in_messages_are_named_and_measured():
    parts = [
        {"type": "text", "content": "What is it?"},
        {"type": "blob", "modality": "image", "content": "x" * 360_000},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "x" * 4_978}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x" * 2_000_000}},
        {"inlineData": {"mimeType": "audio/wav", "data": "x" * 700}},
    ]
    sent = json.dumps([{"role": "user", "parts": parts}])
    [end] = of_type([span(CALL | {"gen_ai.input.messages": sent})], "MessageEnd")[:1]

    assert [block["text"] for block in end["message"]["content"]] == [
        "What is it?", "[image, 360 kB]", "[image, 5 kB]", "[image, 2.0 MB]", "[audio, 700 B]",
    ]  # fmt: skip


@pytest.mark.parametrize(("content", "shown"), [
    ("data:image/png;base64," + "A" * 5_000, "[image, 5 kB]"),
    ([{"type": "text", "text": "data:audio/wav;base64," + "A" * 700}], "[audio, 722 B]"),
    ([{"type": "file", "mediaType": "image/png", "data": "A" * 5_000}], "[image, 5 kB]"),
    ([{"type": "file", "mediaType": "application/pdf", "data": "A" * 5_000}], "[file, 5 kB]"),
    ("data:text/plain, what is it?", "data:text/plain, what is it?"),
    ("data:image/png;base64,AA and what is it?", "data:image/png;base64,AA and what is it?"),
])  # fmt: skip
def test_a_medium_is_named_by_its_type(content, shown):
    sent = json.dumps([{"role": "user", "content": content}])
    [end, *_] = of_type([span(CALL | {"gen_ai.input.messages": sent})], "MessageEnd")

    assert [block["text"] for block in end["message"]["content"]] == [shown]


INDEXED = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Weather?"}
OPENINFERENCE = {
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "Rain.",
}


@pytest.mark.parametrize("attributes", [
    INDEXED | {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Rain."}])},
    {"gen_ai.input.messages": json.dumps([USER])} | OPENINFERENCE,
    INDEXED | OPENINFERENCE,
    {"llm.prompts.0.role": "user", "llm.prompts.0.content": "Weather?",
     "llm.completions.0.role": "assistant", "llm.completions.0.content": "Rain."},
])  # fmt: skip
def test_input_and_output_may_have_two_forms(attributes):
    ends = of_type([span(CALL | attributes)], "MessageEnd")

    texts = [[block["text"] for block in end["message"]["content"]] for end in ends]
    assert texts == [["Weather?"], ["Rain."]]


@pytest.mark.parametrize("attributes", [
    {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.function_call.name": "get_weather",
     "gen_ai.completion.0.function_call.arguments": '{"city": "Oslo"}'},
    {"gen_ai.output.messages": json.dumps([{
        "role": "assistant", "content": None,
        "function_call": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
    }])},
])  # fmt: skip
def test_a_call_of_the_api_before_tool_calls_is_one(attributes):
    [end] = of_type([span(CALL | attributes)], "MessageEnd")

    [call] = end["message"]["content"]
    assert (call["type"], call["name"], call["arguments"]) == ("toolCall", "get_weather", {"city": "Oslo"})


ANSWER = {"role": "assistant", "content": "Rain."}


@pytest.mark.parametrize(("prompt", "answer"), [
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.request.messages", "gen_ai.response.messages"),
    ("gen_ai.prompts", "gen_ai.completions"),
    ("gen_ai.input", "gen_ai.output"),
    ("llm.request.messages", "llm.response.content"),
    ("llm.prompt", "llm.completion"),
])  # fmt: skip
def test_messages_are_read_under_each_name(prompt, answer):
    attributes = {prompt: json.dumps([USER]), answer: json.dumps([ANSWER])}
    [asked, answered] = of_type([span(CALL | attributes)], "MessageEnd")
    assert [block["text"] for block in asked["message"]["content"]] == ["Weather?"]
    assert [block["text"] for block in answered["message"]["content"]] == ["Rain."]


def test_the_calls_of_an_indexed_answer_may_be_json():
    call = {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"c": 1}'}}
    found = blocks_of_answer({"gen_ai.completion.0.tool_calls": json.dumps([call, 7])})
    assert found == [{"type": "toolCall", "id": "c1", "name": "w", "arguments": {"c": 1}}]


@pytest.mark.parametrize("attributes", [
    {"gen_ai.response.finish_reasons": ["stop", "length"]},
    {"gen_ai.response.finish_reasons": "['stop']"},
    {"gen_ai.response.finish_reasons": '["stop"'},
    {"gen_ai.response.finish_reasons": "stop,length"},
    {"gen_ai.response.finish_reasons": "FinishReason.stop"},
    {"gen_ai.response.finish_reason": "stop"},
    {"llm.response.finish_reason": "stop"},
    {"llm.response.stop_reason": "stop"},
])  # fmt: skip
def test_the_reason_why_an_answer_ended_is_one_word(attributes):
    [end] = of_type([span(CALL | attributes)], "TurnEnd")
    assert end["message"]["stopReason"] == "stop"


@pytest.mark.parametrize(("kind", "path"), [
    ("image", "image.image.url"), ("image", "image.url"), ("audio", "audio.audio.url"),
])  # fmt: skip
def test_media_of_openinference_are_shown_by_their_size(kind, path):
    part = "llm.input_messages.0.message.contents.0.message_content"
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.input_messages.0.message.role": "user",
        f"{part}.type": kind,
        f"{part}.{path}": f"data:{kind}/x;base64,{'A' * 360_000}",
    }
    prompt = of_type([span(attributes)], "MessageEnd")[0]["message"]
    assert prompt["content"] == [{"type": "text", "text": f"[{kind}, 360 kB]"}]


def test_a_text_of_messages_with_their_roles_is_read_as_these():
    text = "system: Be brief.\nuser: Weather?\nIn Oslo.\nassistant: Rain.\nuser: Thanks."
    assert [(each["role"], each["content"]) for each in messages_in(text, "user")] == [
        ("system", "Be brief."),
        ("user", "Weather?\nIn Oslo."),
        ("assistant", "Rain."),
        ("user", "Thanks."),
    ]
    for plain in ("A user: Weather?", "Say\nuser: Weather?"):
        assert messages_in(plain, "user") == [{"role": "user", "content": plain}]
    assert messages_in("user: me", "assistant") == [{"role": "assistant", "content": "user: me"}]


@pytest.mark.parametrize("message", [
    {"role": "model", "parts": [{"function_call": {"id": "c", "name": "look", "args": {"city": "Oslo"}}}]},
    {"type": "AssistantMessage", "content": [{"id": "c", "name": "look", "arguments": '{"city": "Oslo"}'}]},
])  # fmt: skip
def test_calls_of_googles_clients_and_of_autogen_are_tool_calls(message):
    answer = of_type([span(CALL | {"gen_ai.output.messages": json.dumps([message])})], "MessageEnd")[-1]
    assert answer["message"]["content"] == [
        {"type": "toolCall", "id": "c", "name": "look", "arguments": {"city": "Oslo"}}
    ]


def test_messages_of_autogen_have_their_class_in_place_of_a_role():
    sent = [{"type": "SystemMessage", "content": "Be brief."}, {"type": "UserMessage", "content": "Weather?"}]
    attributes = CALL | {"gen_ai.input.messages": json.dumps({"messages": sent})}
    prompt, *_ = of_type([span(attributes)], "MessageEnd")
    [request] = of_type([span(attributes)], "TurnRequest")
    assert prompt["message"]["content"] == [{"type": "text", "text": "Weather?"}]
    assert request["payload"]["system_prompt"] == "Be brief."


@pytest.mark.parametrize("name", ["gen_ai.prompt", "gen_ai.input.messages", "input.value"])
@pytest.mark.parametrize("value", [
    "[{'role': 'user', 'content': 'Weather?', 'name': None}]",
    "({'role': 'user', 'parts': [{'type': 'text', 'content': 'Weather?'}]},)",
    "{'messages': [HumanMessage(content='Weather?', additional_kwargs={})]}",
    "[('system', 'Be brief.'), ('human', 'Weather?')]",
])  # fmt: skip
def test_messages_that_python_printed_are_read(name, value):
    [end, *_] = of_type([span(CALL | {name: value})], "MessageEnd")

    assert end["message"]["role"] == "user"
    assert [block["text"] for block in end["message"]["content"]] == ["Weather?"]


@pytest.mark.parametrize("value", [
    "content='Rain.' additional_kwargs={} response_metadata={'finish_reason': 'stop'}",
    "{'role': 'assistant', 'content': \"Rain.\", 'tool_calls': None}",
    "ChatCompletion(choices=[Choice(message=ChatCompletionMessage(content='Rain.', role='assistant'))])",
    "generations=[[Generation(text='Rain.')]] llm_output=None",
    "message=ChatMessage(role='assistant', content='Rain.') raw=None",
])  # fmt: skip
def test_an_answer_that_python_printed_is_read(value):
    [end] = of_type([span(CALL | {"gen_ai.completion": value})], "MessageEnd")

    assert [block["text"] for block in end["message"]["content"]] == ["Rain."]


@pytest.mark.parametrize("text", [
    "['a', 'b']", "{'a': 1}", "x=1", "Point(x=1, y=2)", "['user', 'admin']", "query='cats' task='find'",
    "text=5", "print(text='hi')", "client.create(model='m', prompt='Weather?')",
])  # fmt: skip
def test_python_that_holds_no_message_stays_text(text):
    ends = of_type([span(CALL | {"gen_ai.prompt": text, "gen_ai.completion": text})], "MessageEnd")

    assert [end["message"]["content"][0]["text"] for end in ends] == [text, text]
