"""A session of spans as of each of its lines is what was recorded then, also before a loop was withdrawn."""

import pytest

from recorder.models import EventRecord, Project, Session
from recorder.projection.as_of import as_of
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "capture",
    ["frameworks/pydantic-ai/06-sub-agent", "frameworks/openai-agents-openinference/06-handoff",
     "coding_agents/claude-code-otlp/task", "frameworks/langgraph-openinference/10-cache"],
)  # fmt: skip
def test_as_of_each_body_the_records_are_those_of_then(capture):
    project, then = Project.objects.create(slug="p"), {}
    for batch in captures.lines(capture):
        captures.record(project, batch)
        session = Session.objects.filter(project=project).first()
        if session is not None:
            event = EventRecord.objects.filter(session=session).latest("pk").pk
            then[event] = captures.shape(project)
    session = Session.objects.get(project=project)
    for event, wanted in then.items():
        with as_of(session, event):
            found = captures.shape(project)
        assert [*captures.differences(found, wanted)] == [], event
