"""Host side of mode `tamper-evident`: which runs are made, and what each of them shows."""
