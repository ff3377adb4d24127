"""Multi-dimensional randomized response: estimate a joint distribution nobody had to disclose.

This list is the whole public interface. Names load when first used, so a respondent's device can
import `mdrr.respondent` with nothing but the standard library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    name: home
    for home, names in {
        "auditing": "Audit audit",
        "clustering": "cluster",
        "dependence": "Dependences dependences",
        "design": "Cluster Design Questionnaire",
        "domain": "Attribute Domain",
        "errors": "MdrrError",
        "estimation": "Count Estimate Table estimate",
        "files": "randomize_file read_tally tally_files write_tally",
        "frames": "encode infer_domain randomize tally",
        "matrix": "Constant Dense Public constant_matrix dense_matrix",
        "planning": "plan pool split_questionnaire",
        "protocols": "clustered independent joint sampled",
        "query": "Query",
        "randomizer": "randomize_codes",
        "reporting": "report",
        "respondent": "respond",
        "response": "Report",
        "securesum.ways": "simulate_dependences",
        "source": "SeededSource SystemSource",
        "survey": "Survey",
        "synthesis": "synthesize",
        "tallies": "Tally",
        "weighting": "weigh",
    }.items()
    for name in names.split()
}
_MODULES = ("datasets", "numeric", "plots", "privacy", "theory")

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])

if TYPE_CHECKING:
    from mdrr import datasets as datasets
    from mdrr import numeric as numeric
    from mdrr import plots as plots
    from mdrr import privacy as privacy
    from mdrr import theory as theory
    from mdrr.auditing import Audit as Audit
    from mdrr.auditing import audit as audit
    from mdrr.clustering import cluster as cluster
    from mdrr.dependence import Dependences as Dependences
    from mdrr.dependence import dependences as dependences
    from mdrr.design import Cluster as Cluster
    from mdrr.design import Design as Design
    from mdrr.design import Questionnaire as Questionnaire
    from mdrr.domain import Attribute as Attribute
    from mdrr.domain import Domain as Domain
    from mdrr.errors import MdrrError as MdrrError
    from mdrr.estimation import Count as Count
    from mdrr.estimation import Estimate as Estimate
    from mdrr.estimation import Table as Table
    from mdrr.estimation import estimate as estimate
    from mdrr.files import randomize_file as randomize_file
    from mdrr.files import read_tally as read_tally
    from mdrr.files import tally_files as tally_files
    from mdrr.files import write_tally as write_tally
    from mdrr.frames import encode as encode
    from mdrr.frames import infer_domain as infer_domain
    from mdrr.frames import randomize as randomize
    from mdrr.frames import tally as tally
    from mdrr.matrix import Constant as Constant
    from mdrr.matrix import Dense as Dense
    from mdrr.matrix import Public as Public
    from mdrr.matrix import constant_matrix as constant_matrix
    from mdrr.matrix import dense_matrix as dense_matrix
    from mdrr.planning import plan as plan
    from mdrr.planning import pool as pool
    from mdrr.planning import split_questionnaire as split_questionnaire
    from mdrr.protocols import clustered as clustered
    from mdrr.protocols import independent as independent
    from mdrr.protocols import joint as joint
    from mdrr.protocols import sampled as sampled
    from mdrr.query import Query as Query
    from mdrr.randomizer import randomize_codes as randomize_codes
    from mdrr.reporting import report as report
    from mdrr.respondent import respond as respond
    from mdrr.response import Report as Report
    from mdrr.securesum.ways import simulate_dependences as simulate_dependences
    from mdrr.source import SeededSource as SeededSource
    from mdrr.source import SystemSource as SystemSource
    from mdrr.survey import Survey as Survey
    from mdrr.synthesis import synthesize as synthesize
    from mdrr.tallies import Tally as Tally
    from mdrr.weighting import weigh as weigh


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
    return __all__
