"""`python -m auxcal.cli` is `auxcal`."""

from auxcal.cli import main

main()
