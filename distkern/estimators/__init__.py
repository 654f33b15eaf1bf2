"""Scikit-learn estimators: thin; they put a solver together and hand it to the driver."""

from distkern.estimators.avm import AVMClassifier
from distkern.estimators.csvrg import CSVRGClassifier
from distkern.estimators.pegasos import PegasosClassifier
from distkern.estimators.persistence import load_model

__all__ = ["AVMClassifier", "CSVRGClassifier", "PegasosClassifier", "load_model"]
