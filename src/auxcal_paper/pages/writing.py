"""The pages: one for each suite, and an index over all of them, in Markdown with CSV files beside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from auxcal._core.files import atomic_write
from auxcal._core.text import percent, write_score
from auxcal._version import VERSION
from auxcal.calibrators.auxiliary import PAPER_BATCH
from auxcal_paper.methods import METHODS, TRANSFER_SIZES
from auxcal_paper.pages._notes import notes_on
from auxcal_paper.pages.claims import (
    CLAIMS,
    OUR_CLAIMS,
    PAPER_METHODS,
    RECIPES,
    SIGNS,
    WORDS,
    Claim,
    Verdict,
    is_borne,
    judge,
    verdicts,
)
from auxcal_paper.pages.figures import FIGURE_SHIFT, FIGURES, figure_path
from auxcal_paper.pages.markdown import markdown_table, to_markdown
from auxcal_paper.pages.standing import stands_nearest, tables_of_the_paper
from auxcal_paper.pages.tables import table
from auxcal_paper.paper import paper_table, paper_tables
from auxcal_paper.results import Results
from auxcal_paper.suites import SUITES, Suite

_IN_INDEX = (*PAPER_METHODS, "ccac-x")

_HOW_TO_READ = f"""\
## How to read the tables

Values are means ± standard deviations over the random states, each of which draws its own fit, select and test part.
The best of each column is bold. The ECE uses 20 bins of equal width. In brackets is its noise floor: in 19 of 20
samples of this size, the ECE of a perfectly calibrated confidence stays below it, so an ECE below the floor can't be
told from zero. *Fit* is CPU time. CCAC-T is CCAC-S fitted on D1 and transferred with {TRANSFER_SIZES[0]} +
{TRANSFER_SIZES[1]} labels of the new shift; all other methods get the full fit and select part. CCAC-X is not in the
paper: it is this library's own.

Each claim of the paper is judged against the paper's baselines, MP, TS, SB and Dirichlet. It holds if the best of the
methods it names beats the best baseline by more than one standard error of the difference over the random states, and
fails if it loses by more than that. Within one standard error, or with one random state, it is undecided. Where the
paper's own numbers lose, it claims nothing, and nothing is counted.

CCAC, CCAC-S and CCAC-T are trained by two recipes: ours, and *the paper's recipe* with its epochs and learning rate.
The paper has no batch size; {PAPER_BATCH} is taken, and `docs/evidence/design.md` shows what others give. Each claim is
judged under both recipes. The paper's takes ten to fifty times as long as ours, which on the images is hours; where it
was not run for that, the page names it.

TS, Dirichlet and the like learn classes. Rows of no class, the paper's NULL, they leave out of their fit, or ("NULL
uniform") take the uniform distribution as the target. The paper does not say what it did; a claim is judged against the
stronger.

The same machine gives the same numbers; on another the last digits differ, and the networks of CCAC, CCAC-S and CCAC-T
can amplify such differences. What is packaged are logits in float16. Those in float32 that a classifier gives
move the networks' numbers in the second or third digit, by less than one standard deviation over the random states."""

_LINK = "[How to read the tables](index.md#how-to-read-the-tables)."

_ABBREVIATIONS = """\
MP is the uncalibrated maximum probability; TS temperature scaling; SB scaling-binning; ETS ensemble temperature
scaling; VS and MS vector and matrix scaling, SVS and SMS their structured forms."""


def paths_of(suites: Sequence[Suite], out: Path, *, figures: bool) -> list[Path]:
    """Return the files that are written for suites: their pages, CSV files and figures, and the index."""
    paths = [out / f"{suite.name}{ending}" for suite in suites for ending in (".md", ".csv")]
    drawn = [figure_path(out, suite, FIGURE_SHIFT, name) for suite in suites for name in FIGURES] if figures else []
    return [*paths, *drawn, out / "index.md"]


def write_pages(suites: Sequence[Suite], results: Results, out: Path, data_dir: Path = Path("data")) -> list[Path]:
    """Write a page and a CSV file for each suite into a folder, and an index over all that the folder holds.

    Figures that are in the folder already (see `auxcal_paper.pages.figures`) are shown on the pages. What is in the
    folder of the data shows which network the other suites have.

    Returns
    -------
    list of Path
        The pages, the index last.
    """
    out.mkdir(parents=True, exist_ok=True)
    pages = []
    for suite in suites:
        here = results.where(suite=suite.name)
        here.write(out / f"{suite.name}.csv")
        pages.append(_write(out / f"{suite.name}.md", suite_page(suite, here, out)))
    known = {entry.name: entry for entry in (*(entry.at(data_dir) for entry in SUITES), *suites)}
    found = {name: Results.read(path) for name in known if (path := out / f"{name}.csv").is_file()}
    index = index_page([known[name] for name in found], Results(sum((found[name].rows for name in found), ())))
    return [*pages, _write(out / "index.md", index)]


