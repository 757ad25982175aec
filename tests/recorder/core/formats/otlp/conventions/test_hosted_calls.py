"""Tool calls that the provider ran: call and result stand in one answer, in the forms of each provider."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
ASKED = [{"role": "user", "content": "Weather?"}]


def answer(*content, key="content", **more):
    return [{"role": "assistant", key: list(content), **more}]


def call(output, asked=ASKED, **more):
    texts = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(output)}
    return span(CALL | texts, **more)


def tools(*items):
    """Return name, arguments, result and failure of each tool call."""
    starts, ends = of_type(items, "ToolExecutionStart"), of_type(items, "ToolExecutionEnd")
    assert [each["tool_call_id"] for each in starts] == [each["tool_call_id"] for each in ends]
    return [(start["tool_name"], start["args"], end["result"]["content"][0]["text"], end["is_error"])
            for start, end in zip(starts, ends, strict=True)]  # fmt: skip


TEXT = {"type": "text", "text": "Rain."}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
ERROR = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
OF_GENAI = {"type": "server_tool_call", "id": "s1", "name": "web_search"}
HITS = {"type": "web_search", "hits": 1}
FORMS = {
    "anthropic": (
        answer(SEARCH, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [TEXT]}, TEXT),
        ("web_search", {"query": "x"}, "Rain.", False),
    ),
    "anthropic, failed": (
        answer(SEARCH, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": ERROR}),
        ("web_search", {"query": "x"}, json.dumps(ERROR), True),
    ),
    "anthropic, MCP": (
        answer(
            {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {"a": 1}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": True, "content": [TEXT]},
        ),
        ("echo", {"a": 1}, "Rain.", True),
    ),
    "genai": (
        answer(
            OF_GENAI | {"server_tool_call": {"type": "web_search", "query": "x"}},
            {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": HITS},
            key="parts",
        ),
        ("web_search", {"query": "x"}, json.dumps(HITS), False),
    ),
    "genai, without a result": (
        answer(OF_GENAI | {"server_tool_call": {"arguments": {"query": "x"}}}, TEXT, key="parts"),
        ("web_search", {"query": "x"}, "", False),
    ),
    "langchain": (
        answer(
            {"type": "server_tool_call", "id": "s1", "name": "code", "args": {"a": 1}},
            {"type": "server_tool_result", "tool_call_id": "s1", "status": "error", "output": "boom"},
        ),
        ("code", {"a": 1}, "boom", True),
    ),
    "pydantic-ai": (
        answer(
            {"type": "tool_call", "id": "b1", "name": "web_search", "arguments": {"q": 1}, "builtin": True},
            {
                "type": "tool_call_response",
                "id": "b1",
                "name": "web_search",
                "result": "hit",
                "builtin": True,
            },
            key="parts",
        ),
        ("web_search", {"q": 1}, "hit", False),
    ),
    "AI SDK": (
        answer(
            {
                "type": "tool-call",
                "toolCallId": "v1",
                "toolName": "search",
                "input": {"q": 1},
                "providerExecuted": True,
            },
            {
                "type": "tool-result",
                "toolCallId": "v1",
                "toolName": "search",
                "output": {"type": "error-text", "value": "boom"},
            },
        ),
        ("search", {"q": 1}, "boom", True),
    ),
    "responses, search": (
        [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}},
            *answer(TEXT),
        ],
        ("web_search", {"query": "x"}, "", False),
    ),
    "responses, MCP": (
        [
            {
                "type": "mcp_call",
                "id": "m1",
                "name": "echo",
                "server_label": "s",
                "arguments": '{"a": 1}',
                "output": None,
                "error": "boom",
            }
        ],
        ("echo", {"a": 1}, "boom", True),
    ),
    "responses, code": (
        [{"type": "code_interpreter_call", "id": "c1", "status": "failed", "code": "1+1", "outputs": []}],
        ("code_interpreter", {"code": "1+1"}, "[]", True),
    ),
    "responses, image": (
        [{"type": "image_generation_call", "id": "i1", "status": "completed", "result": "A" * 3000}],
        ("image_generation", {}, "[image, 3 kB]", False),
    ),
    "gemini, without ids": (
        answer(
            {"executableCode": {"code": "1+1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
            key="parts",
        ),
        ("code_execution", {"code": "1+1"}, "2", False),
    ),
    "gemini, failed": (
        answer(
            {"executable_code": {"code": "1+"}},
            {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "2"}},
            key="parts",
        ),
        ("code_execution", {"code": "1+"}, "2", True),
    ),
    "bedrock": (
        answer(
            {"toolUse": {"toolUseId": "t1", "name": "grounding", "input": {}, "type": "server_tool_use"}},
            {"toolResult": {"toolUseId": "t1", "content": [{"text": "hit"}], "status": "success"}},
        ),
        ("grounding", {}, "hit", False),
    ),
    "a tool message within the answer": (
        [
            *answer({"type": "tool_use", "id": "t1", "name": "f", "input": {}}),
            {"role": "tool", "tool_call_id": "t1", "content": "hit"},
            *answer(TEXT),
        ],
        ("f", {}, "hit", False),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_the_provider_ran_is_a_tool_call_with_its_result(form):
    output, expected = FORMS[form]
    item = call(output)

    assert tools(item) == [expected]
    [end] = of_type([item], "AgentEnd")
    assert end["outcome"] == "completed"
    message = next(
        each["message"] for each in of_type([item], "MessageEnd") if each["message"]["role"] == "assistant"
    )
    assert all(block.keys() <= {"type", "id", "name", "arguments", "text"} for block in message["content"])


def test_calls_without_ids_keep_their_results_and_their_order():
    code = [{"executableCode": {"code": str(n)}} for n in range(3)]
    results = [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": f"r{n}"}} for n in (0, 2)]
    item = call(answer(code[0], results[0], code[1], code[2], results[1], key="parts"))

    assert [each[1:3] for each in tools(item)] == [
        ({"code": str(n)}, text) for n, text in enumerate(("r0", "", "r2"))
    ]


def test_an_unnamed_call_does_not_take_a_result_that_its_request_was_sent():
    sent = [*ASKED, *answer({"toolUse": {"name": "f", "input": {}}}), {"role": "tool", "content": "sent"}]
    item = call(answer({"executableCode": {"code": "1"}}, TEXT, key="parts"), sent)

    assert tools(item) == [("code_execution", {"code": "1"}, "", False)]


def test_the_calls_of_the_vercel_ai_sdk_say_who_ran_them():
    ran = {"toolCallId": "v1", "toolName": "web_search", "input": '{"q": 1}', "providerExecuted": True}
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "m",
        "ai.response.text": "Rain.",
        "ai.response.toolCalls": json.dumps([ran]),
    }
    item = span(attributes, name="ai.generateText.doGenerate")

    assert tools(item) == [("web_search", {"q": 1}, "", False)]
    assert of_type([item], "AgentEnd")[0]["outcome"] == "completed"


def test_a_span_of_the_tool_comes_before_the_result_in_the_answer():
    ran = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "web_search",
        "gen_ai.tool.call.id": "s1",
        "gen_ai.tool.call.result": "own",
    }
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [TEXT]}
    items = [
        call(answer(SEARCH, result)),
        span(ran, name="execute_tool web_search", number=2, parent=1, at=0.5, to=0.7),
    ]

    assert tools(*items) == tools(*items[::-1]) == [("web_search", {"query": "x"}, "own", False)]


def test_a_hosted_call_of_the_history_is_not_told_again():
    earlier = answer(SEARCH, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [TEXT]}, TEXT)
    item = call(answer(TEXT), [*ASKED, *earlier, {"role": "user", "content": "And now?"}])

    assert tools(item) == []
    prompt = of_type([item], "MessageEnd")[0]["message"]
    assert prompt["content"] == [{"type": "text", "text": "And now?"}]


def test_a_call_that_the_program_runs_stays_open():
    for kind in ("function_call", "custom_tool_call", "local_shell_call", "computer_call"):
        item = call([{"type": kind, "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"}])
        assert tools(item) == []
        assert of_type([item], "AgentEnd")[0]["outcome"] == "aborted"


@pytest.mark.parametrize("message", [
    {"role": "assistant", "content": None, "refusal": "I cannot."},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]},
])  # fmt: skip
def test_a_refusal_is_the_text_of_the_answer(message):
    [end] = of_type([call([message])], "TurnEnd")
    assert end["message"]["content"] == [{"type": "text", "text": "I cannot."}]


def test_web_searches_of_the_provider_are_counted():
    usage = {"input_tokens": 10, "output_tokens": 2, "server_tool_use": {"web_search_requests": 3}}
    for attributes in ({"gen_ai.usage": json.dumps(usage)}, {
        "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.server_tool_use.web_search_requests": 3,
    }):  # fmt: skip
        [end] = of_type([span(CALL | attributes)], "TurnEnd")
        assert end["usage"]["web_searches"] == 3
