"""What is done to rows before a kernel sees them: a transform of each column, then a learned metric."""
