"""All that is chosen: one rule, and what it is applied to; `ARCHITECTURE.md` says how it hangs together."""
