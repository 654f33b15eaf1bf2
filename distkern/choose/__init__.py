"""How candidates are compared: the rule, the ladder of ``auto``, searched values of solvers, and ``tune``."""
