"""Learning from randomized reports: predict income on Adult's own test part.

    python -m benchmarks.learning              # everything; stop it and start it again as you like
    python -m benchmarks.learning --page       # the page from benchmarks/results alone

Logistic regression and gradient boosting (scikit-learn's defaults) are trained on the true training
records, on records drawn from estimates, on adjusted microdata with weights, and on the randomized
records as they are. Tests are always the true 16,281 records of the test part.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.methods import number
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import mdrr
from benchmarks import runner
from mdrr.frames import encode

EPSILONS = (4.62, 8.0, 10.69, 15.92)
RESULTS = Path("benchmarks/results/learning.json")
TARGET = "income"

SOURCES = {
    "true records": "the training part itself: what no privacy would give",
    "plan + auto, drawn": "`mdrr.plan`'s design, `estimate.sample(n)`: the defaults",
    "auto, drawn": 'RR-Independent, `method="auto"`, `estimate.sample(n)`',
    "latent, drawn": 'RR-Independent, `method="latent"`, `estimate.sample(n)`',
    "product, drawn": "RR-Independent, the paper's product of marginals, drawn",
    "adjusted, weighted": "RR-Independent's reports, `mdrr.weigh`, as `sample_weight`",
    "reports as they are": "RR-Independent's reports, taken for the truth",
}
MODELS = ("logistic regression", "gradient boosting")
MEASURES = ("accuracy", "balanced", "auc")

Training = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Codes of the other attributes `(n, m)`, whether income is above 50K `(n,)`, weights `(n,)`."""


@cache
def people(part: str) -> tuple[Any, np.ndarray, np.ndarray]:
    frame = mdrr.datasets.adult(part)
    return (frame, *split(frame)[:2])


def split(frame: Any, weights: np.ndarray | None = None) -> Training:
    domain = mdrr.datasets.adult_domain()
    columns = dict(zip(domain.names, encode(frame, domain), strict=True))
    above = domain.attribute(TARGET).categories.index(">50K")
    others = np.column_stack([codes for name, codes in columns.items() if name != TARGET])
    return others.astype(np.int64), np.asarray(columns[TARGET] == above), weights


def training(source: str, epsilon: float, seed: int) -> Training:
    """What a learner gets."""
    frame, others, target = people("train")
    if source == "true records":
        return others, target, None
    domain = mdrr.datasets.adult_domain()
    if source.startswith("plan"):
        design = mdrr.plan(domain, n=len(target), epsilon=epsilon).design
    else:
        design = mdrr.independent(domain, epsilon=epsilon)
    random = mdrr.SeededSource(number("learning", design.fingerprint, seed))
    reports = mdrr.randomize(frame, design, source=random)
    if source == "reports as they are":
        return split(reports)
    if source == "adjusted, weighted":
        weighed = mdrr.weigh(reports, design)
        return split(weighed.drop("weight"), weighed["weight"].to_numpy())
    method = source.removeprefix("plan + ").removesuffix(", drawn")
    estimate = mdrr.estimate(mdrr.tally(reports, design), design, method=method)
    return split(estimate.sample(len(target), seed=seed))


def score(model: str, data: Training, seed: int) -> dict[str, float]:
    """Train, and test on the true test part."""
    domain = mdrr.datasets.adult_domain()
    sizes = [a.size for a in domain.attributes if a.name != TARGET]
    others, target, weights = data
    _, asked, truth = people("test")
    if model == "logistic regression":
        coded = OneHotEncoder(categories=[np.arange(size) for size in sizes])
        learner = make_pipeline(coded, LogisticRegression(max_iter=1000))
        learner.fit(others, target, logisticregression__sample_weight=weights)
    else:
        learner = HistGradientBoostingClassifier(
            categorical_features=range(len(sizes)), random_state=seed
        )
        learner.fit(others, target, sample_weight=weights)
    chance = learner.predict_proba(asked)[:, 1]
    return {
        "accuracy": float(np.mean((chance > 0.5) == truth)),
        "balanced": float(balanced_accuracy_score(truth, chance > 0.5)),
        "auc": float(roc_auc_score(truth, chance)),
    }


def work(job: runner.Job) -> dict[str, Any]:
    epsilon, seed, source = job
    data = training(source, epsilon, seed)
    return {model: score(model, data, seed) for model in MODELS}


def summary(done: dict[runner.Job, dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, a row for every budget, source and model."""
    grouped = defaultdict(list)
    for (epsilon, _, source), entry in done.items():
        for model in MODELS:
            grouped[epsilon, source, model].append(entry[model])
    rows = []
    order = {source: i for i, source in enumerate(SOURCES)}
    for key in sorted(grouped, key=lambda k: (k[0], order[k[1]], k[2])):
        epsilon, source, model = key
        row = {"epsilon": epsilon, "source": source, "model": model, "seeds": len(grouped[key])}
        for measure in MEASURES:
            row[measure] = round(float(np.mean([e[measure] for e in grouped[key]])), 5)
        rows.append(row)
    truth = people("test")[2]
    return {
        "train": len(people("train")[2]),
        "test": len(truth),
        "majority": round(float(max(truth.mean(), 1 - truth.mean())), 5),
        "sources": SOURCES,
        "rows": rows,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = runner.options(__doc__, "learning")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--again", help="sources whose kept results are not used, with semicolons")
    asked = parser.parse_args(arguments)
    if not asked.page:
        if asked.again:
            runner.forget(asked.kept, asked.again.split(";"))
        todo = [
            (epsilon, seed, source)
            for seed in range(asked.seeds)
            for epsilon in EPSILONS
            for source in SOURCES
        ]
        done = runner.run_asked(asked, todo, work)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(runner.written(summary(done)))
    from benchmarks.learning_page import write

    write(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
