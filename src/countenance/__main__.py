"""`python -m countenance` is the command `countenance`, for machines whose PATH lacks it."""

from countenance.cli.app import main

if __name__ == "__main__":
    main()
