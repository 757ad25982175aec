"""Records of a project, with a word of its own in every text."""

import json
from contextlib import contextmanager
from decimal import Decimal
from itertools import count

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from recorder.access import saved_views, share_links, signin_links, tokens
from recorder.access.saved_views import Content
from recorder.access.share_links import Target, Terms
from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import (
    Compaction,
    Insight,
    Invite,
    LoopRecord,
    ParallelGroupRecord,
    Price,
    Project,
    Session,
    Turn,
)
from recorder.notes import definitions, targets, write
from recorder.notes.definitions import Draft
from recorder.notes.write import Author
from recorder.operations import audit
from recorder.operations.people import invites
from recorder.pricing import price_book
from tests.support import build
from tests.support.foreign_tapes import tape

TAPES = (
    "phi-core/01-tools-two-prompts.events.jsonl",
    "phi-core/03-parallel-judge.events.jsonl",
    "phi-core/06-compaction-block-based.events.jsonl",
    "phi-core/08-rejections-and-errors.events.jsonl",
)
TEXTS = {
    *("text", "thinking", "delta", "system_prompt", "command", "description", "error_message", "reason"),
    *("agent_id", "model", "model_id", "provider", "config_id", "name", "tool_name", "toolName", "path"),
}

_numbers = count()


class Records:
    """The records of one project; `names` has their keys, for paths, queries and bodies."""

    def __init__(self, slug, word):
        self.word = word
        self.project = Project.objects.create(slug=slug, title=f"{word} house")
        for number, path in enumerate(TAPES):
            self._record(number, [json.loads(line) for line in tape(path)])
        waiting = build.ours("ApprovalRequested", f"{word}.a.1", kind="command", command=f"rm {word}")
        self._record("builder", [build.agent_start(f"{word}.a.1", agent_id=word), waiting])
        receipt = ingest(Batch(self.project.pk, f"{word}-bad", None, [f'{{"type": "{word}'.encode()]))
        assert receipt.rejected
        self.names = {"slug": slug, "unknown": "unknown", **self._recorded(), **self._beside()}

    def _record(self, number, events):
        sessions = {event["session_id"] for event in events if "session_id" in event}
        text = json.dumps([_with_word(event, self.word) for event in events])
        for session in sessions - {self.word}:
            text = text.replace(session, f"{session}-{self.word}")
        lines = [json.dumps(event).encode() for event in json.loads(text)]
        receipt = ingest(Batch(self.project.pk, f"{self.word}-{number}", None, lines))
        assert receipt.rejected == []

    def _recorded(self):
        of_project = {"loop__session__project": self.project}
        compaction = Compaction.objects.filter(**of_project).select_related("loop__session").first()
        loop = compaction.loop
        session = loop.session
        loops = LoopRecord.objects.filter(session=session).exclude(pk=loop.pk)
        others = Session.objects.filter(project=self.project).exclude(pk=session.pk)
        return {
            "session": session.pk,
            "session_id": session.session_id,
            "other_session": others.first().pk,
            "loop": loop.pk,
            "other_loop": loops.first().pk,
            "turn": Turn.objects.filter(loop=loop).first().pk,
            "event": loop.start_event,
            "compaction": compaction.pk,
            "group": ParallelGroupRecord.objects.filter(session__project=self.project).first().pk,
        }

    def _beside(self):
        """Add what people add: notes, a score, a view, a price, a token, an entry of the audit log."""
        project, word = self.project, self.word
        owner = User.objects.create_user(f"owner-{word}")
        project.memberships.create(user=owner, role="member")
        admin = User.objects.create_user(f"maker-{word}")
        project.memberships.create(user=admin, role="admin")
        session = Session.objects.filter(project=project).order_by("pk")
        author = Author(owner.username, user=owner)
        target = targets.find(project.pk, session.first().session_id)
        note = write.add_note(project.pk, author, target, f"a note on {word}").note
        write.add_bookmark(project.pk, author, target, word)
        score = f"q-{word}"
        definitions.define(project, Draft(score, "number", 1, 5, (), word), "maker")
        write.give_score(project.pk, author, target, score, 4, text=word)
        view = saved_views.create(project, admin, "sessions", f"view {word}", "project", Content(f"q={word}"))
        rates = Rates(*[Decimal(1)] * 6)
        price_book.add(project.pk, (word, word), [Band(0, rates)], None, word)
        now = timezone.now()
        insight = Insight.objects.create(
            project=project, kind="fact", key=word, agent_id=word, statement=word, first_at=now, last_at=now
        )
        audit.record(project, audit.COMMAND, "project.rename", word, before=word, after=word)
        return {
            "note": note.pk,
            "score": score,
            "view": view.pk,
            "price": Price.objects.get(project=project, model=word).pk,
            "token_key": tokens.key_of(tokens.issue(project, word, ["read"])),
            "insight": insight.pk,
            "link": signin_links.issue(admin) + "x",
            "share_secret": "x" * 43,
            "share_kind": "session",
            "share_link": _share_link(project, admin, session.first()),
            "member_pk": owner.pk,
            "member_name": owner.username,
            "invite": _invite(project, admin),
            "user": owner.pk,
            "passkey": 999_999,
        }


def _share_link(project, user, session):
    return share_links.issue(project, user, Target("session", session.pk), Terms()).link.pk


def _invite(project, user):
    invites.issue(project, "viewer", user, audit.COMMAND, f"{project.slug}@example.org")
    return Invite.objects.get(project=project).pk


def _with_word(value, word, key=""):
    if isinstance(value, dict):
        return {name: _with_word(each, word, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_word(each, word, key) for each in value]
    return f"{value} {word}" if isinstance(value, str) and key in TEXTS else value


def rows_written():
    """Return a number that is another one after a row was written; on PostgreSQL each time."""
    return connection.connection.total_changes if connection.vendor == "sqlite" else next(_numbers)


def tables(but=("django_session",)):
    """Return the content of all tables, except some and those of the search index."""
    with connection.cursor() as cursor:
        found = {}
        for name in connection.introspection.table_names(cursor):
            if name not in but and name.startswith(("recorder_", "auth_")):
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)}")
                found[name] = sorted(map(repr, cursor.fetchall()))
    return found


@contextmanager
def nothing_changed():
    """Roll back what is done in it, and fail if it changed a table.

    To read all tables takes longer than a request: that is done if a row was written.
    """
    with transaction.atomic():
        written, after = rows_written(), None
        yield
        if rows_written() != written:
            after = tables()
        transaction.set_rollback(True)
    assert after is None or after == tables()
