"""Built-in graders and the programs that they run inside jails."""
