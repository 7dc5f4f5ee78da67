//! How a tool compares: badge, compatibility, leaderboard, figures that installations can merge.
