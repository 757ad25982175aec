"""The events of a session of any length, whose requests have its last messages only."""

from tests.support import build

LOOP, CALLS, KEPT = "s.a.1", 20, 12


def turns(first, sent):
    """Return the events of some turns; a request has the last messages only."""
    events = []
    for index in range(first, first + CALLS):
        del sent[1 : len(sent) - KEPT]
        request = build.turn_request(LOOP, index=index, at=index)
        request["payload"] = {"messages": list(sent), "system_prompt": "Work.", "tools": [{"name": "bash"}]}
        usage = {"input": 10, "output": 20, "cache_read": 5_000 + index, "cache_write": 100}
        answer = {**build.assistant(f"Answer {index}."), "usage": usage}
        events += [build.turn_start(LOOP, index=index, at=index), request, build.message_end(LOOP, answer)]
        events.append(build.turn_end(LOOP, at=index, message=answer, usage=usage, turn_index=index))
        sent += [answer, build.user(f"Go on, {index}.")]
    return events
