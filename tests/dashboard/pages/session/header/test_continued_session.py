"""The session of Claude Code that another one continues, in the header."""

import pytest

from dashboard.web import links
from recorder.models import Session
from tests.recorder.imports.transcripts import test_repeated_history as transcripts

pytestmark = pytest.mark.django_db(transaction=True)


def url_of(name):
    return links.session("default-project", Session.objects.get(session_id=name).pk)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_a_session_links_the_one_that_it_continues(place, order):
    files = transcripts.chain()
    transcripts.record(*[files[at] for at in order], project=place.project)

    for name, above in (("new", "old"), ("newer", "new")):
        assert f'continues <a class="link" dir="auto" href="{url_of(above)}">' in place.get(url_of(name))
    assert "continues <a" not in place.get(url_of("old"))
