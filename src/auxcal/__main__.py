"""Entry point."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends the process without a traceback also before and after it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from auxcal._core.extras import is_installed

    if not is_installed("cli"):
        sys.exit("auxcal: the command line comes with the extra cli. In a clone of auxcal: pip install '.[cli]'")
    from auxcal.cli import main as run

    run()


if __name__ == "__main__":
    main()
