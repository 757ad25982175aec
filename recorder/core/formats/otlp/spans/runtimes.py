"""The runtime that emits a span or log record: by its scope, else by its name."""

from __future__ import annotations

# The name of the runtime by the scope that emits the span, or the first part of it; the longest match first.
RUNTIMES = (
    ("pydantic-ai", "pydantic-ai"),
    ("openinference.instrumentation.openai_agents", "openai-agents"),
    ("logfire.openai_agents", "openai-agents"),
    ("openinference.instrumentation.langchain", "langchain"),
    ("opentelemetry.instrumentation.langchain", "langchain"),
    ("openinference.instrumentation.smolagents", "smolagents"),
    ("openinference.instrumentation.crewai", "crewai"),
    ("openinference.instrumentation.llama_index", "llama-index"),
    ("openinference.instrumentation.anthropic", "anthropic"),
    ("openinference.instrumentation.openai", "openai"),
    ("opentelemetry.instrumentation.anthropic", "anthropic"),
    ("opentelemetry.instrumentation.openai", "openai"),
    ("opentelemetry.util.genai", "openai"),
    ("com.anthropic.sdk", "anthropic"),
    ("com.anthropic.claude_code", "claude-code"),
    ("gcp.vertex.agent", "google-adk"),
    ("autogen", "autogen"),
    ("strands", "strands-agents"),
    ("gemini-cli", "gemini-cli"),
    ("logfire", "logfire"),
)
_CODEX = frozenset(("codex", "codex-tui", "codex-app-server"))  # further scopes begin with "codex_"
# The runtimes by the names of their spans and records: a program may choose the tracer, and so the scope.
_NAMED = (
    ("claude_code.", "claude-code"),
    *(
        (f"ai.{name}", "vercel-ai")
        for name in ("generateText", "streamText", "generateObject", "streamObject")
    ),
    ("ai.toolCall", "vercel-ai"),
)


def runtime_of(scope: str, name: str = "") -> str:
    """Return the runtime that emits a span or record, by its scope, else its name; else the scope itself."""
    if scope == "ai":
        return "vercel-ai"
    if is_codex(scope):
        return "codex"
    by_scope = (runtime for begin, runtime in RUNTIMES if _begins(scope, begin))
    by_name = (runtime for begin, runtime in _NAMED if name.startswith(begin))
    return next(iter([*by_scope, *by_name, scope])) or "otlp"


def is_codex(scope: str) -> bool:
    """Return whether a scope is one of Codex, whose tracers are named after its programs."""
    return scope in _CODEX or scope.startswith("codex_")


def _begins(scope: str, begin: str) -> bool:
    """Return whether a scope begins with whole words."""
    return scope.startswith(begin) and not scope[len(begin) : len(begin) + 1].isalnum()
