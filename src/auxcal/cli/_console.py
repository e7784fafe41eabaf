"""What tables are printed with: whatever is in them, no character of it controls the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from auxcal._core.text import visible


class SafeConsole(Console):
    """A console that escapes control characters in all that it shows."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the pieces of what is shown."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)
