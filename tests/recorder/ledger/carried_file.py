"""A session whose ledger is computed by hand: a file of 41 kB is read, sent in 20 calls, and compacted away.

Sonnet's prices in nano-dollars a token: input 3,000, cache read 300, cache write 3,750, output 15,000.

| calls | what | the file's 10,500 tokens cost |
| --- | --- | --- |
| 1, 2 | prompt 2,000 tokens written; then read, 25 more | is not there |
| 3 | the file is first sent, and written | 10,500 x 3,750 = 39,375,000 |
| 4 to 11, 13 to 22 | 18 calls read it | 18 x 10,500 x 300 = 56,700,000 |
| 12 | six minutes later: all is written again | 10,500 x 3,750 = 39,375,000 |
| 23 | after the compaction | is gone |

In all 135,450,000 nano-dollars, $0.13545.
"""

from __future__ import annotations

from tests.support import build

LOOP = "s.a.1"
CONFIG = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}
FILE = "x" * 41_000
FILE_TOKENS, FILE_NANO = 10_500, 135_450_000
MISSED_AT, CALLS = 12, 23
LOST_TOKENS = 2_045 + FILE_TOKENS + 8 * 40  # what call 11 left in the cache
LOST_NANO = LOST_TOKENS * (3_750 - 300)


def events():
    """Return the events of the session."""
    sent = [build.user("Read the file.")]
    found = [build.agent_start(LOOP, config_snapshot=CONFIG)]
    prompt, cached = 2_000, 0
    for number in range(1, CALLS + 1):
        at = number * 10 + (360 if number >= MISSED_AT else 0)
        found.append(build.turn_start(LOOP, index=number - 1, at=at))
        if number == CALLS:
            found += [build.compaction_started(LOOP, at=at), build.compaction_ended(LOOP, at=at)]
            sent = [build.user("[Summary] The file was read."), build.user("Go on.")]
            prompt, cached = 2_100, 0
        if number == MISSED_AT:
            cached = 0
        found.append(_request(number, sent, at))
        usage = {"input": 0, "output": 20, "cache_read": cached, "cache_write": prompt - cached}
        answer = _answer(number, usage)
        found += [build.message_end(LOOP, answer), *_tool(number)]
        found.append(build.turn_end(LOOP, at=at + 5, message=answer, usage=usage, turn_index=number - 1))
        cached = prompt
        sent = [*sent, answer, *_replies(number)]
        prompt += {1: 25, 2: 20 + FILE_TOKENS}.get(number, 40)
    found.append(build.agent_end(LOOP, at=1_000))
    return found


def _request(number, sent, at):
    request = build.turn_request(LOOP, index=number - 1, at=at)
    return {**request, "payload": {**request["payload"], "system_prompt": "Be brief.", "messages": sent}}


def _answer(number, usage):
    calls = [{"type": "toolCall", "id": "read", "name": "read_file", "arguments": {"path": "poetry.lock"}}]
    content = [{"type": "text", "text": f"Answer {number}."}, *(calls if number == 2 else [])]
    return {**build.assistant(), "content": content, "model": CONFIG["model"], "provider": "anthropic"} | {
        "usage": usage
    }


def _tool(number):
    if number != 2:
        return []
    return [
        build.tool_start(LOOP, call="read", name="read_file", args={"path": "poetry.lock"}),
        build.tool_end(LOOP, call="read", name="read_file"),
    ]


def _replies(number):
    if number == 2:
        return [build.tool_result(call="read", text=FILE, name="read_file")]
    return [build.user(f"Go on, {number}.")]
