"""`python -m auxcal.cli` is `auxcal`."""

from auxcal.cli import main

if __name__ == "__main__":  # the processes of auxcal score import it too
    main()
