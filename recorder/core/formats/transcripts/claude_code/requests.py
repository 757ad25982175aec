"""The requests of Claude Code: what `api-request*` and `prompt_snapshot` say that the model was sent.

A shape is the system prompt and the tools, written once; a blob is a message that is no line of the
transcript; an `api-request` names its shape and, by hash, the messages that it adds to an earlier request.
An answer names its request: its turn gets a `TurnRequest` then. How lines of the transcript are hashed is
not documented, so a request is exact only if all its messages are blobs. Else it has no messages, and the
ledger derives them from the lines before. A shape is given once, with the first answer to it, and holds
until another one.

Cost: linear in a line; no earlier request is read again. What is held is bounded: `BODIES_MAX` bytes of
shapes and blobs until an answer takes them. Those that came first are forgotten.
"""

from __future__ import annotations

import json
from typing import cast

from recorder.core.formats.base import Fields, count_field, object_field, text_field
from recorder.core.formats.transcripts.fields import fingerprint, forget_first, objects
from recorder.core.records import Json

BODIES_MAX = 200_000  # bytes of shapes and blobs that no answer has taken
PENDING_MAX = 8  # requests without an answer
TAIL_MAX = 50  # messages of an exact request
TRACKS_MAX = 500  # tracks whose last shape is known
CACHE_PLACES_MAX = 20
_NAME_MAX = 200  # characters of an id or a name
_ENTRY = 64  # bytes of the key of a body
_SNAPSHOT = "snapshot "
_ROLES = ("user", "system")  # of messages that are kept as they were sent


