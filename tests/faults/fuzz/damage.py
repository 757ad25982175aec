"""Damages bytes and JSON at random, with values that readers rarely meet."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

TEXTS = [
    "",
    "\x00",
    "a\x00b\x1b[31m",
    "\ud800",
    "\u202egpj.exe",
    "<script>window.__pwned=1</script>",
    "<img src=x onerror=window.__pwned=1>",
    "]]>&quot;'`{{7*7}}{% debug %}${7*7}",
    "../../../etc/passwd",
    "javascript:alert(1)",
    "null",
    "[",
    "[[]]",
    '{"role":1,"parts":{"type":[]}}',
    '[{"role":"assistant","parts":[{"type":"tool_call","id":7,"name":{},"arguments":"{"}]}]',
    "[" * 300 + "]" * 300,
    "NaN",
    "1e999",
    "-1",
    "9" * 400,
    "x" * 20_000,
    "\U0001f469\u200d\U0001f4bb" * 50,
    "2026-13-45T99:99:99Z",
]
NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400, 0.1, -0.0, 1e308, 5e-324]
OTHERS: list[Any] = [None, True, False, [], {}, [None], {"": None}, [[[]]], {"type": {}}, [{"type": []}, 7]]
ATTRIBUTES = [
    {"stringValue": "x"},
    {"intValue": "9223372036854775807"},
    {"intValue": "-9223372036854775808"},
    {"intValue": "nine"},
    {"doubleValue": "NaN"},
    {"doubleValue": "-Infinity"},
    {"boolValue": "true"},
    {"bytesValue": "!!"},
    {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}, {}, None]}},
    {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}, {"key": "a"}, {}]}},
    {"arrayValue": None},
    {"stringValue": 1},
]


def hostile(rng: random.Random) -> Any:
    """Return a value that a reader rarely meets."""
    return deepcopy(rng.choice(rng.choice([TEXTS, NUMBERS, OTHERS, ATTRIBUTES])))


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few of them changed, cut, repeated or put in."""
    found = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        at, length = rng.randrange(len(found) + 1), rng.choice((1, 1, 2, 8, 64, 1024))
        match rng.randint(0, 4):
            case 0:
                del found[at : at + length]
            case 1:
                found[at:at] = rng.randbytes(length)
            case 2:
                found[at:at] = found[at : at + length]
            case 3:
                found[at : at + 1] = bytes([rng.choice((0, 0xFF, 0x0A, 0x22, 0x7B, 0x80))])
            case _:
                del found[at : None if rng.random() < 0.1 else at + 1]
    return bytes(found)


def damaged_json(content: bytes, rng: random.Random) -> bytes:
    """Return a JSON text with one to three values replaced, removed or repeated; damage other bytes."""
    try:
        value = json.loads(content)
    except ValueError:
        return damaged_bytes(content, rng)
    for _ in range(rng.randint(1, 3)):
        _damage(value, rng)
    return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")


def _places(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Collect the container and the key of every value below a node."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        found.append((node, key))
        _places(child, found)
    return found


def _damage(value: Any, rng: random.Random) -> None:
    places = _places(value, [])
    if not places:
        return
    node, key = rng.choice(places)
    kept = node[key]
    if isinstance(kept, str) and kept[:1] in ("[", "{") and rng.random() < 0.7:
        try:
            inner = json.loads(kept)
        except ValueError:
            inner = None
        if isinstance(inner, dict | list):
            _damage(inner, rng)
            node[key] = json.dumps(inner)
            return
    match rng.randint(0, 5):
        case 0:
            del node[key]
        case 1 if isinstance(node, list):
            node.append(deepcopy(kept))
        case 2:
            node[key] = rng.choice((str(kept), [kept], {"": kept}))
        case _:
            node[key] = hostile(rng)
