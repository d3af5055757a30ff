"""Jails by nsjail: sessions, policies, the init, runtimes, doctor."""
