"""Two calls of the anthropic client, which emits spans of its own."""

import os

import anthropic
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

client = anthropic.Anthropic(base_url=os.environ["MODEL_SERVER"], api_key="none")
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"name": "get_weather", "description": "Tell the weather of a city.", "input_schema": schema}]
messages = [{"role": "user", "content": "Weather in Oslo?"}]
with trace.get_tracer("app").start_as_current_span("weather_agent"):
    first = client.messages.create(model="claude-stub-1", max_tokens=100, messages=messages, tools=tools)
    result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": "sunny in Oslo"}
    messages += [
        {"role": "assistant", "content": [block.model_dump() for block in first.content]},
        {"role": "user", "content": [result]},
    ]
    second = client.messages.create(model="claude-stub-1", max_tokens=100, messages=messages, tools=tools)
assert second.content[0].text == "It is sunny in Oslo."
provider.shutdown()