class Requests:
    """The requests of one file that wait for their answers."""

    def __init__(self, stored: Json) -> None:
        held = stored if isinstance(stored, dict) else {}
        self._pending = cast("dict[str, Fields]", held.get("pending") or {})  # by id
        self._bodies = cast("dict[str, Fields]", held.get("bodies") or {})  # shapes and blobs by name
        self._bytes = sum(map(_size, self._bodies.values()))
        # By track: its last shape or snapshot; "": a call was answered without one.
        self._shown = cast("dict[str, str]", held.get("shown") or {})

    def dump(self) -> Json:
        """Return the state as JSON. Its names never change."""
        return cast("Json", {"pending": self._pending, "bodies": self._bodies, "shown": self._shown})

    def note(self, line: Fields, track: str, at: str) -> None:
        """Note a line about requests; any other line, or a malformed one, changes nothing."""
        kind, attachment = text_field(line, "type"), object_field(line, "attachment")
        if kind == "api-request-shape":
            shape = object_field(line, "shape")
            self._keep(_key("shape", line.get("shapeHash")), _shape(shape.get("system"), shape.get("tools")))
        elif kind == "api-request-blob":
            self._keep(_key("blob", line.get("hash")), object_field(line, "message"))
        elif kind == "api-request":
            self._ask(line, at)
        elif attachment.get("type") == "prompt_snapshot":
            self._snapshot(attachment, track)

    def answered(self, line: Fields, track: str, now: str) -> Fields | None:
        """Return `payload` and `timestamp` of the request that an answer names; None if it is not known.

        Of the lines of one answer only the first one has it.
        """
        asked = self._pending.pop(text_field(line, "requestRef"), None)
        snapshot = self._take(_SNAPSHOT + track)
        if asked is None:
            return self._told(line, track, snapshot, now)
        payload: Fields = {"model_id": "", **object_field(asked, "payload")}
        name = text_field(asked, "shape")
        shape, messages = self._take(name), self._messages(asked)
        if shape is not None:
            payload |= shape
            payload |= {"messages": messages} if messages is not None else {}
        elif self._shown.get(track) != name:
            payload["is_shape_missing"] = True
        payload["is_exact"] = shape is not None and messages is not None
        self._show(track, name)
        return {"payload": payload, "timestamp": asked["at"]}

    def _told(self, line: Fields, track: str, snapshot: Fields | None, now: str) -> Fields | None:
        """Return the request of a call of which only the snapshot before its answer is recorded."""
        shown = self._shown.get(track, _SNAPSHOT)
        if snapshot is None:
            self._show(track, self._shown.get(track, ""))
            return None
        if not shown.startswith(_SNAPSHOT) or shown == (name := _SNAPSHOT + fingerprint(snapshot)):
            return None
        self._show(track, name)
        model = text_field(line, "requestedModel") or text_field(object_field(line, "message"), "model")
        return {"payload": {"model_id": model[:_NAME_MAX], **snapshot, "is_exact": False}, "timestamp": now}

    def _ask(self, line: Fields, at: str) -> None:
        """Note a request: its settings, and the hashes of its messages if all of them are blobs."""
        name, tail, params = text_field(line, "id"), line.get("tail"), object_field(line, "params")
        if not 0 < len(name) <= _NAME_MAX:
            return
        places = line.get("cacheControl")
        kept = places[:CACHE_PLACES_MAX] if isinstance(places, list) else []
        effort = text_field(object_field(params, "output_config"), "effort")
        found: Fields = {
            "model_id": text_field(params, "model")[:_NAME_MAX],
            "request_id": name,
            "max_tokens": count_field(params, "max_tokens") or None,
            "thinking_level": (effort or text_field(object_field(params, "thinking"), "type"))[:_NAME_MAX],
            "purpose": text_field(line, "querySource")[:_NAME_MAX],
            "kept_messages": count_field(line, "keep"),
            "added_messages": len(tail) if isinstance(tail, list) else 0,
            "cache_places": kept if _size(kept) <= 2 * 1024 else [],
        }
        asked: Fields = {"at": at, "shape": _key("shape", line.get("shapeHash"))}
        asked["payload"] = {key: value for key, value in found.items() if value not in (None, "", [])}
        keys = [_key("blob", each) for each in tail] if isinstance(tail, list) else []
        is_whole = len({*keys}) == len(keys) <= TAIL_MAX and not line.get("base")
        if is_whole and not count_field(line, "keep") and all(key in self._bodies for key in keys):
            asked["tail"] = cast("Json", keys)
        else:
            for key in keys:
                self._take(key)
        self._pending[name] = asked
        forget_first(self._pending, PENDING_MAX)

    def _messages(self, asked: Fields) -> list[Json] | None:
        """Take the messages of a request from its blobs; None if one of them is not known."""
        keys = cast("list[str]", asked.get("tail") or [])
        bodies = [self._bodies[key] for key in keys if key in self._bodies]
        for key in keys:
            self._take(key)
        if not bodies or len(bodies) < len(keys):
            return None
        if any(body.get("role") not in _ROLES for body in bodies):
            return None
        return [message for body in bodies for message in _phi_core(body)]

    def _snapshot(self, attachment: Fields, track: str) -> None:
        """Note what the agent writes about its prompt; one without the tools says too little."""
        texts, tools = attachment.get("systemPrompt"), attachment.get("tools")
        parts: list[Json] = (
            [{"type": "text", "text": text} for text in texts] if isinstance(texts, list) else []
        )
        schemas: list[Json] = [object_field(tool, "schema") or tool for tool in objects(tools)]
        if parts and schemas:
            self._keep(_SNAPSHOT + track, _shape(parts, schemas))

    def _keep(self, key: str, body: Fields) -> None:
        """Hold a body until an answer takes it; forget those that came first if there are too many bytes."""
        if not body or (size := _size(body)) > BODIES_MAX:
            return
        self._take(key)
        self._bodies[key] = body
        self._bytes += size
        while self._bytes > BODIES_MAX:
            self._take(next(iter(self._bodies)))

    def _take(self, key: str) -> Fields | None:
        body = self._bodies.pop(key, None)
        self._bytes -= 0 if body is None else _size(body)
        return body

    def _show(self, track: str, name: str) -> None:
        self._shown.pop(track, None)
        self._shown[track] = name
        forget_first(self._shown, TRACKS_MAX)


def _key(kind: str, name: Json) -> str:
    """Return what a body is held by, of one length whatever hash it has."""
    return f"{kind} {fingerprint(name)}"


def _shape(system: Json, tools: Json) -> Fields:
    """Return the parts of a system prompt, and the tools, as far as there."""
    parts = [part for part in objects(system) if isinstance(part.get("text"), str)]
    found: Fields = {"system": cast("Json", parts)} if parts else {}
    return found | ({"tools": tools} if isinstance(tools, list) and tools else {})


def _size(value: Json) -> int:
    return _ENTRY + len(json.dumps(value, separators=(",", ":")))


def _phi_core(message: Fields) -> list[Json]:
    """Return a message of a request as phi-core's: the results of tools are messages of their own."""
    content = message.get("content")
    if not isinstance(content, list):
        return [message]
    results: list[Json] = [
        {"role": "toolResult", "toolCallId": part.get("tool_use_id"), "content": part.get("content")}
        for part in objects(content)
        if part.get("type") == "tool_result"
    ]
    others = [part for part in content if not (isinstance(part, dict) and part.get("type") == "tool_result")]
    return [*results, *([message | {"content": others}] if others else [])]
