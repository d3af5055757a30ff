"""What is wrong with test files, found by reading them: they are never imported."""
