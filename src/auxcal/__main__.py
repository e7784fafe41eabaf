"""Entry point."""

import signal


def main() -> None:
    """Run the command line; Ctrl-C ends the process without a traceback also before and after it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from auxcal.cli import main as run

    run()


if __name__ == "__main__":
    main()
