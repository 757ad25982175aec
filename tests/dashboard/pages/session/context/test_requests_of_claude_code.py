"""The system prompt and the tools that Claude Code writes for its requests, on the tab Context."""

import json

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower
from recorder.models import Turn
from tests.recorder.core.formats.transcripts.test_claude_requests import SYSTEM, TOOLS, two_calls


def test_the_parts_of_the_system_prompt_and_the_tools_are_blocks_of_both_calls(project, session, reader):
    lines = [json.dumps(line).encode() for line in two_calls().lines]
    ingest(Batch(project.pk, "f", 0, lines, "claude-code", flush=True))
    follower.run_all()

    page = session(query="?tab=context")
    found = project.sessions.get()
    rows = reader.get(f"/p/default/sessions/{found.pk}/context.csv").content.decode().splitlines()
    url = f"/p/default/events/{Turn.objects.earliest('ordinal').request_event}"
    request = reader.get(url, follow=True).content.decode()

    assert [row.split(",")[0] for row in rows].count("system") == len(SYSTEM) == 2
    assert [row.split(",")[0] for row in rows].count("tool_definition") == len(TOOLS) == 1
    assert "The requests of 1 call were not recorded." in page.text
    assert not any("not recorded" in row for row in rows)
    assert page.html.count(f'"{url}"') >= len(SYSTEM) + len(TOOLS)
    assert all(part["text"] in request for part in SYSTEM)
