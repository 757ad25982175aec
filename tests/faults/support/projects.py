"""`make NAME…` prints a token for each new project, `digest NAME…` a hash of each one's records, as JSON.

Run with the environment of a server, beside it. When a line was received is no part of what it says: a
session's time of the last one is left out.
"""

import hashlib
import json
import sys

import django

django.setup()

from recorder.access import tokens  # noqa: E402  Django first
from recorder.models import Project  # noqa: E402
from tests.support.project_digest import records  # noqa: E402


def make(name):
    return tokens.issue(Project.objects.create(slug=name, title=name), name, ["ingest", "read"])


def digest(name):
    found = [_without_receipt(each) for each in records(Project.objects.get(slug=name).pk)]
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _without_receipt(record):
    kind, _, values = record.partition(" ")
    if kind != "Session":
        return record
    kept = json.loads(values)
    del kept["last_received_at"]
    return f"{kind} {json.dumps(kept)}"


if __name__ == "__main__":
    act = {"make": make, "digest": digest}[sys.argv[1]]
    print(json.dumps({name: act(name) for name in sys.argv[2:]}))