def suite_page(suite: Suite, results: Results, out: Path) -> str:
    """Return the page of a suite: for each shift the table, the paper's numbers beside it, and the claims."""
    experiments = " and ".join(f"{classifier} on {dataset}" for classifier, dataset in suite.stands_for)
    stands_for = f"This suite stands for the paper's {experiments}." if experiments else "This suite is our own."
    parts = [f"# {suite.name}", f"{stands_for} {suite.classifier}", f"{_made_by(suite.name, results)} {_LINK}"]
    if len(suite.stands_for) > 1:
        parts.append(f"The paper's numbers are for {' / '.join(name for name, _ in suite.stands_for)}.")
    if suite.left_out:
        reasons = "; ".join(f"{METHODS[name].label}: {reason}" for name, reason in suite.left_out.items())
        parts.append(f"Left out here: {reasons}.")
    here = results.distinct("method")
    absent = [METHODS[name].label for name in METHODS if name not in here and not suite.leaves_out(name)]
    if absent:
        parts.append(f"Not run for this page: {', '.join(absent)}.")
    if len(results.distinct("random_state")) == 1:
        minutes = sum(row.fit_seconds for row in results) / 60
        parts.append(
            f"One random state alone: each takes {minutes:.0f} minutes of CPU time for the fits, after hours for the "
            f"network and the attacks."
        )
    for shift in results.distinct("shift"):
        parts += _shift_section(suite, shift, results, out)
    return "\n\n".join(parts) + "\n"


def index_page(suites: Sequence[Suite], results: Results) -> str:
    """Return the index: what stands for each table of the paper, how often each claim holds, a line for each table."""
    lines, counted = [], []
    for suite in suites:
        for shift in results.where(suite=suite.name).distinct("shift"):
            here = results.where(suite=suite.name, shift=shift)
            judged = verdicts(suite, shift, here)
            if stands_nearest(suite, shift, suites, results):
                counted += judged
            lines.append(_index_line(suite, shift, here, judged))
    columns = ["Suite", "Shift", "Accuracy", *(METHODS[name].label for name in _IN_INDEX)]
    columns += [claim.name.replace("transfer-", "CCAC-T ") for claim in CLAIMS]
    return "\n\n".join(
        [
            "# Results",
            *tables_of_the_paper(suites, results),
            f"Made by `auxcal reproduce` (auxcal {VERSION}, {_states(suites, results)}). Each "
            f"page has the full tables, the paper's numbers beside them, and the figures.",
            "## The claims of the paper",
            "Counted once for each of the paper's tables that stands here, beside how many of its own numbers bear the "
            "claim. The networks are trained by our recipe, or by the paper's where it was run.",
            _count(counted),
            "## ECE of the paper's methods and of CCAC-X, and the claims",
            f"{', '.join(f'{SIGNS[outcome]} {word}' for outcome, word in WORDS.items())}; the pages give the numbers. "
            "Of two numbers or signs, the first is of networks trained by our recipe and the second by the paper's; of "
            "TS and Dirichlet, the first is without rows of no class and the second with a uniform target for them.",
            markdown_table(columns, lines),
            *_standing(suites, results),
            _HOW_TO_READ,
            _ABBREVIATIONS,
        ]
    ) + "\n"  # fmt: skip


def _shift_section(suite: Suite, shift: str, results: Results, out: Path) -> list[str]:
    here = results.where(shift=shift)
    row = max(here, key=lambda row: row.n_fit)  # CCAC-T sees a few labels only
    sizes = f"{row.n_fit:,} rows to fit, {row.n_select:,} to select, {row.n_test:,} to test"
    judged = verdicts(suite, shift, here)
    section = [
        f"## {shift}",
        f"{suite.differences.get(shift, '')} {sizes}; the classifier's accuracy is {_accuracy(here)}.".strip(),
        to_markdown(table(suite, shift, here)),
    ]
    if judged:
        rows = [
            [verdict.claim.text, RECIPES[verdict.claim.recipe], WORDS[verdict.outcome], verdict.text]
            for verdict in judged
        ]
        section.append(markdown_table(["The paper's claim", "recipe", "", "the numbers"], rows, numbers=False))
    section += _why(suite, shift, judged)
    for name, figure in FIGURES.items():
        path = figure_path(out, suite, shift, name)
        if path.is_file():
            section.append(f"![{figure.caption}]({path.relative_to(out).as_posix()})\n\n*{figure.caption}*")
    return section


