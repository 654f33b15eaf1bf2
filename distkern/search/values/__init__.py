"""How hyperparameters are chosen on a sample before the first stage."""
