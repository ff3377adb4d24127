"""Multi-dimensional randomized response: estimate a joint distribution nobody had to disclose.

This list is the whole public interface. Names load when first used, so a respondent's device can
import `mdrr.respondent` with nothing but the standard library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Attribute": "domain",
    "Cluster": "design",
    "Constant": "matrix",
    "Count": "estimation",
    "Dense": "matrix",
    "Dependences": "dependence",
    "Design": "design",
    "Domain": "domain",
    "Estimate": "estimation",
    "MdrrError": "errors",
    "Query": "query",
    "Questionnaire": "design",
    "Report": "response",
    "SeededSource": "source",
    "Survey": "survey",
    "SystemSource": "source",
    "Table": "estimation",
    "Tally": "tallies",
    "cluster": "clustering",
    "clustered": "protocols",
    "constant_matrix": "matrix",
    "dense_matrix": "matrix",
    "dependences": "dependence",
    "encode": "frames",
    "estimate": "estimation",
    "independent": "protocols",
    "infer_domain": "frames",
    "joint": "protocols",
    "plan": "planning",
    "pool": "planning",
    "randomize": "frames",
    "randomize_codes": "randomizer",
    "report": "reporting",
    "respond": "respondent",
    "sampled": "protocols",
    "simulate_dependences": "securesum.ways",
    "split_questionnaire": "planning",
    "synthesize": "synthesis",
    "tally": "frames",
    "weigh": "weighting",
}
_MODULES = ("datasets", "numeric", "plots", "privacy", "theory")

__all__ = [
    "Attribute",
    "Cluster",
    "Constant",
    "Count",
    "Dense",
    "Dependences",
    "Design",
    "Domain",
    "Estimate",
    "MdrrError",
    "Query",
    "Questionnaire",
    "Report",
    "SeededSource",
    "Survey",
    "SystemSource",
    "Table",
    "Tally",
    "cluster",
    "clustered",
    "constant_matrix",
    "datasets",
    "dense_matrix",
    "dependences",
    "encode",
    "estimate",
    "independent",
    "infer_domain",
    "joint",
    "numeric",
    "plan",
    "plots",
    "pool",
    "privacy",
    "randomize",
    "randomize_codes",
    "report",
    "respond",
    "sampled",
    "simulate_dependences",
    "split_questionnaire",
    "synthesize",
    "tally",
    "theory",
    "weigh",
    "__version__",
]

if TYPE_CHECKING:
    from mdrr import datasets as datasets
    from mdrr import numeric as numeric
    from mdrr import plots as plots
    from mdrr import privacy as privacy
    from mdrr import theory as theory
    from mdrr.clustering import cluster
    from mdrr.dependence import Dependences, dependences
    from mdrr.design import Cluster, Design, Questionnaire
    from mdrr.domain import Attribute, Domain
    from mdrr.errors import MdrrError
    from mdrr.estimation import Count, Estimate, Table, estimate
    from mdrr.frames import encode, infer_domain, randomize, tally
    from mdrr.matrix import Constant, Dense, constant_matrix, dense_matrix
    from mdrr.planning import plan, pool, split_questionnaire
    from mdrr.protocols import clustered, independent, joint, sampled
    from mdrr.query import Query
    from mdrr.randomizer import randomize_codes
    from mdrr.reporting import report
    from mdrr.respondent import respond
    from mdrr.response import Report
    from mdrr.securesum.ways import simulate_dependences
    from mdrr.source import SeededSource, SystemSource
    from mdrr.survey import Survey
    from mdrr.synthesis import synthesize
    from mdrr.tallies import Tally
    from mdrr.weighting import weigh


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"mdrr.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"mdrr.{name}")
    else:
        raise AttributeError(f"module 'mdrr' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
