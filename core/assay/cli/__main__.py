"""`python -m assay.cli`, the same as the console script."""

from assay.cli.app import main

if __name__ == "__main__":
    main()
