"""The model APIs of three vendors: what a request offers, and replies, whole or streamed."""

import json
from uuid import uuid4


class OpenAIChat:
    """Chat Completions."""

    RESULT = '"role": "tool"'

    @staticmethod
    def offered_tools(request):
        return {tool["function"]["name"] for tool in request.get("tools", ()) if "function" in tool}

    @staticmethod
    def model(_path, request):
        return request["model"]

    @staticmethod
    def is_stream(_path, request):
        return request.get("stream", False)

    @staticmethod
    def usage(reply):
        total = reply.input + reply.cache_read
        return {
            "prompt_tokens": total,
            "completion_tokens": reply.output,
            "total_tokens": total + reply.output,
            "prompt_tokens_details": {"cached_tokens": reply.cache_read},
        }

    @classmethod
    def whole(cls, reply):
        choice = {"index": 0, "message": _chat_message(reply), "finish_reason": _chat_reason(reply)}
        return _chat_head(reply, "chat.completion") | {"choices": [choice], "usage": cls.usage(reply)}

    @classmethod
    def stream(cls, reply):
        head = _chat_head(reply, "chat.completion.chunk")
        delta = _chat_message(reply)
        for index, call in enumerate(delta.get("tool_calls", ())):
            call["index"] = index
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": _chat_reason(reply)}]}
        yield head | {"choices": [], "usage": cls.usage(reply)}
        yield "[DONE]"


def _chat_head(reply, kind):
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": 1, "model": reply.model}


def _chat_message(reply):
    if not reply.tool:
        return {"role": "assistant", "content": reply.text}
    function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
    call = {"id": f"call_{uuid4().hex}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_reason(reply):
    return "tool_calls" if reply.tool else "stop"


class OpenAIResponses:
    """Responses, as a stream."""

    RESULT = '"type": "function_call_output"'

    @staticmethod
    def offered_tools(request):
        return {tool.get("name") for tool in request.get("tools", ())}

    model = OpenAIChat.model
    is_stream = OpenAIChat.is_stream

    @staticmethod
    def whole(reply):
        total = reply.input + reply.cache_read
        usage = {
            "input_tokens": total,
            "input_tokens_details": {"cached_tokens": reply.cache_read},
            "output_tokens": reply.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total + reply.output,
        }
        return {
            "id": f"resp_{uuid4().hex}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": reply.model,
            "output": [_output_item(reply)],
            "usage": usage,
        }

    @classmethod
    def stream(cls, reply):
        response = cls.whole(reply)
        (item,) = response["output"]
        begun = response | {"status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": response}


def _output_item(reply):
    if reply.tool:
        call = {"name": reply.tool, "arguments": json.dumps(reply.arguments), "status": "completed"}
        return {"type": "function_call", "id": f"fc_{uuid4().hex}", "call_id": f"call_{uuid4().hex}", **call}
    text = {"type": "output_text", "text": reply.text, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{uuid4().hex}",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }


class Anthropic:
    """Messages."""

    RESULT = '"type": "tool_result"'

    @staticmethod
    def offered_tools(request):
        return {tool["name"] for tool in request.get("tools", ())}

    model = OpenAIChat.model
    is_stream = OpenAIChat.is_stream

    @staticmethod
    def whole(reply):
        block = {"type": "text", "text": reply.text}
        if reply.tool:
            call = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": reply.tool}
            block = call | {"input": reply.arguments}
        usage = {"input_tokens": reply.input, "output_tokens": reply.output}
        return {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": [block],
            "stop_reason": "tool_use" if reply.tool else "end_turn",
            "stop_sequence": None,
            "usage": usage | {"cache_read_input_tokens": reply.cache_read, "cache_creation_input_tokens": 0},
        }

    @classmethod
    def stream(cls, reply):
        message = cls.whole(reply)
        (block,) = message["content"]
        if reply.tool:
            empty, delta = block | {"input": {}}, {"type": "input_json_delta"}
            delta["partial_json"] = json.dumps(reply.arguments)
        else:
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
        begun = {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_start", "message": message | begun}
        yield {"type": "content_block_start", "index": 0, "content_block": empty}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
        yield {"type": "message_stop"}


class Gemini:
    """generateContent of Google's Gemini API."""

    RESULT = '"functionResponse"'

    @staticmethod
    def offered_tools(request):
        groups = request.get("tools", ())
        return {tool["name"] for group in groups for tool in group.get("functionDeclarations", ())}

    @staticmethod
    def model(path, _request):
        return path.split("/models/")[1].split(":")[0]

    @staticmethod
    def is_stream(path, _request):
        return ":streamGenerateContent" in path

    @staticmethod
    def whole(reply):
        call = {"functionCall": {"name": reply.tool, "args": reply.arguments}} if reply.tool else None
        content = {"role": "model", "parts": [call or {"text": reply.text}]}
        total = reply.input + reply.cache_read
        return {
            "responseId": uuid4().hex,
            "modelVersion": reply.model,
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": total,
                "candidatesTokenCount": reply.output,
                "cachedContentTokenCount": reply.cache_read,
                "totalTokenCount": total + reply.output,
            },
        }

    @classmethod
    def stream(cls, reply):
        yield cls.whole(reply)


def of(path):
    """Return the API of a request's path, None for an unknown one."""
    path = path.split("?")[0]
    ends = {"/messages": Anthropic, "/responses": OpenAIResponses, "/chat/completions": OpenAIChat}
    if path.endswith(("generateContent", "GenerateContent")):
        return Gemini
    return next((vendor for end, vendor in ends.items() if path.endswith(end)), None)
