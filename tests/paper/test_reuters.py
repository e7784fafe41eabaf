import os
from pathlib import Path

import pytest

from auxcal_paper.datasets.reuters import (
    R8_CLASSES,
    parse,
    read_articles,
    select_r8,
    select_r52,
)


def article(topics: str, split: str = "TRAIN", flag: str = "YES", body: str = "Said.") -> str:
    marked = "".join(f"<D>{topic}</D>" for topic in topics.split())
    return (
        f'<REUTERS TOPICS="{flag}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="2">\n'
        f"<DATE>26-FEB-1987</DATE><TOPICS>{marked}</TOPICS><PLACES><D>usa</D></PLACES>\n"
        f"<TEXT>&#2;\n<TITLE>A TITLE</TITLE><DATELINE>LONDON - </DATELINE><BODY>{body}\n&#3;</BODY></TEXT>\n"
        f"</REUTERS>\n"
    )


def test_takes_the_modapte_split_only() -> None:
    sgml = (
        article("ship")
        + article("ship", split="TEST")
        + article("ship", split="NOT-USED")
        + article("ship", flag="NO")
        + article("ship", flag="BYPASS", split="TEST")
        + article("")
    )
    found = list(parse("<!DOCTYPE lewis>\n" + sgml))
    assert [(a.part, a.topics) for a in found] == [("TRAIN", ("ship",)), ("TEST", ("ship",)), ("TRAIN", ())]


def test_the_text_is_title_and_body_without_markup() -> None:
    (found,) = parse(article("earn", body="Smith &lt;SMTH.N> &amp; Sons\n    earned 5 &lt; 6 dlrs."))
    assert found.text == "A TITLE Smith <SMTH.N> & Sons earned 5 < 6 dlrs."


def test_places_are_no_topics() -> None:
    (found,) = parse(article("crude nat-gas"))
    assert found.topics == ("crude", "nat-gas")


def test_r52_keeps_single_topics_found_in_both_parts() -> None:
    sgml = (
        article("ship")
        + article("ship", split="TEST")
        + article("ship crude")  # two topics
        + article("tea")  # no test document
        + article("cpu", split="TEST")  # no training document
        + article("tin tea", split="TEST")
        + article("")
    )
    train, test = select_r52(parse(sgml))
    assert train.topics == ("ship",)
    assert test.topics == ("ship",)


def test_r8_takes_the_ten_most_frequent_topics_counted_before_the_single_topic_rule() -> None:
    # As with wheat, "pair" is frequent only beside others; as with money-supply, "own" only on its own.
    frequent = [f"t{i}" for i in range(9)]
    sgml = "".join(article(f"{topic} pair") * 3 + article(topic) + article(topic, split="TEST") for topic in frequent)
    sgml += article("own") * 3 + article("own", split="TEST")
    articles = list(parse(sgml))
    r52 = select_r52(articles)
    assert set(r52[0].topics) == {*frequent, "own"}
    train, test = select_r8(articles)
    assert sorted(train.topics) == sorted(test.topics) == frequent


def test_reads_all_files_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "reuters21578"
    folder.mkdir()
    for number, body in ((21, "Last."), (0, "First."), (10, "Caf\xe9.")):
        text = article("ship", body=body) + article("ship", split="TEST")
        (folder / f"reut2-{number:03}.sgm").write_text(text, encoding="latin-1")
    train, test = select_r52(read_articles(tmp_path))
    assert [text.split()[-1] for text in train.texts] == ["First.", "Café.", "Last."]
    assert len(test) == 3


@pytest.mark.skipif("AUXCAL_DATA" not in os.environ, reason="set AUXCAL_DATA to the folder of the real data sets")
def test_the_published_counts() -> None:
    articles = read_articles(Path(os.environ["AUXCAL_DATA"]))
    r8, r52 = select_r8(articles), select_r52(articles)
    assert [len(part) for part in (*r8, *r52)] == [5485, 2189, 6532, 2568]
    assert sorted(set(r8[0].topics)) == sorted(set(r8[1].topics)) == list(R8_CLASSES)
    assert len(set(r52[0].topics)) == len(set(r52[1].topics)) == 52
