"""Attribute names of all conventions, in the order in which they are tried, with where each is from.

GenAI: OpenTelemetry's semantic conventions from 1.36 on. OI: OpenInference. Unknown names stay in the raw
line.
"""

from __future__ import annotations

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import identifier

# What stands before the fields of metadata that a program set.
_METADATA = (
    "ai.telemetry.metadata.",  # Vercel AI SDK
    "ai.settings.context.",  # Vercel AI SDK from 7 on
    "traceloop.association.properties.",
    "langsmith.metadata.",
    "langfuse.trace.metadata.",
    "langfuse.observation.metadata.",
    "lmnr.association.properties.",  # Laminar
    "braintrust.metadata.",
    "litellm.metadata.",
    "trace.metadata.",  # OpenRouter
    "metadata.",
)
METADATA = (  # JSON objects with such fields
    *("metadata", "langsmith.metadata", "langfuse.trace.metadata", "langfuse.observation.metadata"),
    *("ai.telemetry.metadata", "braintrust.metadata", "litellm.metadata"),
)
METADATA_SESSION = (  # fields of metadata
    *("session_id", "sessionId", "session.id", "langfuse_session_id", "langfuseSessionId"),
    *("conversation_id", "conversationId", "chat_id", "chatId", "thread_id", "threadId"),
)
METADATA_USER = ("user_id", "userId", "user.id", "langfuse_user_id", "langfuseUserId", "ls_user_id")
SESSION = (
    "gen_ai.conversation.id",  # GenAI; pydantic-ai, Google ADK, Gemini CLI
    "session.id",  # OI, Claude Code, Gemini CLI logs
    "conversation.id",  # Codex
    "langfuse.session.id",
    "langfuse.trace.session_id",
    "langsmith.trace.session_id",
    "spring.ai.chat.client.conversation.id",  # Spring AI
    "spring.ai.chat.memory.conversation.id",
    "mlflow.trace.session",
    "openlit.session.id",
    "helicone.session.id",
    "litellm.session_id",
    "litellm.litellm_session_id",
    "langfuse.sessionId",
    "llm.session_id",
    "agent.session.id",
    "gen_ai.agent.session.id",
    "agno.session.id",
    "gen_ai.session.id",
    "gen_ai.session_id",
    "lk.session_id",  # LiveKit
    "copilot_chat.session_id",
    "copilot_chat.chat_session_id",
    "aws.bedrock.agentcore.session.id",
    "gcp.vertex.agent.session_id",  # Google ADK
    *("genkit:sessionId", "openclaw.sessionId", "sessionID"),
    *("posthog.session_id", "$ai_session_id", "braintrust.session_id", "orq.session_id"),
    *("app.session.id", "app.session_id", "agent.conversation.id", "agent.session_id", "gen_ai.chat.id"),
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "gen_ai.conversation_id",
    "dify.conversation_id",
    "dify.conversation.id",
    "chat.id",
    "chat_id",
    *(f"{before}{name}" for name in METADATA_SESSION for before in _METADATA),
    "gen_ai.thread.id",
    "gen_ai.thread_id",
    "openai.thread_id",
    "wandb.thread_id",
    *("orq.thread_id", "chainlit.thread_id", "copilotkit.thread_id", "ag_ui.thread_id", "agent.thread_id"),
    "thread_id",
    "threadId",
    "gen_ai.openai.thread.id",
    "group_id",  # logfire for openai-agents, on the root
)
THREAD = ("thread.id",)
TAGS = (  # lists, or texts with JSON or commas
    *("tag.tags", "langfuse.trace.tags", "langfuse.tags", "langsmith.span.tags", "logfire.tags", "tags"),
    *("lmnr.span.tags", "braintrust.tags", "request_tags", *(f"{before}tags" for before in _METADATA)),
    *("ai.telemetry.metadata.langfuseTags", "metadata.request_tags"),
)
USER = (
    "user.id",  # OpenTelemetry, OI
    "enduser.id",  # OpenTelemetry until 1.28
    "enduser.pseudo.id",
    "langfuse.user.id",
    "langfuse.userId",
    "langfuse.trace.user_id",
    "langsmith.trace.user_id",
    *(f"{before}{name}" for name in METADATA_USER for before in _METADATA),
    "mlflow.trace.user",
    "helicone.user.id",
    "gcp.vertex.agent.user_id",
    "dify.user_id",
    "gen_ai.user.id",
    *("posthog.distinct_id", "$ai_user_id", "app.user.id"),
    "gen_ai.user",
    "agno.user.id",
    "litellm.user_id",
    "user_id",
    "userId",
    "llm.user",
    "gen_ai.request.user",
    "gen_ai.openai.request.user",
    "metadata.user_api_key_end_user_id",  # LiteLLM
    "llm.openai.user",
)
AGENT = (
    "gen_ai.agent.name",  # GenAI
    "agent.name",  # OI
    "graph.node.id",  # OI
    "ai.telemetry.functionId",  # Vercel AI SDK
    "agent_name",  # pydantic-ai
    "traceloop.entity.name",  # traceloop
)
TOOL = (
    "gen_ai.tool.name",  # GenAI
    "tool.name",  # OI
    "ai.toolCall.name",  # Vercel AI SDK
    "tool_name",  # Claude Code, Codex
    "spring.ai.tool.definition.name",  # Spring AI
    "traceloop.entity.name",
    *("mcp.tool.name", "gen_ai.tool_name", "tool_call.function.name", "function.name"),
    "lk.function_tool.name",  # LiveKit
)
CHILD = ("subagent_type", "coworker")  # the agent that a tool delegates to: Claude Code, crewAI
CALL_ID = (
    "gen_ai.tool.call.id",  # GenAI
    "gen_ai.tool.call_id",  # Gemini CLI
    "ai.toolCall.id",  # Vercel AI SDK
    "tool_use_id",  # Claude Code
    "call_id",  # Codex
    "tool_call.id",  # OI
    *("tool.call_id", "tool.call.id", "tool_call_id", "gen_ai.tool_call.id", "tool.id", "mcp.tool.call.id"),
    "lk.function_tool.id",  # LiveKit
)
ARGUMENTS = (
    "gen_ai.tool.call.arguments",  # GenAI
    "tool_arguments",  # pydantic-ai, instrumentation 2
    "ai.toolCall.args",  # Vercel AI SDK
    "gcp.vertex.agent.tool_call_args",  # Google ADK, telemetry schema 1
    "traceloop.entity.input",
    "input.value",  # OI
    "input",  # logfire for openai-agents
    "spring.ai.tool.call.arguments",  # Spring AI
    "langfuse.observation.input",  # Langfuse
    "tool_input",  # Claude Code logs
    "arguments",  # Codex logs
    "function_args",  # Gemini CLI logs
    "gen_ai.prompt",  # LangSmith
    "lmnr.span.input",  # Laminar
    "mlflow.spanInputs",
    "braintrust.input_json",
    *("gen_ai.tool.arguments", "gen_ai.tool.input", "gen_ai.tool.call.input", "gen_ai.tool.call.args"),
    *("tool.arguments", "tool.input", "ai.toolCall.input", "mcp.tool.arguments"),
    *("tool_call.function.arguments", "lk.function_tool.arguments"),
)
RESULT = (
    "gen_ai.tool.call.result",  # GenAI
    "tool_response",  # pydantic-ai, instrumentation 2
    "ai.toolCall.result",  # Vercel AI SDK
    "gcp.vertex.agent.tool_response",  # Google ADK, telemetry schema 1
    "traceloop.entity.output",
    "output.value",  # OI
    "output",  # logfire for openai-agents, Codex logs
    "spring.ai.tool.call.result",  # Spring AI
    "langfuse.observation.output",  # Langfuse
    "gen_ai.completion",  # LangSmith
    "lmnr.span.output",  # Laminar
    "mlflow.spanOutputs",
    "braintrust.output_json",
    *("gen_ai.tool.result", "gen_ai.tool.output", "gen_ai.tool.call.output", "gen_ai.tool.response"),
    *("tool.result", "tool.output", "ai.toolCall.output", "mcp.tool.result", "tool_result"),
    "lk.function_tool.output",  # LiveKit
)
MCP_METHOD = ("mcp.method.name", "mcp.method", "rpc.method")
MCP_SESSION = ("mcp.session.id", "mcp.session_id")
MCP_REQUEST = ("jsonrpc.request.id", "rpc.jsonrpc.request_id", "mcp.request.id")
MCP_TOOL_CALL = "tools/call"
TOOL_STATUS = ("gen_ai.tool.status", "gen_ai.tool.call.status", "tool.status")  # strands' first
TOOL_FAILED = ("gen_ai.tool.is_error", "gen_ai.tool.call.is_error", "tool.is_error", "mcp.tool.is_error",
               "lk.function_tool.is_error")  # fmt: skip
