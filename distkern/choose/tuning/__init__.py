"""Search for hyperparameters: candidates, the rows that each is tried on, and records that outlast a kill."""
