"""What each metric means, in plain language."""

MEANINGS = {
    "auroc": "Ranking: how often a right prediction has the higher confidence, of a right and a wrong one. "
    "1 is perfect, 0.5 is a coin.",
    "aupr": "Catching mistakes: the precision of flagging low-confidence predictions as wrong, averaged over how many "
    "mistakes are caught. Higher is better.",
    "p90": "When 90 % of the mistakes are caught, the share of the flagged predictions that are mistakes. "
    "Higher is better.",
    "ece": "Honesty: how far confidence and accuracy are apart, on average over bins. Lower is better. Perfect "
    "calibration shows the noise beside it or more in one case of twenty: an ECE up to it can't be told from that.",
    "brier": "Both in one: the mean squared distance between confidence and being right. Lower is better. The best "
    "method is the one with the least.",
}
"""A sentence or two for every metric of the table."""
