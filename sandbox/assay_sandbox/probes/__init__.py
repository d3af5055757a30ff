"""Attacks on the sandbox that ship with it, and the proof that they see."""
