"""Lines of transcripts that hold as much as is allowed of what their readers keep in mind."""

from __future__ import annotations

import json
from collections.abc import Callable

BLOCKS = 43_000  # of one message: a line has at most 220,000 keys and values
AGENTS = 8_000

Lines = Callable[[float], bytes]


def _answer(session: str, key: str, blocks: int, **fields: object) -> bytes:
    content = [{"type": "text", "text": f"{number}"} for number in range(blocks)]
    usage = {"input_tokens": 1, "output_tokens": 2}
    message = {"id": key, "role": "assistant", "model": "m", "content": content, "usage": usage}
    names = {"type": "assistant", "uuid": f"{session}-{key}", "sessionId": session}
    line = names | {"timestamp": "2026-11-22T15:00:00.000Z", "message": message} | fields
    return json.dumps(line).encode()


def _blocks(share: float) -> bytes:
    return _answer(f"blocks-{share}", "a", int(BLOCKS * share))


def _agents(share: float) -> bytes:
    names = (f"g{number}" for number in range(int(AGENTS * share)))
    return b"\n".join(_answer(f"agents-{share}", name, 1, agentId=name, isSidechain=True) for name in names)


TRANSCRIPTS: dict[str, Lines] = {"blocks of one message": _blocks, "agents of one session": _agents}
