"""assay finds out what a coding agent, a patch or submitted files really did."""
