"""The contents of Claude Code's lines: blocks of an answer, usage, and prompts as a person reads them."""

from __future__ import annotations

import re
from typing import Literal

from recorder.core.content.model_names import without_route
from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.fields import call_block, objects, plain, prompt_text, thinking
from recorder.core.formats.transcripts.open_loop import Refusal
from recorder.core.formats.transcripts.repeats import QUEUED
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.records import FAST, US, Json

COMMANDS = (
    *("<command-name>", "<command-message>", "<local-command-", "<local-command-stdout>", "Caveat:"),
    *("<bash-", "<local-command-caveat>"),
)
OUTPUTS = ("<bash-stdout>", "<bash-stderr>", "<local-command-stdout>", "<local-command-stderr>")
_OF_BEDROCK = re.compile(r"(?:[a-z-]+\.)?anthropic\.claude")  # `us.anthropic.claude-…-v1:0`
_ADDED = re.compile(r"\s*<(ide_\w+|system-reminder)>")  # what an editor adds before a prompt
_FORK = "<fork-boilerplate>"
_TEAMMATE = "<teammate-message"  # what another agent of a team wrote
NOTIFICATION = "<task-notification>"
INTERRUPTED = "[Request interrupted by user"
AGENT_TOOL = "Agent"  # runs a sub-agent, in the releases that write `meta.json`
WORKFLOW_TOOL = "Workflow"  # runs several sub-agents; its result names the run
NO_RESPONSE = "No response requested."  # what the program answers itself when a session is resumed
OTHERS_MAX = 50  # calls of other models within one answer
QUESTIONS = frozenset(("AskUserQuestion", "ExitPlanMode"))  # tools that a person answers
_TOOL_USE_ERROR = "<tool_use_error>"  # the call was refused before the tool ran
_CANCELLED = "The user doesn't want to take this action right now."  # before the tool ran
_DENIED = (
    "The user doesn't want to proceed with this tool use.",
    "Permission for this ",  # tool use, action or command was denied, as by a classifier
    "PreToolUse:",  # a hook that the line names blocked it
    "Permission to use ",
    "Claude requested permissions to ",
)
_AUTOMATIC = frozenset(("", "config", "unknown"))  # sources of a decision that are no person and no hook
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
_WRITTEN = {"5m": "ephemeral_5m_input_tokens", "1h": "ephemeral_1h_input_tokens"}


def provider_of(model: str) -> str:
    """Return the provider that a model's name implies; "" where a proxy may have answered for any."""
    name = without_route(model)
    if _OF_BEDROCK.match(name):
        return "aws"
    if "/" in name:  # `anthropic/claude-sonnet-4.5`
        return "openrouter"
    return "anthropic" if model.startswith("claude") else ""


def blocks_of(content: Json) -> list[Fields]:
    """Return the blocks of an answer."""
    found: list[Fields] = plain(content)
    for block in objects(content):
        kind = block.get("type")
        if kind == "text":
            found += plain(block.get("text"))
        elif kind == "thinking":
            found += thinking(block.get("thinking"))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            found.append(call_block(block.get("id"), block.get("name"), block.get("input")))
    return found


def hosted_results(content: Json) -> list[Fields]:
    """Return the results of calls that the provider ran, which are blocks of the answer itself."""
    return [
        block
        for block in objects(content)
        if text_field(block, "type").endswith("_tool_result") and text_field(block, "tool_use_id")
    ]


def is_failed_result(block: Fields) -> bool:
    """Return whether a call that the provider ran has failed."""
    return (
        text_field(object_field(block, "content"), "type").endswith("_error") or block.get("is_error") is True
    )


def model_of(message: Fields) -> str:
    """Return the model that answered; fast mode and the United States alone are marked: they have prices."""
    model, usage = text_field(message, "model"), object_field(message, "usage")
    fast = FAST if usage.get("speed") == "fast" else ""
    us = US if usage.get("inference_geo") == "us" else ""
    return f"{model}{fast}{us}" if model else model