def _why(suite: Suite, shift: str, judged: list[Verdict]) -> list[str]:
    failed = {verdict.claim.name for verdict in judged if verdict.outcome == "fails"}
    notes = notes_on(suite.name, shift, failed)
    return [f"Why: {' '.join(notes)}"] if notes else []


def _index_line(suite: Suite, shift: str, here: Results, judged: Sequence[Verdict]) -> list[str]:
    ece = [_ece(here, name) for name in _IN_INDEX]
    signs = [
        _both([SIGNS[verdict.outcome] for verdict in judged if verdict.claim.name == claim.name]) for claim in CLAIMS
    ]
    return [f"[{suite.name}]({suite.name}.md)", shift, _accuracy(here), *ece, *signs]


def _ece(here: Results, name: str) -> str:
    """Return the ECE of a method and of its variant, if that has one."""
    names = [other for other, method in METHODS.items() if name in (other, method.variant_of)]
    found = [rows for other in names if len(rows := here.where(method=other))]
    return _both([write_score("ece", rows.spread("ece").mean) for rows in found])


def _both(texts: Sequence[str]) -> str:
    return " / ".join(texts) or "–"


def _standing(suites: Sequence[Suite], results: Results) -> list[str]:
    """Return how the default fares in every table against the best of all others."""
    lines = []
    for suite in suites:
        for shift in results.where(suite=suite.name).distinct("shift"):
            here = results.where(suite=suite.name, shift=shift)
            ours = here.where(method="ccac-x")
            judged = [verdict for claim in OUR_CLAIMS if (verdict := judge(claim, here)) is not None]
            if len(judged) < len(OUR_CLAIMS):
                continue
            ece, floor = ours.spread("ece").mean, ours.spread("ece_floor_p95").mean
            written = f"{SIGNS['holds' if ece <= floor else 'fails']} {write_score('ece', ece)}, noise to "
            cells = [f"{SIGNS[verdict.outcome]} {verdict.text}" for verdict in judged]
            lines.append([suite.name, shift, *cells, written + write_score("ece", floor)])
    if not lines:
        return []
    return [
        "## CCAC-X and the best of all others",
        f"{SIGNS['holds']} better by more than one standard error of the difference over the random states, "
        f"{SIGNS['open']} within it, {SIGNS['fails']} worse by more. The ECE should stay below its noise floor.",
        markdown_table(["Suite", "Shift", "AUROC", "AUPR", "Brier score", "ECE"], lines, numbers=False),
    ]


def _count(judged: list[Verdict]) -> str:
    rows = []
    for claim in chain.from_iterable((ours, ours.by_paper_recipe()) for ours in CLAIMS):
        if outcomes := [verdict.outcome for verdict in judged if verdict.claim == claim]:
            counts = [str(outcomes.count(outcome)) for outcome in WORDS]
            rows.append([claim.text, RECIPES[claim.recipe], _in_the_paper(claim), str(len(outcomes)), *counts])
    return markdown_table(["In how many tables", "recipe", "in the paper", "judged here", *WORDS.values()], rows)


def _in_the_paper(claim: Claim) -> str:
    tables = [paper_table(*experiment, shift) for experiment, shifts in paper_tables().items() for shift in shifts]
    champions = {METHODS[name].label_in_paper for name in claim.champions}
    tables = [found for found in tables if champions & set(found)]
    return f"{sum(is_borne(claim, found) for found in tables)} of {len(tables)}"


def _accuracy(here: Results) -> str:
    return percent(sum(row.accuracy for row in here) / len(here))


def _states(suites: Sequence[Suite], results: Results) -> str:
    numbers = sorted({len(results.where(suite=suite.name).distinct("random_state")) for suite in suites})
    return f"{' or '.join(map(str, numbers))} random state{'s' * (numbers[-1:] != [1])}"


def _made_by(name: str, results: Results) -> str:
    states = results.distinct("random_state")
    known = f"random state{'s' * (len(states) > 1)} {', '.join(map(str, states))}"
    both = any(METHODS[method].is_by_paper_recipe for method in results.distinct("method"))
    return f"Made by `auxcal reproduce {name}{' --paper-recipe' * both}` (auxcal {VERSION}, {known})."


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
