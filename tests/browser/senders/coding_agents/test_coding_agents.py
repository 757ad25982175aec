"""The command lines of coding agents as they are, from the lines of the page Connect an agent to the session.

Installed by npm for these tests only. A scripted server answers in place of the vendors, and each agent has a
home of its own. One test for each way that the page offers, spans and transcripts by `loopscope-push`, and
one for both together.
"""

import os
import pty
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.senders.coding_agents.agents import AGENTS, PROMPT, SECOND_PROMPT
from tests.browser.senders.connect_page import open_session, open_with_token, sessions, snippets
from tests.browser.senders.model_server import ANSWER, COMMAND, ModelServer
from tests.support.server import ROOT
from tests.support.wait import LONGEST_S, until

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SPANS, TRANSCRIPTS = "spans", "transcripts"
WAYS = [(agent, TRANSCRIPTS) for agent in AGENTS]
WAYS += [(agent, SPANS) for agent in ("claude-code", "codex", "gemini-cli")]


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """A folder with the agents' command lines."""
    if shutil.which("npm") is None:
        pytest.fail("no npm: `make node` installs it")
    folder = tmp_path_factory.mktemp("coding-agents")
    shutil.copy(HERE / "package.json", folder)
    install = ["npm", "install", "--silent", "--no-package-lock", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=folder, check=True)
    return folder / "node_modules" / ".bin"


@pytest.fixture
def home(tmp_path):
    """A home with `loopscope-push` on its PATH."""
    push = tmp_path / "bin" / "loopscope-push"
    push.parent.mkdir()
    main = "from loopscope_client.commands.push import main; raise SystemExit(main())"
    push.write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -c '{main}' \"$@\"\n")
    push.chmod(0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def shell(home, programs, lines, variables, **options):
    """Start lines in a shell whose environment is that of the home alone."""
    path = f"{programs}:{home / 'bin'}:{os.environ['PATH']}"
    environment = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return subprocess.Popen(
        ["bash", "-c", lines],
        cwd=home / "work",
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **options,
    )


@contextmanager
def pushing(home, programs, lines):
    """Run the lines of `loopscope-push` in a terminal in which a person agrees."""
    terminal, stdin = pty.openpty()
    os.write(terminal, b"y\n")
    process = shell(home, programs, lines, {}, stdin=stdin)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        output, _ = process.communicate(timeout=LONGEST_S)
        os.close(terminal)
        os.close(stdin)
    assert "rejected" not in output, output


def run(home, programs, agent, model, lines):
    """Run lines that start an agent with one prompt, and check its answer."""
    process = shell(home, programs, lines, agent.environment(model.url), stdin=subprocess.DEVNULL)
    try:
        output, _ = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(process.communicate()[0])
    assert process.returncode == 0, output
    assert ANSWER in output


def lines_of(page, way):
    """Return the lines of the page for a way: those with `loopscope-push`, or the others."""
    (lines,) = [
        text for text in snippets(page).values() if ("loopscope-push" in text) == (way == TRANSCRIPTS)
    ]
    return lines.removeprefix("pip install loopscope-client\n")  # `programs` has it from this checkout


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_the_lines_of_the_page_lead_to_the_session(window, server, programs, home, name, way):
    project, agent = f"{name}-{way}", AGENTS[name]
    page = open_with_token(window, server, name, project)
    lines = lines_of(page, way)
    has_second = bool(agent.second_command) and way == TRANSCRIPTS
    turns = 3 if has_second else 2

    with ModelServer() as model:
        agent.write_home(home, model.url)
        if way == TRANSCRIPTS:
            with pushing(home, programs, lines):
                run(home, programs, agent, model, agent.command)
                if agent.second_command:
                    run(home, programs, agent, model, agent.second_command)
                open_session(page, project, turns=turns)  # `loopscope-push` ends then: all has to be sent
        elif name == "codex":
            config = home / ".codex" / "config.toml"
            config.write_text(f"{config.read_text()}\n{lines}")
            run(home, programs, agent, model, agent.command)
            open_session(page, project, turns=2)
        else:
            run(home, programs, agent, model, f"{lines}\n{agent.command}")
            open_session(page, project, turns=2)

    (session,) = until(lambda: [one for one in sessions(server, project) if one["turns"] == turns])
    (session,) = until(lambda: [one for one in sessions(server, project) if one["outcome"] == "completed"])
    figures = ("loops", "turns", "tool_calls", "errors")
    assert [session[figure] for figure in figures] == [turns - 1, turns, 1, 0]
    usage = session["usage"]
    assert (usage["input"], usage["output"], usage["cache_read"]) == (
        120 * turns,
        15 * turns,
        80 * (turns - 1),
    )
    shown = [PROMPT, COMMAND, ANSWER]
    if has_second:  # the page shows the second loop
        shown = [SECOND_PROMPT, ANSWER]
    elif name == "codex" and way == SPANS:  # its telemetry has no text of answers
        shown.remove(ANSWER)
    for text in shown:
        expect(page.get_by_text(text).first).to_be_visible()


def test_both_ways_together_give_one_session(window, server, programs, home):
    """The open page shows each turn once while spans and transcript arrive, and then the reported costs."""
    project, agent = "claude-code-both", AGENTS["claude-code"]
    page = open_with_token(window, server, "claude-code", project)
    telemetry, push = lines_of(page, SPANS), lines_of(page, TRANSCRIPTS)

    with ModelServer() as model, pushing(home, programs, push):
        run(home, programs, agent, model, f"{telemetry}\n{agent.command}")
        open_session(page, project, turns=2)
        (session,) = until(
            lambda: [
                each
                for each in sessions(server, project)
                if (each["source"], each["cost_source"]) == ("claude-code", "reported")
            ]
        )

    assert [session[figure] for figure in ("loops", "turns", "tool_calls", "errors")] == [1, 2, 1, 0]
    usage = session["usage"]
    assert (usage["input"], usage["output"], usage["cache_read"]) == (240, 30, 80)
    for text in (PROMPT, COMMAND, ANSWER):
        expect(page.get_by_text(text).first).to_be_visible()
    expect(page.locator(".turn-header")).to_have_count(2)
