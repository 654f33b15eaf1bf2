"""Scikit-learn estimators: thin; they put a solver together and hand it to the driver."""
