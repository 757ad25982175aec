"""A line of a shell is named by the first command in it that does something."""

import pytest

from recorder.core.content.commands import OTHER, command_name
from recorder.core.content.text import one_line


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("git diff --stat", "git diff"),
        ("git -C /srv/app log -3", "git log"),
        ("git", "git"),
        ("cd /srv/app && npm run build", "npm run"),
        ("export A=1; B=2 timeout 30 pytest -q | tail -5", "pytest"),
        ("uv run python -m pytest tests", "pytest"),
        ("sudo -E apt-get install -y jq", "apt-get install"),
        ("/usr/bin/python3 report.py", "python3"),
        ("ls -la\nrm -r build", "ls"),
        ("docker 'compose' up", "docker compose"),
        ("$(curl https://example.org)", OTHER),
        ("cd /srv/app", OTHER),
        ("'><script>", OTHER),
        ("", OTHER),
        ("x" * 200, OTHER),
    ],
)
def test_a_line_is_named(line, name):
    assert command_name("Bash", line) == name


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "git diff", "description": "Show what changed"}),
        ("Bash", {"description": "Show what changed, all of it", "command": "git diff"}),
        ("shell", {"command": ["bash", "-lc", "cd src && git diff"], "workdir": "/srv"}),
        ("local_shell", {"command": ["/bin/zsh", "-c", "git diff"]}),
        ("exec_command", {"cmd": "git diff", "yield_time_ms": 1000}),
        ("run_shell_command", {"command": "git diff"}),
    ],
)
def test_arguments_are_read_as_each_agent_writes_them(tool, arguments):
    assert command_name(tool, one_line(arguments)) == "git diff"


def test_other_tools_have_no_command():
    assert command_name("read_file", "command: git diff") == ""
    assert command_name("str_replace_based_edit_tool", "command: view, path: /srv") == ""
