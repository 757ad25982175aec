"""The costs page: cost by config, model, agent and session, cost by segment, and the price table."""
