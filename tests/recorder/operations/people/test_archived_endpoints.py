"""The endpoint of events refuses an archived project with 403 and the code `archived`."""

import pytest

from recorder.models import JournalEvent, Project
from recorder.operations.audit import COMMAND
from recorder.operations.people import projects
from tests.support.build import line
from tests.support.endpoint_clients import post
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_archived_project_refuses_events_until_it_is_restored(project, token):
    content = b"\n".join(map(line, Loop("one").whole("hello")))
    projects.archive(project, COMMAND)
    refused = post(content, token)
    assert (refused.status, refused.json["code"]) == (403, "archived")
    assert not JournalEvent.objects.exists()
    projects.restore(Project.objects.get(), COMMAND)
    assert post(content, token).status == 200
