"""What the metrics and the charts mean, in plain language."""

MEANINGS = {
    "auroc": "Ranking: the probability that a right prediction has a higher confidence than a wrong one. "
    "1 is perfect, 0.5 is chance.",
    "aupr": "Catching mistakes: the precision of flagging low-confidence predictions as wrong, averaged over how many "
    "mistakes are caught. Higher is better.",
    "p90": "When 90 % of the mistakes are caught, the share of the flagged predictions that are mistakes. "
    "Higher is better.",
    "ece": "Honesty: the gap between confidence and accuracy, averaged over bins. Lower is better. Next to it is the "
    "noise, which perfect calibration exceeds in one case in twenty. With an ECE up to it, perfect calibration is "
    "possible, not proven.",
    "brier": "Both in one: the mean squared difference between confidence and being right. Lower is better. The best "
    "method has the lowest.",
}
"""A sentence or two for every metric of the table."""

QUESTIONS = {
    "reliability": (
        "Is it right as often as it says?",
        "Each bar is the share of right predictions among those with that confidence. On the dashed line the two "
        "agree, and the gap is shaded. Below, how many predictions each bar stands for, on a log scale.",
    ),
    "histogram": (
        "How sure is it when it is wrong?",
        "Wrong predictions should lie on the left. Those on the right are confidently wrong. The counts are on a "
        "square-root scale, so that small ones are visible.",
    ),
    "curve": (
        "What if only the confident predictions are accepted?",
        "The error rate of the accepted predictions against the share accepted, the most confident first. Lower is "
        "better; no confidence can be below the dotted line.",
    ),
    "heatmap": (
        "What do the probabilities look like?",
        "One row for each sample, one column for each class, dark for 0 and bright for 1: above, correct predictions "
        "of one class; below, wrong ones, sorted by the predicted class. A bright staircase below is a classifier that "
        "is sure and wrong. CCAC moves it into its auxiliary column.",
    ),
    "map": (
        "Do wrong predictions look different?",
        "t-SNE of the probabilities: nearby points have similar ones. The colour is the predicted class; a cross is a "
        "wrong prediction. Crosses in a cluster of their own can be told from right predictions.",
    ),
}
"""What each chart answers, and how to read it."""

KEYS = {
    "reliability": (("area correct", "right"), ("area wrong", "gap"), ("dashed", "perfect")),
    "histogram": (("correct", "right"), ("wrong", "wrong")),
    "curve": (("wrong dashed", "before"), ("correct", "after"), ("dotted", "perfect ranking")),
    "picker": (("correct", "accepted"), ("wrong", "error among them"), ("dashed", "before"), ("solid", "after")),
}
"""What the colours and lines of a chart stand for."""
