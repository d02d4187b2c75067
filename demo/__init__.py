"""The demo that ``make demo`` runs: an agent asks before it pays, is killed while it pays, and pays once.

``python -m demo`` tells the story and checks every claim of it; the exit code is 0 only when all were seen to hold.
"""
