"""What runs inside jails, handed over as text; the host never imports it."""
