"""Programs that run inside jails. They are mounted as files and never imported by the host."""
