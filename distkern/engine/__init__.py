"""Plan, then run: the pure planner, the executors and the one driver loop."""
