"""Costs of calls, as the events of a run tell them; the arithmetic is in `recorder/core/money`."""
