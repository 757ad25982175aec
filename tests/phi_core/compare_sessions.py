"""Comparison of phi-core's Session JSON with ours, apart from the ten intended differences (protocol, 7)."""

import json

from recorder.core.events.fields import parse_timestamp


def differences(theirs, ours):
    """Return a line for every difference between two Session objects of one session."""
    found = []
    for name in ("session_id", "agent_id", "created_at", "last_active_at", "formation", "scope"):
        if plain(theirs.get(name)) != plain(ours.get(name)):
            found.append(f"{name}: {theirs.get(name)!r} / {ours.get(name)!r}")
    if not _spawn_agrees(theirs.get("parent_spawn_ref"), ours.get("parent_spawn_ref")):
        found.append(f"parent_spawn_ref: {theirs.get('parent_spawn_ref')} / {ours.get('parent_spawn_ref')}")
    mine = {key(loop): loop for loop in ours["loops"]}
    for loop in theirs["loops"]:
        if key(loop) in mine:
            found += [
                f"loop {loop['loop_id'][-28:]}.{difference}"
                for difference in loop_differences(loop, mine[key(loop)])
            ]
        else:
            found.append(f"loop {key(loop)}: missing")
    return found


def loop_differences(theirs, ours):
    """Return a line for every difference between two records of one run."""
    found = []
    if not any("request_payload" in turn for turn in theirs["turns"]):
        ours = {**ours, "turns": [_without_request(turn) for turn in ours["turns"]]}
    for name in SAME:
        if plain(theirs.get(name)) != plain(ours.get(name)):
            found.append(f"{name}: {_short(theirs.get(name))} / {_short(ours.get(name))}")
    if theirs["ended_at"] and time(theirs["ended_at"]) != time(ours["ended_at"]):
        found.append(f"ended_at: {theirs['ended_at']} / {ours['ended_at']}")
    children = set(theirs["children_loop_ids"]) - {theirs["loop_id"]}
    if not children <= set(ours["children_loop_ids"]):
        found.append(f"children_loop_ids: {children} / {ours['children_loop_ids']}")
    for name in ("child_loop_refs", "events"):
        theirs_in_order, ours_in_order = ([_content(item) for item in side[name]] for side in (theirs, ours))
        if not _is_subsequence(theirs_in_order, ours_in_order):
            found.append(f"{name}: {len(theirs_in_order)} not all in our {len(ours_in_order)}")
    return found


SAME = (
    "session_id",
    "agent_id",
    "parent_loop_id",
    "continuation_kind",
    "status",
    "rejection",
    "config",
    "messages",
    "turns",
    "usage",
    "metadata",
    "parallel_group",
)


def key(loop):
    """Return the key of a run: its loop id and start time."""
    return loop["loop_id"], time(loop["started_at"])


def time(text):
    """Parse a time, cut to the microsecond."""
    return parse_timestamp(text) if isinstance(text, str) else text


def plain(value):
    """Return a value without nulls, with times parsed."""
    if isinstance(value, dict):
        return {name: plain(inside) for name, inside in value.items() if inside is not None}
    if isinstance(value, list):
        return [plain(inside) for inside in value]
    return (parse_timestamp(value) or value) if isinstance(value, str) else value


def _spawn_agrees(theirs, ours):
    if not theirs:
        return True
    return all(theirs[name] in ("", (ours or {}).get(name)) for name in theirs)


def _content(item):
    return plain(item.get("event", item))


def _without_request(turn):
    return {name: value for name, value in turn.items() if name != "request_payload"}


def _is_subsequence(few, many):
    rest = iter(many)
    return all(any(one == other for other in rest) for one in few)


def _short(value):
    return json.dumps(value)[:160]
