"""`assay lint`: what is wrong with a suite, found before any candidate is graded."""
