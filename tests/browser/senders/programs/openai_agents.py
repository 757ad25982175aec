"""An agent of the OpenAI Agents SDK."""

import asyncio
import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url=os.environ["MODEL_SERVER"] + "/v1", api_key="none")


@function_tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


agent = Agent(
    name="weather_agent",
    model=OpenAIChatCompletionsModel(model="gpt-stub-1", openai_client=client),
    tools=[get_weather],
)
assert asyncio.run(Runner.run(agent, "Weather in Oslo?")).final_output == "It is sunny in Oslo."
