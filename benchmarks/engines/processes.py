"""CPU time and memory of a process and of all below it, from Linux's /proc."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def descendants(root: int) -> list[int]:
    """Return a process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def tree_cpu(root: int) -> float:
    """Return the CPU seconds of a process and of all below it, with those that have ended and been waited for."""
    total = 0
    for pid in descendants(root):
        try:
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            continue
    return total / TICKS


def tree_memory(pids: list[int]) -> int:
    """Return the memory of processes in bytes; what they share, libraries above all, is counted once.

    Pages of files count in full even where processes of others on the machine have them in memory too.
    """
    own, files = 0, dict[tuple[str, ...], int]()
    for pid in pids:
        try:
            rollup, maps = (Path(f"/proc/{pid}/{name}").read_text().splitlines() for name in ("smaps_rollup", "smaps"))
        except OSError:
            continue
        own += sum(int(line.split()[1]) for line in rollup if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        of_file, resident = None, 0
        for words in map(str.split, maps):
            if not words[0].endswith(":"):
                of_file = tuple(words[1:]) if len(words) > 5 and words[5].startswith("/") else None
            elif words[0] == "Rss:":
                resident = int(words[1])
            elif words[0] == "Anonymous:" and of_file is not None:
                files[of_file] = max(files.get(of_file, 0), resident - int(words[1]))
    return (own + sum(files.values())) * 1024
