"""The daemon: a loop that is woken, starts what is due in child processes, and reports what came of it."""
