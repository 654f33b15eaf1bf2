"""What the executors are made of: graphs, actors, calls to workers, how a scheduler is reached."""
