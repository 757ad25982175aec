"""Results of configs in parallel groups: participation, wins and cost."""
