"""Whatever ids collide, no loop and no session holds lines of two people, sessions or services."""

import itertools
import json
import random
from collections import defaultdict

import pytest

from recorder.core.formats.otlp.joining import home_of, keys_of
from recorder.core.formats.otlp.spans.reading import read_item
from recorder.core.formats.otlp.unit import Unit
from tests.recorder.core.formats.otlp.build import OPENINFERENCE, call_message, llm, result, span

TENANTS = 200


def tenant(number, chance):
    """Return the lines of a tenant: a tool loop of two calls, by a client without an agent.

    All tenants use the same ids of calls and responses, prompts, arguments, tokens and times.
    """
    kind = chance.choice(["session", "user", "service", "both"])
    about = {
        **({"session.id": f"s{number}"} if kind in ("session", "both") else {}),
        **({"user.id": f"u{number}"} if kind in ("user", "both") else {}),
        "metadata.tenant": f"t{number}",
    }
    service = f"svc{number}" if kind == "service" else "svc"
    call_id, at = f"call_{chance.randrange(2)}", chance.uniform(0, 20)
    user = {"role": "user", "content": "Weather?"}
    first = llm([(call_id, "get_weather", "{}")], [user], **about)
    later = llm([], [user, call_message(call_id), result(call_id)], **about)
    later["llm.output_messages.0.message.content"] = "Rain."
    for place, attributes in enumerate((first, later)):
        attributes["llm.response.id"] = f"resp_{chance.randrange(3)}"
        trace = f"{2 * number + place + 1:04x}"
        when = (at + 2 * place, at + 2 * place + 1)
        yield span(1, None, "m", when, attributes, trace=trace, service=service, scope=f"{OPENINFERENCE}x")


def owners(lines):
    """Return the tenants whose lines are in each loop, and in each session."""
    items = [read_item(json.loads(line), line) for line in lines]
    of_line = {item.digest.print: item for item in items}
    loops, sessions = defaultdict(set), defaultdict(set)
    for group in _units(items):
        unit = Unit()
        for item in group:
            unit.add(item.digest)
        unit.new_events(lambda digest: of_line[digest.print])
        for item in group:
            key = unit.loop_of(item.digest)
            loops[key].add(item.attributes["metadata.tenant"])
            sessions[unit.recorded[key].session].add(item.attributes["metadata.tenant"])
    return loops, sessions


def _units(items):
    of_name = {}
    for item in items:
        group = [item]
        for name in [home_of(item.digest), *keys_of(item.digest)]:
            other = of_name.get(name, [])
            group = group if other is group else [*other, *group]
        unique = list({id(each): each for each in group}.values())
        for each in unique:
            names = [home_of(each.digest), *keys_of(each.digest)]
            of_name.update(dict.fromkeys(names, unique))
    return {id(group): group for group in of_name.values()}.values()


@pytest.mark.parametrize("seed", range(3))
def test_tenants_with_colliding_ids_share_no_record(seed):
    chance = random.Random(seed)
    lines = list(itertools.chain(*(tenant(number, chance) for number in range(TENANTS))))
    chance.shuffle(lines)

    loops, sessions = owners(lines)

    assert [found for found in [*loops.values(), *sessions.values()] if len(found) > 1] == []
    assert len(sessions) == len(loops) == TENANTS
