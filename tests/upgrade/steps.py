"""Steps of the upgrade tests, each in a process of its own: fill a database, describe it, continue in it.

`fill` ran when a version was released. The others run with today's code on what that version left.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from itertools import chain

from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from recorder.access import tokens
from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.insights import store as insights
from recorder.insights.consolidate import consolidate
from recorder.journal import append
from recorder.journal.read import Pruned, texts
from recorder.ledger.follower import Follower
from recorder.ledger.sums import NO_PART, add_up_days
from recorder.models import (
    Insight,
    JournalEvent,
    LedgerCall,
    LedgerGap,
    LedgerSum,
    LoopRecord,
    Membership,
    Mute,
    Price,
    Producer,
    Project,
    ReadMark,
    Repricing,
    Session,
    Turn,
)
from recorder.operations import retention, retention_pins
from recorder.operations.integrity_check import findings
from recorder.pricing import backfill, price_book
from recorder.projection.export import phi_session, phi_text, raw_lines
from tests.recorder.insights.fixtures import learned, working
from tests.recorder.journal.spans import captures, pairs
from tests.support.foreign_tapes import TAPES, tape
from tests.support.project_digest import records
from tests.upgrade import team

NOW = datetime.now(UTC)
OPEN, CUT = "phi-core/03-parallel-judge.events.jsonl", 20  # lines that were recorded before the upgrade
OWN_PRICE = Band(0, Rates(*map(Decimal, ("10", "1", "10", "20", "50", "50"))))
STORES = ("cagent/two-sessions.v13.db", "cagent/transfer-task.v19.db", "aidaemon/events.hand-made.db")
STREAMS = (
    *(
        ("native", path.relative_to(TAPES).as_posix())
        for path in sorted(TAPES.glob("phi-core/*.events.jsonl"))
    ),
    ("native", "hostile.events.jsonl"),
    ("cagent", "cagent/all-event-types.hand-made.events.jsonl"),
    ("cagent", "cagent/exec-json-cut-by-error.hand-made.events.jsonl"),
    ("cagent", "cagent/two-turns.reconstructed.events.jsonl"),
    ("grida", "grida/lifecycle.hand-made.sse"),
)
SPANS = (
    "clients/openai-otel-v2/02-tool-no-parent-span",
    "frameworks/langgraph-openinference/03-parallel-tools",
)
TRANSCRIPTS = ("claude-code/task", "codex/parallel", "gemini-cli/write")
LISTS = (
    *("sessions", "loops", "groups", "configs", "compactions", "approvals", "quarantine"),
    *("usage?group_by=config", "usage?group_by=config,day"),
)
# Rows that Django or the description itself makes, not a user.
OF_PROGRAMS = {"auth.Permission", "contenttypes.ContentType", "sessions.Session", "recorder.SignIn"}

OF_UPGRADES = {Repricing: {"requested_by": "the upgrade"}}  # rows that migrations add


def fill() -> None:
    """Record all that this version can: formats, costs, insights, retention, users, read markers."""
    default = Project.objects.create(slug="default", title="Default", retention_days=None)
    _people(default)
    for form, name in STREAMS:
        ingest(Batch(default.pk, name, None, tape(name), form, flush=form == "cagent"))
    ingest(
        Batch(default.pk, "bad", None, [b"{", b'{"type":"AgentStart"}', b'{"type":"AgentStart","loop_id":1}'])
    )
    call_command("import_runs", *(f"tests/tapes/{name}" for name in STORES), verbosity=0)
    team.fill(default)
    _prices(default)
    _insights(default)
    _coding(Project.objects.create(slug="coding", title="Spans and transcripts", retention_days=None))
    _pruned(Project.objects.create(slug="pruned", title="Old bodies", retention_days=30))
    opened = Project.objects.create(slug="opened", title="Recorded on", retention_days=None)
    ingest(Batch(opened.pk, "open", 0, tape(OPEN)[:CUT]))


def describe() -> dict[str, object]:
    """Return the contents of the database as users and programs see them, by names that never change."""
    return {
        "rows": {
            model._meta.db_table: model._default_manager.exclude(**OF_UPGRADES.get(model, {})).count()
            for model in apps.get_models()
            if model._meta.label not in OF_PROGRAMS
        },
        "projects": {project.slug: _project(project) for project in Project.objects.order_by("slug")},
        "people": sorted(
            [user.username, user.is_superuser, sorted(user.memberships.values_list("project__slug", "role"))]
            for user in User.objects.all()
        ),
    }


def resume() -> dict[str, str]:
    """Record the rest of a stream that an upgrade cut, and the same stream whole; return both as exported."""
    opened, whole = Project.objects.get(slug="opened"), Project.objects.create(slug="whole")
    ingest(Batch(opened.pk, "open", CUT, tape(OPEN)[CUT:]))
    ingest(Batch(whole.pk, "open", 0, tape(OPEN)))
    return {project.slug: _exports(project) for project in (opened, whole)}


def rebuild() -> dict[str, object]:
    """Return what a rebuild changes in each project that has all bodies, and any damage found before it."""
    while backfill.step():
        pass
    damaged, changed = list(findings()), {}
    for project in Project.objects.exclude(slug="pruned"):
        before = _records(project)
        call_command("rebuild", "--force", "--project", project.slug, verbosity=0)
        changed[project.slug] = sorted(before ^ _records(project))
    return {"changed": changed, "damaged": damaged}


def _records(project: Project) -> set[str]:
    """Return every record of a project without the sentences about anomalies, which a version may reword."""
    return {re.sub(r'^(Anomaly .*), "text": ".*"', r"\1", record) for record in records(project.pk)}


def _people(project: Project) -> None:
    admin = User.objects.create_superuser("admin")
    viewer = User.objects.create_user("viewer")
    Membership.objects.create(project=project, user=viewer, role=Membership.Role.VIEWER)
    Mute.objects.create(user=viewer, row="failed")
    tokens.issue(project, "laptop", ["ingest", "read"], user=admin)
    tokens.revoke("laptop", project)
    tokens.issue(project, "server", ["ingest"], user=admin)


def _coding(project: Project) -> None:
    """Record spans, transcripts, and a run that an agent sent as both."""
    for capture in SPANS:
        for batch in captures.lines(capture):
            captures.record(project, batch)
    for run in TRANSCRIPTS:
        pairs.record_transcripts(project, run)
    pairs.record_spans(project, pairs.BOTH)
    pairs.record_transcripts(project, pairs.BOTH)


def _prices(project: Project) -> None:
    pair = Price.objects.filter(project=project).order_by("pk").values_list("model", "provider")[0]
    price_book.add(project.pk, pair, [OWN_PRICE], None, "admin")
    backfill.request(project, pair, "admin")
    while backfill.step():
        pass


def _insights(project: Project) -> None:
    for n in range(4):
        events = working(
            f"lesson-{n}", "edit a.py", "pytest!", "edit a.py", "pytest", session_id=f"lessons-{n}"
        )
        ingest(Batch(project.pk, f"lesson-{n}", None, [json.dumps(event).encode() for event in events]))
    consolidate(project, lambda *_: None)
    shown = Insight.objects.filter(project=project).order_by("pk")
    insights.dismiss(project.pk, shown[0].pk, "admin")
    failed = LoopRecord.objects.filter(session__project=project, outcome="failed").order_by("pk")[0]
    ReadMark.objects.create(user=User.objects.get(username="admin"), loop=failed.pk, seen_at=NOW)


def _pruned(project: Project) -> None:
    for name, days in (("01-tools-two-prompts", 60), ("05-sub-agents", 60), ("10-user-cancel", 1)):
        lines = tape(f"phi-core/{name}.events.jsonl")
        ingest(Batch(project.pk, name, None, lines, received_at=NOW - timedelta(days=days)))
    kept = Session.objects.filter(project=project, loop_records__producer__name="05-sub-agents")
    retention_pins.pin(kept[0], "admin")
    append.mark_consolidated(
        list(JournalEvent.objects.filter(project=project).values_list("pk", flat=True)), NOW
    )
    retention.prune(project, NOW)


def _project(project: Project) -> dict[str, object]:
    return {
        "title": project.title,
        "retention_days": project.retention_days,
        "api": {path: _listed(project, path) for path in LISTS},
        "exports": _exports(project),
        "exports_of_0_2": _exports_of_0_2(project),
        "lines": {producer.name: _lines(producer) for producer in Producer.objects.filter(project=project)},
        "prices": list(
            Price.objects.filter(project=project).order_by("pk").values_list("model", "provider", "is_own")
        ),
        "tokens": list(project.tokens.order_by("pk").values_list("name", "scopes", "key")),
        "learned": learned(project),
        "team": team.describe(project),
        "pinned": sorted(
            Session.objects.filter(project=project, pk__in=_pinned(project)).values_list("session_id")
        ),
    }


def _pinned(project: Project) -> list[int]:
    names = (
        apps.get_model("recorder", "Pin").objects.filter(project=project).values_list("session_id", flat=True)
    )
    return list(Session.objects.filter(project=project, session_id__in=names).values_list("pk", flat=True))


def _listed(project: Project, path: str) -> list[object]:
    """Return all items of a list of the read API, page by page."""
    reader = Client(SERVER_NAME="127.0.0.1")
    reader.force_login(User.objects.get(username="admin"))
    mark = "&" if "?" in path else "?"
    address = f"/api/v1/{path}{mark}project={project.slug}&since=2000-01-01T00:00:00Z"
    items: list[object] = []
    cursor = ""
    while True:
        page = reader.get(address + (f"&cursor={cursor}" if cursor else "")).json()
        items += page["items"]
        if not (cursor := page.get("next")):
            return items


def _exports(project: Project) -> dict[str, list[str]]:
    """Return the hashes of each session as its recorded lines and as a phi-core session."""
    return {
        session.session_id: [
            _hash(lambda: b"\n".join(raw_lines(session))),  # noqa: B023  called at once
            _hash(lambda: phi_text(session).encode()),  # noqa: B023
        ]
        for session in Session.objects.filter(project=project).order_by("session_id")
    }


def _exports_of_0_2(project: Project) -> dict[str, str]:
    """Return the hashes of phi-core sessions as 0.2.0 wrote them: without results that only tools sent."""
    exports = {}
    for session in Session.objects.filter(project=project, pruned_on=None).exclude(source="phi-core"):
        export = phi_session(session)
        for turn in chain.from_iterable(loop["turns"] for loop in export["loops"]):
            turn["tool_results"] = []
        text = json.dumps(export, indent=2, ensure_ascii=False)
        exports[session.session_id] = sha256(text.encode()).hexdigest()
    return exports


def _hash(export) -> str:
    try:
        return sha256(export()).hexdigest()
    except Pruned:
        return "pruned"


def _lines(producer: Producer) -> list[object]:
    """Return number of the last line, count, and a hash of all bytes of a producer."""
    rows = list(producer.lines.order_by("pk").values_list("pk", "kind", "pruned_on"))
    found = texts([pk for pk, kind, pruned in rows if not pruned])
    whole = sha256()
    for pk, kind, pruned in rows:
        whole.update(f"{kind} {pruned} ".encode() + found.get(pk, b"") + b"\n")
    return [producer.high, len(rows), whole.hexdigest()]


def ledger() -> dict[str, object]:
    """Make the block ledger in steps, each by a new follower as after a restart; return what it says.

    Sums in nano-dollars: of ended turns, and of the ledger.
    """
    steps = 0
    while Follower().step() and steps < 2_000:
        steps += 1
    add_up_days()
    ended = Turn.objects.filter(state="done")
    sums = LedgerSum.objects.exclude(kind__in=NO_PART)
    return {
        "steps": steps,
        "turns": ended.count(),
        "calls": LedgerCall.objects.count(),
        "gaps": LedgerGap.objects.count(),
        "cost": sum(ended.exclude(cost_nano=None).values_list("cost_nano", flat=True)),
        "in_ledger": sum(sums.values_list("cost_nano", flat=True)),
    }


STEPS = {"fill": fill, "describe": describe, "resume": resume, "rebuild": rebuild, "ledger": ledger}