TOOL_ERROR = ("gen_ai.tool.error", "gen_ai.tool.call.error", "tool.error")
MODEL_CALL = (
    "gen_ai.response.model",  # GenAI
    "ai.response.model",  # Vercel AI SDK
    "gen_ai.request.model",  # GenAI
    "llm.model_name",  # OI
    "ai.model.id",  # Vercel AI SDK
    "langfuse.observation.model.name",  # Langfuse
    "gen_ai.response_model",
    "llm.response.model",  # traceloop, older releases
    "llm.request.model",
    "mlflow.llm.model",  # as JSON
    *("gen_ai.model_name", "gen_ai.model.name", "gen_ai.model", "llm.model", "llm.model.name"),
    "openclaw.model",
)
MODEL = (*MODEL_CALL, "langsmith.metadata.ls_model_name", "model")  # Claude Code, Codex
PROVIDER = (
    "gen_ai.provider.name",  # GenAI
    "gen_ai.system",  # GenAI until 1.36
    "llm.provider",  # OI
    "llm.system",  # OI
    "ai.model.provider",  # Vercel AI SDK: openai.chat
    "llm.vendor",  # traceloop, older releases
    "mlflow.llm.provider",  # as JSON
    "gen_ai.model.provider",  # Cloudflare
    *("gen_ai.provider", "gen_ai.vendor"),
    "openclaw.provider",
)
FRAMEWORKS = frozenset(("strands-agents", "autogen", "langgraph", "langchain", "crewai"))  # no providers
RESPONSE_ID = ("gen_ai.response.id", "ai.response.id", "response_id", "llm.response.id")
FINISH = (
    "gen_ai.response.finish_reasons",  # GenAI, a list
    "llm.finish_reason",  # OI
    "ai.response.finishReason",  # Vercel AI SDK
    "stop_reason",  # Claude Code
    "anthropic.message.stop_reason",
    "gen_ai.completion.0.finish_reason",  # traceloop, older releases
    *("gen_ai.response.finish_reason", "llm.response.finish_reason", "llm.response.stop_reason"),
)
COMPACTED = "gen_ai.conversation.compacted"  # GenAI: the provider shortened the context of this call
COMPACTION = "compaction"  # the finish reason of an answer that is one
SYSTEM_TEXT = ("gen_ai.system_instructions",)
INPUT_MESSAGES = ("gen_ai.input.messages", "ai.prompt.messages", "gen_ai.prompt", "raw_input", "input",
                  "llm.input_messages")  # fmt: skip
