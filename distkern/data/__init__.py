"""Data sets: columns and rows of tables, shards, scaling, reading. See FORMAT.md."""
