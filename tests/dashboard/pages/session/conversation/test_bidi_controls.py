"""A session page marks the bidirectional controls of what an agent wrote; pushed panels do as well."""

from recorder.models import LoopRecord
from tests.support.build import agent_start, input_rejected

RLO = "\u202e"
MARK = f'<bdi class="bidi-control" title="U+202E">{RLO}</bdi>'


def test_a_control_in_recorded_text_is_marked_and_the_text_is_unchanged(feed, session):
    feed(agent_start("s.a.1"), input_rejected("s.a.1", reason=f"rm {RLO}txt.exe"))
    assert LoopRecord.objects.count() == 1

    page = session()

    assert f"rm {MARK}txt.exe" in page.html
    assert f"rm {RLO}txt.exe" in page.html.replace(MARK, RLO)
