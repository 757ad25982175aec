"""The agents and frameworks that can send, with the exact lines for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent

from dashboard.pages.connect.programs import CURL, PYTHON, WEBSOCKET

PLACEHOLDER = "YOUR_TOKEN"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some lines to copy: where they go, and their text."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Sender:
    """An agent or framework: its lines, and what to know about it."""

    key: str
    name: str
    group: str
    snippets: tuple[Snippet, ...]
    hint: str

    @property
    def heading(self) -> str:
        """Return what step 2 does."""
        return _HEADINGS.get(self.key, f"Set up {self.name}")

    @property
    def mark(self) -> str:
        """Return its two-letter abbreviation."""
        words = self.name.split()
        return (words[0][0] + (words[1][0] if len(words) > 1 else words[0][1])).lower()


@dataclass(frozen=True, slots=True)
class Wait:
    """The arrival that step 3 waits for, and the action that makes it come."""

    first: str
    action: str


def senders(origin: str, token: str) -> list[Sender]:
    """Return all senders with this server's URL and a token filled in."""
    return [
        Sender(key, name, group, _filled_all(lines, origin, token), hint)
        for key, name, group, lines, hint in _SENDERS
    ]


def wait_of(name: str) -> Wait:
    """Return what a page waits for after it made a token; tokens have the names of their senders."""
    key = next((sender[0] for sender in _SENDERS if sender[1] == name), "")
    return _WAITS[_WAIT_OF.get(key, "session")]


def check(origin: str, token: str) -> str:
    """Return the command that checks the address and the token."""
    return _fill(_CHECK, origin, token)


def _filled_all(lines: Sequence[tuple[str, str]], origin: str, token: str) -> tuple[Snippet, ...]:
    return tuple(Snippet(label, _fill(text, origin, token)) for label, text in lines)


def _fill(text: str, origin: str, token: str) -> str:
    socket = f"ws{origin.removeprefix('http')}"
    filled = dedent(text).strip().replace("SOCKET_ORIGIN", socket).replace("ORIGIN", origin)
    return filled.replace("TOKEN_HERE", token or PLACEHOLDER)


