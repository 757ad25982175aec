"""An agent of LangGraph."""

import os

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-stub-1", base_url=os.environ["MODEL_SERVER"] + "/v1", api_key="none")


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


agent = create_agent(model, tools=[get_weather], name="weather_agent")
found = agent.invoke({"messages": [{"role": "user", "content": "Weather in Oslo?"}]})
assert found["messages"][-1].content == "It is sunny in Oslo."
provider.shutdown()  # noqa: F821  of the lines before this program
