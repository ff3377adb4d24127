"""How private a design is: ε accounting, ledgers, plain words, and (ε, δ) by shuffling."""

from __future__ import annotations

from mdrr.privacy.accounting import Account as Account
from mdrr.privacy.accounting import AttributeAccount as AttributeAccount
from mdrr.privacy.accounting import ClusterAccount as ClusterAccount
from mdrr.privacy.accounting import QuestionnaireAccount as QuestionnaireAccount
from mdrr.privacy.accounting import account as account
from mdrr.privacy.accounting import attribute_account as attribute_account
from mdrr.privacy.accounting import cluster_attribute_epsilons as cluster_attribute_epsilons
from mdrr.privacy.clones import Clones as Clones
from mdrr.privacy.composition import Composed as Composed
from mdrr.privacy.composition import Entry as Entry
from mdrr.privacy.composition import Ledger as Ledger
from mdrr.privacy.composition import PairTables as PairTables
from mdrr.privacy.composition import compose as compose
from mdrr.privacy.composition import pair_tables as pair_tables
from mdrr.privacy.reveal import Belief as Belief
from mdrr.privacy.reveal import belief as belief
from mdrr.privacy.reveal import in_words as in_words
from mdrr.privacy.reveal import posterior as posterior
from mdrr.privacy.reveal import times_in as times_in
from mdrr.privacy.shuffle import Shuffled as Shuffled
from mdrr.privacy.shuffle import clones_of as clones_of
from mdrr.privacy.shuffle import shuffled as shuffled
from mdrr.privacy.shuffle import shuffled_closed_form as shuffled_closed_form
