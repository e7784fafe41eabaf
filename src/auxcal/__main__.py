"""`auxcal`, which `python -m auxcal` is too."""

import signal


def main() -> None:
    """Run the command line; Ctrl-C ends the process without a traceback also while it is imported."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from auxcal.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
