"""The leaderboard: win rates of configs in judged evaluations, and the cost of a win."""
