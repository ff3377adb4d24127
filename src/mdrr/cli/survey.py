"""`mdrr survey`: the life of a survey, from its draft to its published results."""

from __future__ import annotations

from mdrr.cli.collection import invite, open_, owner, page, status
from mdrr.cli.draft import check, freeze, init, preview
from mdrr.cli.guard import group
from mdrr.cli.results import close, phase, publish, reopen, results

survey, EXAMPLES = group(
    "survey",
    {
        "init": (init, "people.csv -o survey.toml"),
        "check": (check, "survey.toml people.csv"),
        "preview": (preview, "survey.toml"),
        "freeze": (freeze, "survey.toml -o survey.json"),
        "open": (open_, "survey.json --invitations 200"),
        "invite": (invite, "survey.json 50 -o more.txt"),
        "owner": (owner, "survey.json"),
        "page": (page, "survey.json --collector https://collector.example.org -o page"),
        "status": (status, "survey.json"),
        "phase": (phase, "survey.json --people 5000 --links invitations.txt -o main.txt"),
        "close": (close, "survey.json"),
        "reopen": (reopen, "survey.json"),
        "results": (results, "survey.json -o results.json"),
        "publish": (publish, "survey.json --open-data"),
    },
)