def other_calls(message: Fields) -> list[Fields]:
    """Return the other calls within an answer: of an advisor, attempts that were refused, compactions.

    The usage of the answer is without them. An attempt that was refused before it wrote costs nothing
    (platform.claude.com, "Refusals and fallback"); a compaction by the provider is a call of the model that
    answers ("Compaction").
    """
    found: list[Fields] = []
    answering = text_field(message, "model")
    for each in objects(object_field(message, "usage").get("iterations")):
        model, usage = text_field(each, "model") or answering, usage_of({"usage": each})
        is_other = each.get("type") in ("advisor_message", "compaction") or model != answering
        if model and is_other and usage is not None and usage["output"]:
            found.append({"model": model, "provider": provider_of(model), "usage": dict(usage)})
    return found[:OTHERS_MAX]


def usage_of(message: Fields) -> dict[str, int] | None:
    """Return the token counts of an answer, None if it has none; its output includes the thinking."""
    usage = object_field(message, "usage")
    if not usage:
        return None
    written = counts(object_field(usage, "cache_creation"), _WRITTEN)
    thought = counts(object_field(usage, "output_tokens_details"), {"n": "thinking_tokens"})["n"]
    searches = counts(object_field(usage, "server_tool_use"), {"n": "web_search_requests"})["n"]
    found = counts(usage, _USAGE) | {"cache_write_1h": written["1h"], "reasoning": thought}
    found["cache_write"] = max(found["cache_write"], sum(written.values()))  # some hosts state only the parts
    return found | ({"web_searches": searches} if searches else {})


def refusal_of(text: str, decision: str) -> Refusal:
    """Return why a call with this error did not begin, by its text and the decision on its permission."""
    if text.startswith(_CANCELLED):
        return "cancelled"
    return "denied" if text.startswith(_DENIED) or decision == "denied" else ""


def decision_of(line: Fields) -> Literal["", "granted", "denied"]:
    """Return the decision on the permission of a call; "" if the settings allowed it, as nobody was asked."""
    found = object_field(line, "permissionDecision")
    if text_field(found, "decision") in ("reject", "deny"):
        return "denied"
    is_asked = text_field(found, "source") not in _AUTOMATIC
    return "granted" if text_field(found, "decision") in ("accept", "allow") and is_asked else ""


def is_failure(text: str) -> bool:
    """Return whether a result that is marked as an error is a failure of the tool."""
    return not text.startswith((_TOOL_USE_ERROR, INTERRUPTED))


def argument(call: Fields, name: str) -> str:
    return text_field(object_field(call, "arguments"), name)


def readable(text: str) -> str:
    """Return a prompt as a person would read it: a slash command as typed, a notice by its summary."""
    bare = text.lstrip()
    if bare.startswith(NOTIFICATION):
        return _tag(bare, "summary") or _tag(bare, "status") or "Task notification"
    if bare.startswith(_FORK):  # the rules of a sub-agent that was forked, then what it shall do
        return bare.partition("</fork-boilerplate>")[2].strip() or text
    if bare.startswith(_TEAMMATE):
        return _teammate_text(bare) or text
    if bare.startswith(COMMANDS) and (command := _tag(bare, "command-name")):
        return f"{command} {_tag(bare, 'command-args')}".strip()
    if command := _tag(bare, "bash-input") if bare.startswith("<bash-input>") else "":
        return f"! {command}"
    return _without_added(text)


def _without_added(text: str) -> str:
    """Return a prompt without what an editor added before it, which may be all of it."""
    start = 0
    while match := _ADDED.match(text, start):
        closing = f"</{match[1]}>"
        end = text.find(closing, match.end())
        if end < 0:
            break
        start = end + len(closing)
    return text[start:].strip() or text if start else text


def queued_prompt(line: Fields) -> str:
    """Return what a person typed while the agent worked, in no line of the user; "" for another line."""
    attachment = object_field(line, "attachment")
    is_prompt = attachment.get("type") == QUEUED and attachment.get("commandMode") in (None, "prompt")
    is_typed = object_field(attachment, "origin").get("kind") in (None, "human")
    return readable(prompt_text(attachment.get("prompt"))) if is_prompt and is_typed else ""


def _teammate_text(text: str) -> str:
    """Return what a teammate wrote; "" for several messages."""
    body, end, after = text.partition(">")[2].rpartition("</teammate-message>")
    return body.strip() if end and not after.strip() and _TEAMMATE not in body else ""


def _tag(text: str, name: str) -> str:
    match = re.search(rf"<{name}>(.{{0,2000}}?)</{name}>", text, re.DOTALL)
    return match[1].strip() if match else ""
