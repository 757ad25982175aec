"""The exit code of a command is found where its runtime states it, and nowhere else."""

import pytest

from recorder.core.files.exit_codes import exit_code


def result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (result("ok", details={"exit_code": 0}), 0),
        (result("ok", details={"exitCode": 137}), 137),
        (result("ok", metadata={"exit": 1}), 1),
        (result("Exit code 2\nls: cannot access"), 2),
        (result("Command: ls\nOutput: x\nExit Code: 2\nSignal: none"), 2),
        (result("Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok"), 0),
        (result('{"output":"ok","metadata":{"exit_code":3,"duration_seconds":0.1}}'), 3),
        ("Exit code: -1", -1),
        (result("the script calls exit 3"), None),
        (result("x" * 700 + "\nExit code 2"), None),
        (result("ok", details={"exit_code": True}), None),
        (result("ok", details=None), None),
        (result("Exit code 99999999999"), None),
        ({"content": None}, None),
        (None, None),
        (7, None),
    ],
)
def test_a_code_is_found(found, code):
    assert exit_code(found) == code
