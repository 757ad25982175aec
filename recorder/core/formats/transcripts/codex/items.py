"""Items of Codex's rollouts: prompts, blocks of an answer, results of calls."""

from __future__ import annotations

import re
from typing import cast

from recorder.core.content.messages import ENCRYPTED_SUMMARY
from recorder.core.formats.base import (
    Fields,
    object_field,
    parse_arguments,
    text_field,
)
from recorder.core.formats.transcripts.fields import (
    call_block,
    fingerprint,
    objects,
    plain,
    prompt_text,
    text_of,
    thinking,
)
from recorder.core.records import Json

QUESTION = "request_user_input"  # a tool that a person answers
HOSTED = ("web_search_call", "image_generation_call")  # calls that the provider runs, without a result
_SEARCH = "tool_search_call"  # the provider runs it, or Codex
# Types of older rollouts, whose lines are the items themselves.
ITEMS = frozenset(
    (
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
        *("custom_tool_call_output", "local_shell_call", *HOSTED),
    )
)
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)
_OUTPUT = "\nOutput:\n"  # ends the lines that Codex writes about a command
_IMAGE_TAG = re.compile(r"</?image\b[^>]*>")  # beside an image, which is a part of its own
_USER = re.compile(r"(?<=://)[^/@\s]*@")
_EDITOR = (
    "# Context from my IDE setup:",
    "# Files mentioned by the user:",
)  # what an editor adds to a prompt
_REQUEST = "## My request for Codex:"  # stands between that and the prompt
_SHELL_COMMAND = re.compile(r"\s*<user_shell_command>\s*<command>\s*(.*?)\s*</command>", re.DOTALL)


def agent_id(text: str) -> Json:
    """Return the id of the sub-agent that the result of a spawn names."""
    found = parse_arguments(text)
    return found.get("agent_id") if isinstance(found, dict) else None


def prompt_of(payload: Fields) -> str:
    """Return the prompt of an item or of an event as text; one without words names its images."""
    text = text_field(payload, "message") or text_of(payload.get("content"))
    if _IMAGE_TAG.sub("", text).strip():
        return _readable(text)
    parts = objects(payload.get("content"))
    has_image = bool(payload.get("images") or payload.get("local_images") or _IMAGE_TAG.search(text))
    return "[image]" if has_image else prompt_text(cast("Json", parts))


def _readable(text: str) -> str:
    """Return a prompt as a person would read it: a command as typed, and without what an editor added."""
    if command := _SHELL_COMMAND.match(text):
        return f"! {command[1]}"
    if text.lstrip().startswith(_EDITOR):
        return text.partition(_REQUEST)[2].strip() or text
    return text


def blocks_of(name: str, payload: Fields, at: str) -> list[Fields]:
    """Return the blocks of an item of an answer; `at` distinguishes equal calls without an id."""
    if name == "message" and payload.get("role") == "assistant":
        return plain(text_of(payload.get("content")))
    if name == "reasoning":
        return thinking(text_of(payload.get("summary")) or text_of(payload.get("content")))
    own = text_field(payload, "call_id") or text_field(payload, "id")  # a result has the id of older calls
    arguments: Json = parse_arguments(payload.get("arguments", payload.get("input")))
    if name in ("function_call", "custom_tool_call"):
        return [call_block(payload.get("call_id"), _tool_name(payload), arguments)]
    if name == "local_shell_call":
        return [call_block(own, "local_shell", payload.get("action"))]
    if name in (*HOSTED, _SEARCH):
        action = payload.get("action") or {"prompt": payload.get("revised_prompt")}
        tool, made = name.removesuffix("_call"), own or fingerprint([payload, at])
        return [call_block(made, tool, arguments if name == _SEARCH else action)]
    return []


def _tool_name(payload: Fields) -> str:
    """Return the name of a tool, with that of the MCP server that has it."""
    name, space = text_field(payload, "name"), text_field(payload, "namespace").removesuffix("__")
    return f"{space}__{name}" if space.startswith("mcp__") else name


def is_hosted(name: str, payload: Fields) -> bool:
    """Return whether an item is a call that the provider ran: no result of it comes."""
    return name in HOSTED or (name == _SEARCH and not text_field(payload, "call_id"))


def about_of(head: Fields) -> Fields:
    """Return the metadata that the head of a rollout has."""
    names = (("cwd", "cwd"), ("version", "cli_version"), ("originator", "originator"))
    found = {to: head[name] for to, name in names if head.get(name)}
    return found | _place_in_git(object_field(head, "git"))


def _place_in_git(git: Fields) -> Fields:
    """Return branch and repository where they are recorded, without the name and password of an address."""
    found = {"branch": text_field(git, "branch"), "repository": text_field(git, "repository_url")}
    return {name: _USER.sub("", text) for name, text in found.items() if text}


def compaction_summary(payload: Fields) -> str:
    """Return the summary of a compaction; of one that the provider encrypted, only its size is known."""
    history = payload.get("replacement_history")
    sizes = [
        len(text_field(item, "encrypted_content"))
        for item in (history if isinstance(history, list) else ())
        if isinstance(item, dict) and "compaction" in text_field(item, "type")
    ]
    encrypted = f"{ENCRYPTED_SUMMARY}, {sum(sizes):,} characters]" if sum(sizes) else ""
    return text_field(payload, "message") or encrypted


def result_of(output: Json) -> tuple[str, bool]:
    """Return the text of a result and whether it failed: by its exit code, or as the tool says."""
    parsed = parse_arguments(output)  # older releases wrote JSON as text
    if not isinstance(parsed, dict) or not ("output" in parsed or "content" in parsed):
        text = text_of(output)
        match = _EXIT_CODE.search(text.partition(_OUTPUT)[0])
        return text, match is not None and match[1].strip("0") != ""
    text = text_of(parsed.get("output")) or text_of(parsed.get("content"))
    exit_code = object_field(parsed, "metadata").get("exit_code")
    return text, exit_code not in (None, 0) or parsed.get("success") is False
