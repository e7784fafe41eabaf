"""Answers of language models: how likely they are, and other signals of whether they are right."""

from auxcal.llm.answers import Answers
from auxcal.llm.collected import SIGNALS
from auxcal.llm.contents import contents
from auxcal.llm.read_answers import FILES, holds_answers, read
from auxcal.llm.writers import FORMATS

__all__ = ["FILES", "FORMATS", "SIGNALS", "Answers", "contents", "holds_answers", "read"]
