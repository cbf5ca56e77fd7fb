"""Who may be ranked, what a failure scores, what may be said to whom: pure rules."""
