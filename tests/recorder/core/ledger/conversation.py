"""Made-up conversations whose cache behaves as a provider's does, with one planted cause of a miss."""

from __future__ import annotations

import copy
import random
from datetime import UTC, datetime, timedelta

from recorder.core.ledger.blocks import blocks_with_texts, read_request
from recorder.core.ledger.window import Call, Window

START = datetime(2026, 11, 20, 14, tzinfo=UTC)
CAUSES = {
    "model": "model_changed",
    "settings": "settings_changed",
    "tool added": "tools_changed",
    "tools reordered": "tools_changed",
    "tool described anew": "tools_changed",
    "time in the system prompt": "system_changed",
    "history edited": "history_edited",
    "compaction": "history_edited",
    "idle": "ttl_lapsed",
    "evicted": "provider_miss",
}


class Conversation:
    """Calls of one agent, and a cache of whole blocks that lives for five minutes."""

    def __init__(self, seed: int, provider: str) -> None:
        self.pick = random.Random(seed)
        self.provider = provider
        self.at = START
        self.payload = {
            "model_id": "model-a",
            "system_prompt": f"Work on the repository. Now: {self.clock()}. {self.words(300)}",
            "tools": [self.tool(name) for name in ("read", "grep", "bash")],
            "messages": [user(self.words(200))],
            "thinking_level": "off",
        }
        self.window = Window()
        self.cached: list[str] = []
        self.cached_model = ""
        self.read_at = START

    def clock(self) -> str:
        return f"{self.at:%H:%M:%S}"

    def words(self, count: int) -> str:
        return " ".join(self.pick.choice(("alpha", "beta", "gamma", "delta")) for _ in range(count))

    def tool(self, name: str) -> dict:
        return {"name": name, "description": self.words(150), "parameters": {"type": "object"}}

    def append(self) -> None:
        """Add an answer with a tool call, and its result."""
        number = len(self.payload["messages"])
        call = {"type": "toolCall", "id": f"call-{number}", "name": "read", "arguments": {}}
        self.payload["messages"] += [
            {"role": "assistant", "content": [{"type": "text", "text": self.words(20)}, call]},
            {
                "role": "toolResult",
                "toolCallId": f"call-{number}",
                "toolName": "read",
                "content": [{"type": "text", "text": self.words(self.pick.randint(5, 400))}],
            },
        ]

    def plant(self, cause: str) -> None:  # noqa: C901  one arm a cause
        """Change what the next call sends, or what its provider still has."""
        messages, tools = self.payload["messages"], self.payload["tools"]
        match cause:
            case "model":
                self.payload["model_id"] = "model-b"
            case "settings":
                self.payload["thinking_level"] = "high"
                self.cached = []
            case "tool added":
                tools.insert(self.pick.randint(0, len(tools)), self.tool("fetch"))
            case "tools reordered":
                tools.append(tools.pop(0))
            case "tool described anew":
                tools[1]["description"] += " Prefer it."
            case "time in the system prompt":
                old, _, rest = self.payload["system_prompt"].partition("Now: ")
                self.payload["system_prompt"] = f"{old}Now: {self.clock()}{rest[8:]}"
            case "history edited":
                place = self.pick.randrange(0, len(messages) - 2)
                messages[place] = copy.deepcopy(messages[place])
                messages[place]["content"][0]["text"] = "edited " + self.words(3)
            case "compaction":
                del messages[1:-1]
                messages.insert(1, user(f"[Summary] {self.words(40)}"))
            case "idle":
                self.at += timedelta(minutes=6)
            case "evicted":
                self.cached = []

    def call(self, *, compacted: bool = False):
        """Send the request: return its payload and its entry in the ledger."""
        self.at += timedelta(seconds=self.pick.randint(5, 60))
        payload = copy.deepcopy(self.payload)
        sizes = [(block.key, -(-block.bytes // 4)) for block, _ in blocks_with_texts(payload)]
        if self.at - self.read_at > timedelta(minutes=5) or self.cached_model != payload["model_id"]:
            self.cached = []
        read = 0
        for (key, size), cached in zip(sizes, self.cached, strict=False):
            if key != cached:
                break
            read += size
        prompt = sum(size for _, size in sizes)
        write = 0
        if self.provider == "openai":
            read = read // 128 * 128 if read >= 1024 else 0
        else:
            write = prompt - read
        self.cached, self.cached_model = [key for key, _ in sizes], payload["model_id"]
        self.read_at = self.at
        entry = self.window.add(
            Call(
                request=read_request(payload),
                provider=self.provider,
                started_at=self.at,
                prompt=prompt,
                visible=30,
                cache_read=read,
                cache_write=write,
                compacted=compacted,
            )
        )
        return payload, entry


def user(text: str) -> dict:
    return {"role": "user", "content": [{"type": "text", "text": text}]}