_CHECK = """
curl -i ORIGIN/v1/traces -H "Authorization: Bearer TOKEN_HERE" -H "Content-Type: application/json" -d "{}"
"""
_OTLP = """
export OTEL_EXPORTER_OTLP_ENDPOINT=ORIGIN
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20TOKEN_HERE"
"""
# Claude Code sends the header as it stands here; other SDKs decode it, as the specification of OTLP says.
_OTLP_AS_IS = _OTLP.replace("%20", " ")
_PUSH = """
pip install loopscope-client
export LOOPSCOPE_URL=ORIGIN LOOPSCOPE_TOKEN=TOKEN_HERE
loopscope-push --follow --agent """  # the name of an agent follows
_BOTH = "Both ways together give one session: the content of the transcript and the reported costs."
_PAST_AND_NEW = "the transcripts of this computer, past and new"
_LANGCHAIN = (
    "pip install openinference-instrumentation-langchain "
    "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
)
_CODING, _FRAMEWORKS, _OTHER = "Coding agents", "Frameworks", "Anything else"
_SENDERS = (
    (
        "claude-code",
        "Claude Code",
        _CODING,
        (
            (f"Shell: {_PAST_AND_NEW}", f"{_PUSH}claude-code"),
            (
                "Or: spans and logs, while it works",
                f"""
export CLAUDE_CODE_ENABLE_TELEMETRY=1 CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1
export OTEL_TRACES_EXPORTER=otlp OTEL_LOGS_EXPORTER=otlp
export OTEL_LOG_USER_PROMPTS=1 OTEL_LOG_TOOL_DETAILS=1 OTEL_LOG_TOOL_CONTENT=1
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf{_OTLP_AS_IS}""",
            ),
        ),
        "Its spans have no thinking and no calls of Write. " + _BOTH,
    ),
    (
        "codex",
        "Codex",
        _CODING,
        (
            (f"Shell: {_PAST_AND_NEW}", f"{_PUSH}codex"),
            (
                "Or: ~/.codex/config.toml",
                """
[otel]
log_user_prompt = true

[otel.exporter.otlp-http]
endpoint = "ORIGIN/v1/logs"
protocol = "json"
headers = { authorization = "Bearer TOKEN_HERE" }

[otel.trace_exporter.otlp-http]
endpoint = "ORIGIN/v1/traces"
protocol = "binary"
headers = { authorization = "Bearer TOKEN_HERE" }
""",
            ),
        ),
        "Codex takes the full address of each signal. Its telemetry has no text of answers; transcripts do.",
    ),
    (
        "gemini-cli",
        "Gemini CLI",
        _CODING,
        (
            (
                "Shell",
                """
export GEMINI_TELEMETRY_ENABLED=true GEMINI_TELEMETRY_TARGET=local
export GEMINI_TELEMETRY_TRACES_ENABLED=true GEMINI_TELEMETRY_OTLP_PROTOCOL=http
export GEMINI_TELEMETRY_LOG_PROMPTS=true
export GEMINI_TELEMETRY_OTLP_ENDPOINT=ORIGIN
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20TOKEN_HERE"
""",
            ),
            (f"Or: {_PAST_AND_NEW}", f"{_PUSH}gemini-cli"),
        ),
        "Its spans carry no cache figures; its logs and chats do.",
    ),
    (
        "opencode",
        "OpenCode",
        _CODING,
        ((f"Shell: {_PAST_AND_NEW}", f"{_PUSH}opencode"),),
        "Reads a copy of the store and never writes to it. Costs are those that OpenCode reports.",
    ),
    (
        "pi",
        "pi",
        _CODING,
        ((f"Shell: {_PAST_AND_NEW}", f"{_PUSH}pi"),),
        "Branches of a session are loops. Costs are those that pi reports.",
    ),
    (
        "pydantic-ai",
        "pydantic-ai",
        _FRAMEWORKS,
        (
            ("Shell", f"pip install logfire{_OTLP}"),
            (
                "Python",
                """
import logfire

logfire.configure(send_to_logfire=False)
logfire.instrument_pydantic_ai()
""",
            ),
        ),
        "The session is the conversation id of pydantic-ai.",
    ),
    (
        "openai-agents",
        "OpenAI Agents SDK",
        _FRAMEWORKS,
        (
            ("Shell", f"pip install logfire{_OTLP}"),
            (
                "Python",
                """
import logfire

logfire.configure(send_to_logfire=False)
logfire.instrument_openai_agents()
""",
            ),
        ),
        "Set group_id in RunConfig: runs with the same group_id become one session.",
    ),
    (
        "langgraph",
        "LangGraph",
        _FRAMEWORKS,
        (
            (
                "Shell",
                f"{_LANGCHAIN}{_OTLP}",
            ),
            (
                "Python, before the graph is built",
                """
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=provider)
""",
            ),
        ),
        "session_id or thread_id in the config of a run becomes the session.",
    ),
    (
        "vercel-ai-sdk",
        "Vercel AI SDK",
        _FRAMEWORKS,
        (
            ("Shell", f"npm install @vercel/otel @opentelemetry/api{_OTLP}"),
            (
                "TypeScript",
                """
import { registerOTel } from "@vercel/otel";

registerOTel({ serviceName: "support-bot" });

await generateText({ model, prompt, experimental_telemetry: {
  isEnabled: true, functionId: "support-bot", metadata: { sessionId } } });
""",
            ),
        ),
        "functionId names the agent, metadata.sessionId the session.",
    ),
    (
        "otlp",
        "Any OTLP sender",
        _OTHER,
        (
            ("Shell", f"{_OTLP}export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"),
            ("Or: one header, for tools that know only an API key", "api-key: TOKEN_HERE"),
        ),
        "GenAI conventions, OpenInference and traceloop are read; other spans are kept as lines.",
    ),
    (
        "events",
        "Your own program",
        _OTHER,
        (
            (
                "Python",
                """
# once: pip install loopscope-client
from loopscope_client import Client

with (
    Client("ORIGIN", "TOKEN_HERE") as client,
    client.loop(agent="cook", model="my-model") as loop,
):
    loop.user("What can I make of leeks?")
    with loop.turn() as turn:
        turn.answer("Soup.", input=18, output=5)
""",
            ),
            ("Or: Python, without a package", PYTHON),
            ("Or: Python over a WebSocket, word by word (pip install websockets)", WEBSOCKET),
        ),
        "The client streams text, and loses nothing while the server is away.",
    ),
    ("curl", "curl", _OTHER, (("Shell", CURL),), "Needs a POSIX shell and curl."),
)
_HEADINGS = {
    "otlp": "Send from any OTLP sender",
    "events": "Send from your own program",
    "curl": "Send with curl",
}
_WAITS = {
    "session": Wait(
        "the first session", "Ask the agent anything: it is shown when a model call or a tool ends."
    ),
    "transcript": Wait(
        "the first line of a transcript",
        "loopscope-push sends past sessions at once and new lines as they are written.",
    ),
    "span": Wait("the first span", "Run the agent: a span is sent when a model call or a tool ends."),
    "event": Wait("the first event", "Run the program: its session is shown at once."),
}
_WAIT_OF = {
    **dict.fromkeys(("claude-code", "codex", "gemini-cli", "opencode", "pi"), "transcript"),
    **dict.fromkeys(("pydantic-ai", "openai-agents", "langgraph", "vercel-ai-sdk", "otlp"), "span"),
    **dict.fromkeys(("events", "curl"), "event"),
}
