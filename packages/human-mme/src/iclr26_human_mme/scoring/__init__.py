"""From replies to scores: parsing, text similarity, metrics of many questions, leaderboard."""
