"""Costs of calls, as the events of a run report them; the arithmetic is in `recorder/core/money`."""
