"""The fitted model as a value: settings, predictions, and the fields of its files."""
