"""Roles, thoughts, tool calls and results of messages are read as the clients of each vendor write them."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

USER = {"role": "user", "content": "Weather?"}
CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


@pytest.mark.parametrize(("user", "assistant"), [
    ("USER", "ASSISTANT"), ("MessageRole.USER", "MessageRole.ASSISTANT"), ("ROLE_USER", "ROLE_ASSISTANT"),
    ("HumanMessageChunk", "AIMessageChunk"), ("USER", "CHATBOT"), ("user", "bot"),
])  # fmt: skip
def test_roles_are_read_in_each_spelling(user, assistant):
    sent = [{"role": user, "content": "Hi"}, {"role": assistant, "content": "Hello"}]
    call = span(CALL | {"gen_ai.input.messages": json.dumps([*sent, {"role": user, "content": "Weather?"}])})

    found = [(end["message"]["role"], end["message"]["content"]) for end in of_type([call], "MessageEnd")]
    assert found[0] == ("user", [{"type": "text", "text": "Weather?"}])


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Rain.", "thinking": "Hm."},  # Ollama
        {"content": "Rain.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]},  # OpenRouter
        {"content": {"parts": [{"text": "Hm.", "thought": True}, {"text": "Rain."}]}},
    ],
)
def test_thoughts_beside_the_content_of_a_message_are_thinking(message):
    answer = json.dumps([{"role": "assistant"} | message])
    [end] = of_type([span(CALL | {"gen_ai.output.messages": answer})], "MessageEnd")

    found = [(block["type"], block[block["type"]]) for block in end["message"]["content"]]
    assert found == [("thinking", "Hm."), ("text", "Rain.")]


@pytest.mark.parametrize(
    "message",
    [
        {"toolCalls": [{"id": "c1", "name": "read", "arguments": {"path": "a"}}]},
        {"content": [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}]},
        {"content": "", "tool_calls": [{"id": "c1", "name": "read", "args": {"path": "a"}}]},
        {"contents": [{"$type": "functionCall", "callId": "c1", "name": "read", "arguments": {"path": "a"}}]},
    ],
)
def test_tool_calls_are_read_in_camel_case(message):
    answer = json.dumps([{"role": "assistant"} | message])
    [end] = of_type([span(CALL | {"gen_ai.output.messages": answer})], "MessageEnd")

    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
    assert end["message"]["content"] == [call]


@pytest.mark.parametrize(("answer", "failed", "text"), [
    ({"role": "tool_result", "tool_call_id": "c1", "content": "21"}, False, "21"),
    ({"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "21"}]}, False, "21"),
    ({"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": {"t": 21}}]}}]},
     False, '{"t": 21}'),
    ({"role": "tool", "tool_call_id": "c1", "content": '{"isError": true, "content": [{"text": "No."}]}'},
     True, "No."),
    ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1",
                                 "response": {"isError": True, "content": [{"text": "No."}]}}]}, True, "No."),
])  # fmt: skip
def test_results_are_read_in_the_forms_of_each_sender(answer, failed, text):
    asked = {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "read", "arguments": "{}"}}],
    }
    calls = [
        span(CALL | {"gen_ai.output.messages": json.dumps([asked])}),
        span(CALL | {"gen_ai.input.messages": json.dumps([USER, asked, answer])}, number=2, at=2),
    ]
    [end] = of_type(calls, "ToolExecutionEnd")

    assert (end["is_error"], end["result"]["content"][0]["text"]) == (failed, text)


def test_instructions_and_messages_of_further_clients_are_read():
    gemini = {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]}
    gemini |= {"system_instruction": {"parts": [{"text": "Be brief."}]}}
    java = [{"type": "USER", "contents": [{"type": "TEXT", "text": "Weather?"}]}]  # LangChain4j
    for value in (gemini, java):
        [end, *_] = of_type([span(CALL | {"gen_ai.prompt": json.dumps(value)})], "MessageEnd")
        assert end["message"]["content"] == [{"type": "text", "text": "Weather?"}]

    [request] = of_type([span(CALL | {"gen_ai.prompt": json.dumps(gemini)})], "TurnRequest")
    assert request["payload"]["system_prompt"] == "Be brief."


@pytest.mark.parametrize(("text", "blocks"), [
    ("<think>\nHm.\n</think>\n\nRain.", [("thinking", "Hm."), ("text", "Rain.")]),
    ("<thinking>Hm.</thinking>Rain.", [("thinking", "Hm."), ("text", "Rain.")]),
    ("[THINK]Hm.[/THINK]Rain.", [("thinking", "Hm."), ("text", "Rain.")]),
    ("Hm.\n</think>\n\nRain.", [("thinking", "Hm."), ("text", "Rain.")]),
    ("<think>Hm", [("thinking", "Hm")]),
    ("<think>\n\n</think>\n\nRain.", [("text", "Rain.")]),
    ("Write <think>Hm.</think> first.", [("text", "Write <think>Hm.</think> first.")]),
    ("`</think>` ends it.", [("text", "`</think>` ends it.")]),
    ("So:\n```\n</think>\n```", [("text", "So:\n```\n</think>\n```")]),
])  # fmt: skip
@pytest.mark.parametrize("name", ["gen_ai.completion.0.content", "gen_ai.completion", "ai.response.text"])
def test_thoughts_between_tags_at_the_start_of_an_answer_are_thinking(name, text, blocks):
    [end] = of_type([span(CALL | {name: text})], "MessageEnd")

    content = end["message"]["content"]
    assert [(block["type"], block[block["type"]]) for block in content] == blocks


LANGCHAIN = (
    "content='' tool_calls=[{'name': 'read', 'args': {'path': 'a'}, 'id': 'c1'}] usage={'input_tokens': 4}"
)
OPENAI = (
    "ChatCompletion(choices=[Choice(message=ChatCompletionMessage(content=None, role='assistant', "
    "tool_calls=[Call(id='c1', function=Function(arguments='{\"path\": \"a\"}', name='read'))]))], "
    "usage=CompletionUsage(prompt_tokens=4))"
)
ANTHROPIC = (
    "Message(content=[ToolUseBlock(id='c1', input={'path': 'a'}, name='read', type='tool_use')], "
    "role='assistant', usage=Usage(input_tokens=4))"
)


@pytest.mark.parametrize("text", [LANGCHAIN, OPENAI, ANTHROPIC])
def test_a_response_that_python_printed_has_calls_and_usage(text):
    answer = span(CALL | {"gen_ai.completion": text})

    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
    assert of_type([answer], "MessageEnd")[0]["message"]["content"] == [call]
    assert of_type([answer], "TurnEnd")[0]["usage"]["input"] == 4
