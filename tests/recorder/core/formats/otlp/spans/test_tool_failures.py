"""Which tools failed, by the words of their results."""

import pytest

from recorder.core.formats.otlp.spans.content.blocks import tool_failed
from tests.recorder.core.formats.otlp.spans.lines import span

# As command-line tools, shells and frameworks write them.
FAILURES = [
    "Traceback (most recent call last):\n  File",
    "ValueError: bad",
    "error: division by zero",
    "Error: no such file",
    "\n  openai.APIConnectionError: down",
    "java.lang.NullPointerException: null",
    "Uncaught TypeError: x is not a function",
    "Exit code 1\nls: no such file",  # Claude Code
    "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nbad",  # Codex
    "Chunk ID: 6b559d\nWall time: 0.0000 seconds\nProcess exited with code 3\nOutput:\nbad\n",
    "<untrusted_context>\nOutput: x\nExit Code: 2\nProcess Group PGID: 1\n</untrusted_context>",  # Gemini CLI
    "Command: ls /x\nOutput: (empty)\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7",
    "bad\n[exit code: 2]",
    "Process exited with code -1\nOutput:\n",
]
SUCCESSES = [
    "",
    "# Manual\nThe program returns exit code 1 when the file is missing.",
    "Exit code 1 means that the file is missing.\nExit code 2 means more.",
    "Error handling in Go: a guide",
    "Errors: a history",
    "Exceptions in Python",
    "exception handling",
    "Traceback: how to read one",
    "The log has ValueError: bad",
    "Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 3\nmore",
    "Exit code: 0\nOutput:\nexit code: 5",
    "<untrusted_context>\nOutput: a\nExit Code: 2\nb\nProcess Group PGID: 12462\n</untrusted_context>",
    "Output: a\nExit Code: 0\nProcess Group PGID: 12462",
    "on one line\nexit code 1\nbetween two others",
]


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_is_found(text):
    assert tool_failed(text)


@pytest.mark.parametrize("text", SUCCESSES)
def test_words_in_the_output_of_a_tool_are_no_failure(text):
    assert not tool_failed(text)


@pytest.mark.parametrize(
    "text", ["\n" * 100_000, "Error: x\n" * 20_000 + "y", "Exit Code: 1\n" * 20_000 + "y"]
)
def test_long_results_are_read_in_linear_time(text):
    tool_failed(text[1:])


def test_a_tool_span_with_such_words_in_its_result_is_no_error():
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call.result": SUCCESSES[1],
    }
    assert span(tool, name="execute_tool read_file").digest.error == ""
    assert span(tool | {"gen_ai.tool.call.result": FAILURES[1]}).digest.error == "ValueError: bad"
