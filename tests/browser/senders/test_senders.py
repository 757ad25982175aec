"""Frameworks as they are, from the lines of the page Connect an agent to the session in a browser.

Installed by requirements of their own, which are no part of the product's. A scripted server answers in place
of the vendors.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.senders.connect_page import open_session, open_with_token, sessions, snippets
from tests.browser.senders.model_server import ANSWER, ModelServer
from tests.support.wait import LONGEST_S

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PROGRAMS = {
    "pydantic-ai": "pydantic_ai.py",
    "openai-agents": "openai_agents.py",
    "langgraph": "langgraph.py",
    "otlp": "anthropic.py",
    "vercel-ai-sdk": "vercel.mjs",
}


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """A Python with the frameworks."""
    folder = tmp_path_factory.mktemp("frameworks")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"]
    subprocess.run(pip, check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """A folder with the packages of the Vercel AI SDK."""
    if shutil.which("npm") is None:
        pytest.fail("no npm: `make node` installs it")
    folder = tmp_path_factory.mktemp("vercel")
    for name in ("package.json", f"programs/{PROGRAMS['vercel-ai-sdk']}"):
        shutil.copy(HERE / name, folder)
    subprocess.run(["npm", "install", "--silent", "--no-package-lock"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("sender", PROGRAMS)
def test_the_lines_of_the_page_lead_to_the_session(window, server, request, tmp_path, sender):
    page = open_with_token(window, server, sender, sender)
    shell, *setup = snippets(page).values()
    variables = "\n".join(line for line in shell.split("\n") if line.startswith("export "))

    with ModelServer() as model:
        environment = {**os.environ, "MODEL_SERVER": model.url}
        if sender == "vercel-ai-sdk":
            command, program = f"node {PROGRAMS[sender]}", ""
            folder = request.getfixturevalue("node")
        else:
            command, folder = f"{request.getfixturevalue('python')} -", tmp_path
            program = (HERE / "programs" / PROGRAMS[sender]).read_text()
            if sender != "otlp":
                program = f"{setup[0]}\n{program}"
        done = subprocess.run(
            ["bash", "-c", f"{variables}\n{command}"],
            input=program,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            cwd=folder,
            env=environment,
            check=False,
        )
    assert done.returncode == 0, done.stderr

    open_session(page, sender, turns=2)
    (session,) = sessions(server, sender)
    assert (session["agent_id"], session["outcome"], session["loops"]) == ("weather_agent", "completed", 1)
    assert (session["turns"], session["errors"], session["usage"]["input"]) == (2, 0, 240)
    if sender != "otlp":  # the anthropic client sends no content, and so no tool calls
        assert session["tool_calls"] == 1
        expect(page.get_by_text(ANSWER).first).to_be_visible()
        expect(page.get_by_text("get_weather").first).to_be_visible()
