"""Compares constraints.txt with known vulnerabilities: `python -m tools.audit FOLDER`.

FOLDER holds advisories as JSON files of the OSV schema, or is one such file. Nothing is read from the
network. The exit status is 0 without a vulnerability, 1 with one, and 2 without a readable advisory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
Advisory = Mapping[str, Any]


class UnreadableError(Exception):
    """A file that holds no advisory."""


def main(arguments: list[str]) -> int:
    """Print the vulnerabilities of the pinned versions; return the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tools.audit FOLDER_OR_FILE", file=sys.stderr)
        return 2
    pins, number, found = pinned(CONSTRAINTS.read_text()), 0, 0
    try:
        for advisory in advisories(Path(arguments[0])):
            number += 1
            for package in vulnerable(advisory, pins):
                found += 1
                print(f"{package}=={pins[package]}: {advisory['id']!a}")  # without control characters
    except UnreadableError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{found} vulnerabilities in {len(pins)} packages, by {number} advisories")
    return min(found, 1) if number else 2


def pinned(text: str) -> dict[str, Version]:
    """Return the versions of a file of constraints by the normalized names of their packages."""
    lines = (line.partition("#")[0].partition(";")[0] for line in text.splitlines())
    parts = (line.partition("==") for line in lines if "==" in line)
    return {canonicalize_name(name.strip()): Version(version.strip()) for name, _, version in parts}


def advisories(path: Path) -> Iterator[Advisory]:
    """Yield the advisories of a file, or of the files below a folder. Raises UnreadableError."""
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        try:
            advisory = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableError(f"{file}: {error}") from None
        if not isinstance(advisory, dict) or "id" not in advisory:
            raise UnreadableError(f"{file}: no advisory of the OSV schema")
        yield advisory


def vulnerable(advisory: Advisory, pins: Mapping[str, Version]) -> list[str]:
    """Return the pinned packages of PyPI that an advisory affects, if it was not withdrawn."""
    if advisory.get("withdrawn"):
        return []
    found: dict[str, None] = {}
    for affected in advisory.get("affected", ()):
        package = affected.get("package", {})
        name = canonicalize_name(package.get("name", ""))
        is_pinned = package.get("ecosystem") == "PyPI" and name in pins
        if is_pinned and _affects(affected, pins[name]):
            found[name] = None
    return list(found)


def _affects(affected: Advisory, version: Version) -> bool:
    """Return whether a version is listed, or in a range of versions; ranges of commits do not count."""
    if any(_version(each) == version for each in affected.get("versions", ())):
        return True
    ranges = (each for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM")
    return any(_is_within(each.get("events", ()), version) for each in ranges)


def _is_within(events: list[Mapping[str, str]], version: Version) -> bool:
    """Return what the last event at or before a version says; `last_affected` holds behind its version."""
    steps = [(limit, kind) for event in events for kind, text in event.items() if (limit := _version(text))]
    is_affected = False
    for limit, kind in sorted(steps, key=lambda step: step[0]):
        if version > limit if kind == "last_affected" else version >= limit:
            is_affected = kind == "introduced"
    return is_affected


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:  # of a package that is older than the rules for versions
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