OUTPUT_MESSAGES = ("gen_ai.output.messages", "gen_ai.completion", "output", "llm.output_messages")
# Attributes with a whole request or response, or a plain text.
REQUESTS = ("langfuse.observation.input", "gen_ai.prompt", "input.value", "gen_ai.input.messages",
            "gen_ai.request.messages", "gen_ai.prompts", "llm.prompt", "llm.request.messages", "gen_ai.input",
            "llm.prompts", "traceloop.entity.input", "lmnr.span.input", "mlflow.spanInputs",
            "braintrust.input_json", "gcp.vertex.agent.llm_request", "gen_ai.prompt_json",
            "request_data", "gen_ai.request.prompt", "llm.input", "input")  # fmt: skip
RESPONSES = ("langfuse.observation.output", "gen_ai.completion", "output.value", "gen_ai.output.messages",
             "gen_ai.response.messages", "gen_ai.completions", "llm.completion", "llm.response.content",
             "gen_ai.output", "llm.completions", "traceloop.entity.output", "lmnr.span.output",
             "mlflow.spanOutputs", "braintrust.output_json", "gcp.vertex.agent.llm_response",
             "gen_ai.completion_json", "response_data", "gen_ai.response.text", "gen_ai.response.content",
             "llm.output", "output")  # fmt: skip
DETAILS = "gen_ai.client.inference.operation.details"  # event or log record with a call's messages
# Span events with messages in attributes as those of a span; the others are of OpenLIT and Semantic Kernel.
CONTENT_EVENTS = (DETAILS, "gen_ai.content.prompt", "gen_ai.content.completion", "llm.content.prompt",
                  "llm.content.completion", "gen_ai.input.messages", "gen_ai.output.messages")  # fmt: skip
# Events or log records with one message each, until GenAI 1.36; in the usual order of a call.
MESSAGE_EVENTS = (
    "gen_ai.system.message",
    "gen_ai.user.message",
    "gen_ai.assistant.message",
    "gen_ai.tool.message",
    "gen_ai.choice",
)
PROMPT = ("user_prompt", "prompt")  # Claude Code, Codex and Gemini CLI: the text of a prompt
# Our names of settings, with further ones that senders use.
SETTINGS = {
    "temperature": (),
    "max_tokens": ("max_output_tokens", "max_completion_tokens"),
    "top_p": (),
    "top_k": (),
    "seed": (),
    "frequency_penalty": (),
    "presence_penalty": (),
    "thinking_level": ("reasoning.level", "reasoning_level", "reasoning_effort"),
}
SETTINGS_JSON = (
    "llm.invocation_parameters",  # OI
    "model_settings",  # logfire
    "model_request_parameters",  # pydantic-ai
)


def provider_of(attributes: Fields) -> str:
    """Return the provider that a span names, under our name; "" if it names none."""
    for name in PROVIDER:
        value = attributes.get(name)
        value = value.strip('"') if isinstance(value, str) else ""
        if value and value.lower() not in FRAMEWORKS:
            return _PROVIDERS.get(value, identifier(value.split(".")[0]))
    return ""


_PROVIDERS = {
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "aws.bedrock": "bedrock",
    "azure.ai.openai": "azure",
    "az.ai.openai": "azure",
    "OpenAI": "openai",  # traceloop, older releases
    "Anthropic": "anthropic",
    "Google": "google",
    "AWS": "bedrock",
    "Azure": "azure",
}
