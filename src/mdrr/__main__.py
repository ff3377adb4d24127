"""`python -m mdrr` is `mdrr`."""

from mdrr.cli import main

if __name__ == "__main__":
    main()
