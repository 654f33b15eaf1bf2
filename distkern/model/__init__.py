"""The fitted model as a value: its settings, what it predicts, and what its files hold."""
