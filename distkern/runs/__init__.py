"""Runs of estimators: rows brought to one form, training, evaluation, predictions, models on disk."""
