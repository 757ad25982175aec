"""The leaderboard: which config wins when several run the same task, and what a win costs."""
