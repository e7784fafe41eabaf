"""The committed pages hold what their sources say, and the script that fills them does it as its docstring says."""

import importlib
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt  # which comes with rich

ROOT = Path(__file__).parent.parent
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "docs")
    fill = importlib.import_module("fill")


@pytest.mark.parametrize("page", fill.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_up_to_date(page):
    old, new = page.read_text(), fill.filled(page)
    changed = next((line for line in new.splitlines() if line not in old), "")
    assert old == new, f"{page.relative_to(ROOT)} is out of date ({changed.strip()!r}). Run: make fill"


@pytest.mark.parametrize("page", fill.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_who_reads_a_page_on_github_sees_no_comment(page):
    html = MarkdownIt("commonmark").enable("table").render(page.read_text())
    shown = re.sub(r"<pre>.*?</pre>|<!--.*?-->", "", html, flags=re.DOTALL)
    assert "&lt;!--" not in shown
    assert "<p>|" not in shown, "a table that is none: is there a blank line above it?"


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A small repository: a table of results, a table of text, an example, and a page to write."""
    folders = {name: tmp_path / name for name in ("docs/results", "docs/figures", "examples")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    head = "suite,shift,method,random_state,n_fit,brier,ece\n"
    rows = "small,D1,ccac,0,50,0.10,0.05\nsmall,D1,ccac,1,50,0.30,0.07\nsmall,D1,beta,0,50,0.25,0.01\n"
    (folders["docs/results"] / "small.csv").write_text(head + rows)
    (folders["docs/figures"] / "curve.csv").write_text(head + rows + "small,D1,ccac,0,100,0.15,0.02\n")
    (folders["docs/figures"] / "words.csv").write_text('labels,CCAC\n"1,000",+1.5±0.2\n')
    (folders["examples"] / "one.py").write_text('"""One."""\n\nimport os\n\n# <use>\nprint(os)\n# </use>\n')
    monkeypatch.setattr(fill, "ROOT", tmp_path)
    monkeypatch.setattr(fill, "DOCS", tmp_path / "docs")
    fill._results.cache_clear()
    yield tmp_path / "docs/page.md"
    fill._results.cache_clear()


def filled(page, text):
    """Fill a page twice: the second time changes nothing."""
    page.write_text(text)
    page.write_text(first := fill.filled(page))
    assert fill.filled(page) == first
    return first


def test_the_default_comes_first_in_a_table(here):
    (fill.DOCS / "figures/words.csv").write_text(",MP,CCAC-X\nTS,1,2\nCCAC-X,3,4\n")
    assert fill.table("words") == [
        "|  | CCAC-X | MP |",
        "| --- | ---: | ---: |",
        "| CCAC-X | 4 | 3 |",
        "| TS | 2 | 1 |",
    ]


def test_a_cell_gives_its_first_number(here):
    marker = "<!-- cell: words | 1,000 | CCAC -->"
    assert filled(here, f"It is 7 %{marker}.") == f"It is +1.5{marker}."


VALUE = "<!-- value: small D1 ccac brier -->"


@pytest.mark.parametrize(
    "text", [f"It has {VALUE}.", f"It has 0.999{VALUE}.", f"- **A** {VALUE}", f"| a | 7 {VALUE} |"]
)
def test_a_value_stands_before_its_comment(here, text):
    stands_alone = text.replace("0.999", "")
    assert filled(here, text) == stands_alone.replace(VALUE, f"0.200{VALUE}")


def test_a_value_is_a_percentage_where_the_results_write_one(here):
    comment = "<!-- value: small D1 ccac ece -->"
    assert filled(here, f"99.0 %{comment} and {comment}") == f"6.0 %{comment} and 6.0 %{comment}"


def test_the_number_of_labels_is_chosen_by_a_number(here):
    assert filled(here, "<!-- value: curve D1 ccac brier 100 -->").startswith("0.150<")


def test_rows_and_columns_choose_together(here):
    head = "<!-- columns: ccac, beta -->\n\n| | CCAC | Beta |\n|---|---:|---:|\n"
    first, second = "| Both <!-- row: small D1 brier/ece -->", "| by hand | 1 | 2 |"
    expected = f"{head}{first} | 0.200 / 6.0 % | 0.250 / 1.0 % |\n{second}\n"
    assert filled(here, f"{head}{first} |\n{second}\n") == expected
    assert filled(here, f"{head}{first} | 5 | 6 |\n{second}\n") == expected


def test_a_table_stands_below_its_comment_with_the_same_indent(here):
    table = "    | labels | CCAC |\n    | --- | ---: |\n    | 1,000 | +1.5±0.2 |\n"
    text = '??? note "Table"\n\n    <!-- table: words -->\n{}\nMore.\n'
    assert filled(here, text.format("")) == text.format(f"\n{table}")
    assert filled(here, text.format("\n    | old |\n")) == text.format(f"\n{table}")


def test_code_is_a_part_of_a_file_or_all_of_it(here):
    part = "<!-- code: examples/one.py:use -->\n"
    assert filled(here, f"{part}Text") == f"{part}\n```python\nprint(os)\n```\nText"
    assert filled(here, f"{part}\n```python\nold\n```\nText") == f"{part}\n```python\nprint(os)\n```\nText"
    assert "# <" not in filled(here, "<!-- code: examples/one.py -->")


def test_what_stands_in_a_block_of_code_is_left_alone(here):
    text = "```\n<!-- value: nothing -->\n<!-- table: nothing -->\n```\n"
    assert filled(here, text) == text


def test_the_reference_of_the_command_line_goes_down_to_the_end(here):
    text = filled(here, "# Commands\n\n<!-- commands: -->\n\nstale words\n")
    assert "\n## threshold\n" in text
    assert "stale" not in text


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ("<!-- value: small D1 gone brier -->", "has no suite, shift, method, number of labels or column 'gone'"),
        ("<!-- value: curve small D1 beta brier 100 -->", "has no row with small D1 beta 100"),
        ("<!-- value: curve small D1 ccac brier -->", "say which n_fit of curve.csv: 100, 50"),
        ("<!-- value: small D1 ccac beta brier -->", "it names two of method: ccac and beta"),
        ("<!-- value: small D1 ccac -->", "name a column"),
        ("<!-- value: small D1 ccac method -->", "could not convert"),
        ("<!-- value: nowhere D1 ccac brier -->", "there is no docs/results/nowhere.csv"),
        ("<!-- value: words D1 ccac brier -->", "is no table of results"),
        ("<!-- value: -->", "name a table"),
        ("<!-- vlaue: small D1 ccac brier -->", "there is no vlaue"),
        ("| a <!-- row: small D1 brier --> |", "a row needs <!-- columns"),
        ("<!-- cell: nowhere | 1 | CCAC -->", "there is no nowhere.csv"),
        ("<!-- cell: words | 100 | CCAC -->", "has 0 rows that begin with ['100']"),
        ("<!-- cell: words | 1,000 | CCAC-S -->", "the columns ['labels', 'CCAC']"),
        ("<!-- table: nowhere -->", "there is no nowhere.csv"),
        ("text <!-- table: words -->", "its line for itself"),
        ("<!-- code: examples/nowhere.py -->", "there is no nowhere.py"),
        ("<!-- code: examples/one.py:nothing -->", "no part between # <nothing> and # </nothing>"),
    ],
)
def test_what_can_not_be_filled_names_page_line_comment_and_reason(here, marker, reason):
    here.write_text(f"# Page\n\n{marker}\n")
    with pytest.raises(fill.FillError) as caught:
        fill.filled(here)
    assert str(caught.value).startswith(f"docs/page.md, line 3: {marker}: ")
    assert reason in str(caught.value)
