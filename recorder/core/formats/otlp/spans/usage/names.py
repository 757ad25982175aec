"""Names of tokens and costs of all conventions, in the order in which they are tried; see `spans.names`."""

from __future__ import annotations

import re

INPUT_TOKENS = (
    "gen_ai.usage.input_tokens",  # GenAI
    "llm.token_count.prompt",  # OI
    "ai.usage.inputTokens",  # Vercel AI SDK
    "ai.usage.promptTokens",  # Vercel AI SDK until 4
    "gen_ai.usage.prompt_tokens",  # GenAI until 1.27
    "llm.usage.prompt_tokens",
    "llm.usage.input_tokens",
    "gen_ai.response.prompt_tokens",  # Semantic Kernel
    "gen_ai.usage.input",
    "llm.prompt_tokens",
    *("gen_ai.usage.inputTokens", "gen_ai.usage.promptTokens", "llm.usage.promptTokens", "llm.usage.input"),
    *("gen_ai.response.usage.input_tokens", "gen_ai.response.usage.prompt_tokens", "llm.input_tokens"),
    *("gen_ai.usage.tokens.input", "gen_ai.input_tokens", "gen_ai.prompt_tokens", "llm.token_count.input"),
    "ai.usage.inputTokens.total",
    "usage.input_tokens",
    "usage.prompt_tokens",
    "input_tokens",  # Claude Code
    "input_token_count",  # Codex and Gemini CLI logs
)
OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.usage.output_tokens",
    "gen_ai.response.completion_tokens",
    "gen_ai.usage.output",
    "llm.completion_tokens",
    *("gen_ai.usage.outputTokens", "gen_ai.usage.completionTokens", "llm.usage.completionTokens"),
    *("gen_ai.response.usage.output_tokens", "gen_ai.response.usage.completion_tokens", "llm.usage.output"),
    *("gen_ai.usage.tokens.output", "gen_ai.output_tokens", "gen_ai.completion_tokens"),
    *("llm.output_tokens", "llm.token_count.output", "ai.usage.outputTokens.total"),
    "usage.output_tokens",
    "usage.completion_tokens",
    "output_tokens",
    "output_token_count",
)
EVENTS = ("gen_ai.", "llm.")  # what the names of span events of model calls begin with
TOTAL_TOKENS = (
    "gen_ai.usage.total_tokens",
    "llm.token_count.total",
    "llm.usage.total_tokens",  # traceloop, older releases
    "ai.usage.totalTokens",
    "ai.usage.tokens",
    *("gen_ai.usage.totalTokens", "llm.usage.totalTokens", "usage.total_tokens", "gen_ai.usage.total"),
    "total_tokens",
)
CACHE_READ = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
    "gen_ai.usage.cached_tokens",
    "gen_ai.usage.cached_input_tokens",
    "gen_ai.usage.cache_read_tokens",
    "gen_ai.usage.input_tokens.cached",
    "gen_ai.usage.input_tokens.cache_read",
    "gen_ai.usage.input_tokens_details.cached_tokens",
    "gen_ai.usage.input_token_details.cache_read",
    "gen_ai.usage.prompt_tokens_details.cached_tokens",
    "gen_ai.usage.prompt_token_details.cached_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.details.cached_tokens",
    "gen_ai.usage.details.cache_read_input_tokens",
    "llm.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_input",
    "cache_read_tokens",
    "cached_token_count",
    "cached_content_token_count",
)
CACHE_WRITE = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",  # the anthropic client
    "gen_ai.usage.cache_creation_input_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
    "gen_ai.usage.cache_write_input_tokens",  # strands
    "gen_ai.usage.cache_creation_tokens",
    "gen_ai.usage.cache_write_tokens",
    "gen_ai.usage.input_tokens.cache_write",
    "gen_ai.usage.input_tokens.cache_creation",
    "gen_ai.usage.input_tokens_details.cache_write_tokens",
    "gen_ai.usage.input_tokens_details.cache_creation_tokens",
    "gen_ai.usage.input_token_details.cache_creation",
    "gen_ai.usage.prompt_tokens_details.cache_creation_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "gen_ai.usage.details.cache_creation_input_tokens",
    "llm.usage.cache_creation_input_tokens",
    "cache_creation_tokens",
    "cache_write_token_count",
)
# Other names of usage, by their words. Figures of one modality or lifetime, or of what was saved, are others.
OTHER_USAGE = re.compile(
    r"(?:(?:(?:gen_ai|llm|ai)\.)?(?:(?:anthropic|openai|response)\.)?(?:usage|token_count)\."
    r"|gen_ai\.response\.(?=\w*tokens$))"
    r"(?!.*(?:no_?cache|non_?cache|uncache|(?<!con)text|audio|image|video|cost|price|ratio|sav|hit_?rate"
    r"|miss|ephemeral|_?1h|_?5m))"
    r"(?:.*(?P<cache_write>cache.*(?:writ|creat)|(?:writ|creat).*cache)"
    r"|.*(?P<cache_read>cache)|.*(?P<reasoning>reason|thought|thinking))",
    re.IGNORECASE,
)
OTHER_CHARS = 100  # of such a name
# Tokens of one modality, of the GenAI conventions, OpenInference and others.
MODALITY = re.compile(
    r"(?:gen_ai\.usage|llm\.usage|llm\.token_count|ai\.usage|usage)\."
    r"(?:(?P<first>text|audio|image|video)[._](?P<of>input|output)_?tokens"
    r"|(?P<direction>input|output|prompt|completion)(?:_?tokens?)?(?:_?details)?"
    r"[._](?P<modality>text|audio|image|video)(?:_?tokens)?)",
    re.IGNORECASE,
)
DIRECTIONS = {"input": "input", "prompt": "input", "output": "output", "completion": "output"}
CACHE_WRITE_1H = (
    "anthropic.usage.cache_creation.ephemeral_1h_input_tokens",
    "gen_ai.usage.cache_creation.ephemeral_1h_input_tokens",
)
SEARCHES = (  # web searches that the provider ran
    "gen_ai.usage.server_tool_use.web_search_requests",
    "anthropic.usage.server_tool_use.web_search_requests",
)
REASONING = (
    "gen_ai.usage.details.reasoning_tokens",  # pydantic-ai
    "gen_ai.usage.reasoning.output_tokens",  # Google ADK
    "gen_ai.usage.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "gen_ai.usage.reasoning_output_tokens",
    "gen_ai.usage.output_tokens.reasoning",
    "gen_ai.usage.output_tokens_details.reasoning_tokens",
    "gen_ai.usage.output_token_details.reasoning",
    "gen_ai.usage.completion_tokens_details.reasoning_tokens",
    "gen_ai.usage.thoughts_tokens",
    "gen_ai.usage.details.thoughts_tokens",
    "llm.usage.reasoning_tokens",
    "llm.usage.completion_tokens_details.reasoning_tokens",
    "codex.usage.reasoning_output_tokens",
    "reasoning_token_count",
    "thoughts_token_count",
)
COST = (  # dollars
    "gen_ai.usage.cost",  # OpenLIT, LiteLLM and our own export
    "llm.cost.total",  # OI
    "operation.cost",  # pydantic-ai, logfire
    "gen_ai.cost.total_cost",  # LiteLLM
    "litellm.cost.total",  # LiteLLM, version 2
    "gen_ai.usage.total_cost",
    "gen_ai.usage.cost.total",
    "gen_ai.usage.cost_usd",
    "gen_ai.cost.total",
    "gen_ai.cost",
    "gen_ai.cost_usd",
    "gen_ai.cost.usd",
    "gen_ai.cost.amount",
    "gen_ai.cost.total_usd",
    "gen_ai.cost.total_cost_usd",
    "gen_ai.response.cost",
    "gen_ai.usage.cost.usd",
    "gen_ai.usage.total_cost_usd",
    "gen_ai.usage.cost_total",
    "gen_ai.usage.details.cost",
    "gen_ai.usage.cost_details.total",
    "litellm.response_cost",
    "llm.usage.total_cost",
    "llm.usage.cost",
    "llm.usage.cost_usd",
    "llm.usage.total_cost_usd",
    "llm.response.cost",
    "llm.total_cost",
    "llm.cost.usd",
    "llm.cost_usd",
    "ai.usage.cost",
    "response_cost",  # LiteLLM
    "total_cost",
    "llm.cost",
    "total_cost_usd",
    "cost_usd",
    *("usage.cost", "usage.total_cost", "gen_ai.usage.estimated_cost", "gen_ai.usage.cost_in_usd"),
    "gen_ai.client.estimated_cost",  # Quarkus
)
# Of a model call alone: these do not say what they are a cost of.
COST_OF_CALL = ("cost", "cost.total", "cost_total", "cost.usd", "estimated_cost", "estimated_cost_usd")
METRICS = "logfire.metrics"  # an object with one for each metric, which has its total in the span
METRIC_COST = "operation.cost"
COST_PARTS = (  # of input and output, where there is no total
    ("llm.cost.prompt", "llm.cost.completion"),
    ("litellm.cost.input", "litellm.cost.output"),
    ("gen_ai.usage.input_cost", "gen_ai.usage.output_cost"),
    ("gen_ai.cost.input", "gen_ai.cost.output"),
    ("gen_ai.cost.input_cost", "gen_ai.cost.output_cost"),
    ("gen_ai.cost.prompt", "gen_ai.cost.completion"),
    ("gen_ai.usage.cost.input", "gen_ai.usage.cost.output"),
)
# Objects with a cost, and its fields; Langfuse adds up the parts where there is no total.
COST_JSON = (
    "langfuse.observation.cost_details",
    "mlflow.llm.cost",
    "hidden_params",
    "llm.cost",
    "gen_ai.usage",
    "braintrust.metrics",
    *("cost", "gen_ai.cost", "gen_ai.usage.cost"),
)
JSON_COST = ("total", "total_cost", "response_cost", "cost", "estimated_cost")
# An object of the Vercel AI SDK with one for each provider, whose usage may have the cost: of OpenRouter and
# Vercel's gateway, which name no total.
PROVIDER_METADATA = "ai.response.providerMetadata"
PROVIDER_COST = ("cost", "totalCost", "total_cost")
PROVIDER_PARTS = {
    "cache_read": ("cacheReadInputTokens", "cache_read_input_tokens", "cachedPromptTokens"),
    "cache_write": ("cacheCreationInputTokens", "cacheWriteInputTokens", "cache_creation_input_tokens"),
    "reasoning": ("reasoningTokens",),
}
# Of these the figures of Anthropic and Bedrock, which are no part of their input.
PROVIDER_EXCLUDED = (
    *("cacheReadInputTokens", "cache_read_input_tokens", "cacheCreationInputTokens"),
    *("cacheWriteInputTokens", "cache_creation_input_tokens"),
)
INPUT_DETAILS = "ai.usage.inputTokenDetails."  # from release 6 on, whose input includes cached tokens
COST_PARTS_JSON = "langfuse.observation.cost_details"
# Objects of usage: of logfire for openai-agents, where cache and reasoning are only there, and of others.
USAGE_JSON = (
    *("usage", "gen_ai.usage.raw", "langfuse.observation.usage_details", "gen_ai.usage", "llm.usage"),
    *("mlflow.chat.tokenUsage", "langsmith.usage_metadata", "braintrust.metrics", "gen_ai.response.usage"),
    *("ai.usage", "token_usage", "llm.token_usage", "gen_ai.token_usage"),
)
# Responses whose usage completes that of the attributes, and its field: of logfire for the clients of OpenAI
# and Anthropic, and of Google ADK.
IN_RESPONSE = (("response_data", "usage"), ("gcp.vertex.agent.llm_response", "usage_metadata"))
# Attributes with a whole response.
RESPONSES = ("output.value", "langfuse.observation.output", "mlflow.spanOutputs", "braintrust.output_json",
             "gen_ai.completion")  # fmt: skip
# Counts of objects of usage, by their path as of `usage.objects.counts_of`.
# Those of Anthropic's API and Bedrock's, whose input leaves cached tokens out.
JSON_EXCLUDED = (
    *(("inputtokens", name) for name in ("cachereadinputtokens", "cachecreationinputtokens")),
    ("inputtokens", "cachewriteinputtokens"),
)
JSON_INPUT = (
    *("inputtokens", "prompttokens", "input", "prompt", "inputtokencount", "prompttokencount"),
    *("requesttokens", "inputtokens.total", "prompttokens.total"),
    *("tokens.inputtokens", "billedunits.inputtokens"),  # Cohere
    "promptevalcount",  # Ollama
)
JSON_OUTPUT = (
    *("outputtokens", "completiontokens", "output", "completion", "outputtokencount", "completiontokencount"),
    *("candidatestokencount", "responsetokens", "outputtokens.total", "completiontokens.total"),
    *("tokens.outputtokens", "billedunits.outputtokens"),
    "evalcount",
)
JSON_SEARCHES = ("servertooluse.websearchrequests",)
JSON_WRITE_1H = ("cachecreation.ephemeral1hinputtokens",)
JSON_TOTAL = ("totaltokens", "total", "totaltokencount", "tokens")
