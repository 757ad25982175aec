"""Captured spans with hostile values in random places break nothing: not the reader, nor either database."""

import json
import random
from copy import deepcopy

import pytest

from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.faults.fuzz.damage import hostile
from tests.recorder.journal.spans import captures


def places(node, found, path=()):
    """Collect the path of every value below a node, also in JSON that a text holds."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        found.append((*path, key))
        places(child, found, (*path, key))
    return found


def mutated(line, rng):
    """Return a line with one to three values replaced, removed, or repeated."""
    request = json.loads(line)
    for _ in range(rng.randint(1, 3)):
        _mutate(request, rng)
    return json.dumps(request, ensure_ascii=rng.random() < 0.5 or "\\ud800" in json.dumps(request)).encode()


def _mutate(request, rng):
    *path, last = rng.choice([each for each in places(request, []) if len(each) > 3])
    node = request
    for key in path:
        node = node[key]
    kept = node[last]
    if isinstance(kept, str) and kept[:1] in "[{" and rng.random() < 0.7:
        try:
            inner = json.loads(kept)
        except ValueError:
            inner = None
        if inner_places := places(inner, []):
            *inner_path, inner_last = rng.choice(inner_places)
            inner_node = inner
            for key in inner_path:
                inner_node = inner_node[key]
            inner_node[inner_last] = hostile(rng)
            node[last] = json.dumps(inner)
            return
    match rng.randint(0, 5):
        case 0 if isinstance(node, dict):
            del node[last]
        case 1 if isinstance(node, list):
            node.append(deepcopy(kept))
        case _:
            node[last] = hostile(rng)


@pytest.mark.parametrize("capture", captures.CAPTURES)
def test_a_mutated_capture_is_recorded_or_rejected(project, capture):
    rng = random.Random(capture)
    for batch in captures.lines(capture):
        sent = [mutated(line, rng) if rng.random() < 0.5 else line for line in batch]
        captures.record(project, sent)  # raises where our code does

    recorded = captures.shape(project)
    assert list(findings()) == []
    rebuild(project)
    assert captures.shape(project) == recorded
