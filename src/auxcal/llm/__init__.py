"""What language models write: answers, how likely they are, and what else tells whether they are right."""

from auxcal.llm.answers import Answers
from auxcal.llm.read_answers import read
from auxcal.llm.writers import FORMATS

__all__ = ["FORMATS", "Answers", "read"]
