"""An agent of pydantic-ai."""

import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=os.environ["MODEL_SERVER"] + "/v1", api_key="none")
agent = Agent(OpenAIChatModel("gpt-stub-1", provider=provider), name="weather_agent")


@agent.tool_plain
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


assert agent.run_sync("Weather in Oslo?").output == "It is sunny in Oslo."
