"""How private a design is: ε accounting, ledgers, plain words, and (ε, δ) by shuffling."""

from __future__ import annotations

from mdrr.privacy.accounting import (
    Account,
    AttributeAccount,
    ClusterAccount,
    QuestionnaireAccount,
    account,
    attribute_account,
    cluster_attribute_epsilons,
)
from mdrr.privacy.clones import Clones
from mdrr.privacy.composition import (
    Composed,
    Entry,
    Ledger,
    PairTables,
    compose,
    pair_tables,
)
from mdrr.privacy.reveal import Belief, belief, in_words, posterior, times_in
from mdrr.privacy.shuffle import Shuffled, clones_of, shuffled, shuffled_closed_form

__all__ = [
    "Account",
    "AttributeAccount",
    "ClusterAccount",
    "QuestionnaireAccount",
    "account",
    "attribute_account",
    "cluster_attribute_epsilons",
    "Entry",
    "Ledger",
    "Belief",
    "belief",
    "in_words",
    "posterior",
    "times_in",
    "Clones",
    "Shuffled",
    "clones_of",
    "shuffled",
    "shuffled_closed_form",
    "Composed",
    "PairTables",
    "compose",
    "pair_tables",
]
