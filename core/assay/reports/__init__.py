"""Views of a run for people; every string from a candidate is escaped on the way."""
