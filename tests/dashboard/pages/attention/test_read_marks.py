"""Read markers in any order of events: a failure is unread if it is newer than its marker."""

from itertools import count

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.ended_sessions import FailuresOf, failed_loop, failed_loops
from dashboard.shared.queries.attention import Counts
from dashboard.web.keyset import Cursor
from recorder.access import read_marks
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session
from tests.dashboard.pages.attention.loop_states import ago
from tests.support import build

pytestmark = pytest.mark.django_db

NUMBERS = count()
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["fails", "finishes", "runs", "is marked"]), st.sampled_from("abc")),
        st.just(("all are marked", "")),
    ),
    max_size=12,
)


class Model:
    """Expected state of each session, and what one user has read."""

    def __init__(self):
        self.project = Project.objects.create(slug=f"p{next(NUMBERS)}")
        self.user = User.objects.create_user(self.project.slug)
        self.states: dict[str, str] = {}
        self.open: dict[str, str] = {}

    def step(self, what, session):
        match what:
            case "fails" | "finishes":
                loop = self.open.pop(session, None) or self.start(session)
                self.feed(
                    build.agent_end(
                        loop, outcome="failed" if what == "fails" else "completed", timestamp=ago(seconds=0)
                    )
                )
                self.states[session] = what
            case "runs" if session not in self.open:
                self.open[session] = self.start(session)
                self.states[session] = what
            case "is marked" | "all are marked":
                self.mark(session)

    def start(self, session):
        loop = f"{session}.a.{next(NUMBERS)}"
        self.feed(build.agent_start(loop, session=session, timestamp=ago(seconds=0)))
        return loop

    def feed(self, event):
        ingest(Batch(self.project.pk, "agent", None, [build.line(event)]))

    def mark(self, session):
        project, user, now = self.project.pk, self.user.pk, timezone.now()
        found = Session.objects.filter(project=project, session_id=session).first()
        if session and found:
            loops = failed_loop(project, user, found.pk)
        else:
            loops = failed_loops(project, user, AttentionParams(), upto=Cursor(now, 0)) if not session else []
        read_marks.mark(self.user, self.project, loops, now)
        for each in [session] if session else self.states:
            if self.states.get(each) == "fails":
                self.states[each] = "seen"


@given(STEPS)
@settings(max_examples=25)
def test_a_failure_is_unread_until_it_is_marked(db, steps):
    model = Model()
    for what, session in steps:
        model.step(what, session)

    failures = FailuresOf(model.project.pk, AttentionParams())([model.user.pk])[model.user.pk]
    shown = {each.title: "seen" if each.has_seen else "fails" for each in failures.rows}
    assert shown == {name: state for name, state in model.states.items() if state in ("fails", "seen")}
    unseen = sum(state == "fails" for state in model.states.values())
    assert failures.unseen.value == Counts(model.project.pk)([model.user.pk])[model.user.pk].unseen == unseen
    assert [each.has_seen for each in failures.rows] == sorted(each.has_seen for each in failures.rows)
