"""Values as Python prints them, brought into JSON: what `str()` or `repr()` of messages and responses gives.

Many programs trace `str(messages)` in place of JSON: strings have single quotes, and there are True, None,
tuples, enums (`<Role.USER: 'user'>`) and objects, whose fields are in brackets (`TextBlock(text='Rain')`)
or, as pydantic prints them, one after the other (`content='Rain' role='assistant'`). An object becomes one of
JSON with the name of its class as `type`, unless it has a field of that name.

Nothing is evaluated. Cost: linear in the text; one with more than PARTS_MAX parts or escapes stays as it is.
"""

from __future__ import annotations

import json
import re

PARTS_MAX = 100_000  # strings, numbers, names and marks, and escaped characters: 0.3 s
_NAME = r"[A-Za-z_][\w.]{0,100}"
_CLASS = r"(?:[A-Za-z_]\w{0,50}\.){0,9}_?[A-Z]\w{0,100}"  # a call of a function is no value
_BEGIN = re.compile(
    rf"\s*(?:[\[({{][\[({{\s]*(?:[bu]?'|{_CLASS}\(|<{_NAME}:|None\b)|{_CLASS}\(\w+=|[A-Za-z_]\w{{0,100}}=)"
)
_BARE = re.compile(r"\s*\w+=")  # fields of an object without its name
_PART = re.compile(
    r"\s+"
    r"|(?P<string>[bBuU]?(?P<quoted>'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"))"
    r"|(?P<word>True|False|None)(?!\w)"
    r"|(?P<number>-?\d{1,300}(?:\.\d+)?(?:[eE][+-]?\d+)?)(?!\w)"
    rf"|(?P<object>{_NAME})\((?=\w+=|\))"
    rf"|(?P<call>{_NAME}\((?:[^()'\"]|\([^()'\"]*\))*\))"  # such as `datetime.datetime(2026, 1, 1)`
    rf"|(?P<field>[A-Za-z_]\w{{0,100}})="
    rf"|(?P<enum><{_NAME}:)"
    r"|(?P<mark>[\[\](){},:>])",
    re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_ESCAPE = re.compile(
    r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U(000[\da-fA-F]{5}|0010[\da-fA-F]{4})|(.))", re.DOTALL
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_CLOSING = {"[": "]", "{": "}"}


def as_json(text: str) -> str:
    """Return the JSON of a text that Python printed; "" for another text.

    One that was cut gives JSON that is cut there.
    """
    if _BEGIN.match(text) is None or text.count("\\") > PARTS_MAX:
        return ""
    return _Writer(text).json()


def is_bare(text: str) -> bool:
    """Return whether a text that Python printed is the fields of an object without its name."""
    return _BARE.match(text) is not None


class _Writer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._is_bare = is_bare(text)
        self._parts: list[str] = []
        self._open: list[str] = []  # what closes the open brackets
        self._comma = False  # one is to be written before the next part

    def json(self) -> str:
        if self._is_bare:
            self._begin("{")
        place = 0
        for _ in range(PARTS_MAX):
            if place == len(self._text):
                break
            match = _PART.match(self._text, place)
            if match is None:
                return self._cut(self._text[place:])
            if not self._add(match):
                return ""
            place = match.end()
        else:
            return ""
        if self._is_bare and len(self._open) == 1:
            self._end()
        return "".join(self._parts)

    def _add(self, match: re.Match[str]) -> bool:
        """Write a part; return False if it is not valid here."""
        kind, text = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        if kind in ("string", "quoted"):
            self._write(_string(match["quoted"][1:-1]))
        elif kind == "word":
            self._write(_WORDS[text])
        elif kind == "number":
            self._write(text)
        elif kind == "call":
            self._write(json.dumps(text))
        elif kind == "object":
            self._begin("{")
            self._write(f'"type": {json.dumps(text.rpartition(".")[2])}')
            self._comma = True
        elif kind == "field":
            self._comma |= self._is_bare and len(self._open) == 1 and len(self._parts) > 1
            self._write(f'"{text}": ')
        elif kind == "mark":
            return self._mark(text)
        return True

    def _mark(self, mark: str) -> bool:
        if mark in "[({":
            self._begin("[" if mark == "(" else mark)
        elif mark in "])}":
            if not self._open or (mark != ")" and self._open[-1] != mark):
                return False
            self._end()
        elif mark == ",":
            self._comma = True
        elif mark == ":":
            self._parts.append(": ")
        return True

    def _begin(self, bracket: str) -> None:
        self._write(bracket)
        self._open.append(_CLOSING[bracket])

    def _end(self) -> None:
        self._comma = False  # one behind the last part
        self._parts.append(self._open.pop())

    def _write(self, text: str) -> None:
        if self._comma:
            self._parts.append(", ")
        self._comma = False
        self._parts.append(text)

    def _cut(self, rest: str) -> str:
        """Return the JSON so far with the beginning of a string that the text ends in; "" for other text."""
        if rest[0] not in "'\"":
            return ""
        self._write(_string(rest[1:])[:-1])
        return "".join(self._parts)


def _string(text: str) -> str:
    return json.dumps(_ESCAPE.sub(_unescaped, text) if "\\" in text else text)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    return (
        chr(int(code, 16)) if code else _ESCAPED.get(match[4], match[4] if match[4] in "\\'\"" else match[0])
    )
