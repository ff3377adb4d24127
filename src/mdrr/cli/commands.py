"""The list of commands, which `mdrr --help` prints without loading any of them."""

_LISTED = {
    "Run a survey with a server": {
        "survey.survey": "Draft, freeze, open and close a survey; read its results.",
        "serve.serve": "Serve the surveys of a database: collector, respondent page and dashboard.",
        "respond.respond": "Answer a survey in the terminal; see what is sent before it is.",
        "crowd.crowd": "Let simulated people answer a survey over HTTP; their true answers are in "
        "a file.",
    },
    "Before the survey": {
        "designing.plan": "Predict the error of every candidate design at one ε, and write the "
        "best design.",
        "designing.design": "Make a design from a survey file: which answers are randomized "
        "together, and how much.",
        "promises.privacy": "Say what one report reveals: ε of the record, of each cluster and "
        "attribute, and in words.",
        "promises.theory": "Predict errors of the reported (λ̂) and the estimated (π̂) shares, "
        "before anyone is asked.",
        "promises.audit": "Check that the randomizers keep the ε that a design claims: exactly, "
        "and by sampling.",
    },
    "Files instead of a server": {
        "tallying.randomize": "Randomize a file of true records.",
        "tallying.tally": "Count how often each report occurs in one or more files.",
        "tallying.pool": "Join surveys that asked the same attributes into one tally and its "
        "design.",
    },
    "Analysis": {
        "analysis.estimate": "Estimate tables of the true distribution; with -o estimate.npz, "
        "save the estimate.",
        "analysis.query": "Count the people for whom an expression holds, with an interval.",
        "tallying.adjust": "Weight the randomized records so that their margins are the estimated "
        "ones (Algorithm 2).",
        "analysis.synth": "Write synthetic records drawn from the estimated distribution.",
        "analysis.report": "Write one HTML page with the results: shares, dependences, counts, "
        "privacy.",
    },
    "Which attributes go together": {
        "dependence.dependence": "Measure how strongly each pair of attributes depends, corrected "
        "for the randomization.",
        "dependence.cluster": "Cluster the attributes by dependence; with --p or --epsilon, write "
        "the clustered design.",
        "securesum.securesum": "Measure dependences by secure sums: nobody sees another's answers.",
    },
    "See it work": {
        "demo.demo": "Plan, simulate and estimate a survey on the Adult data set, beside the "
        "paper's methods."
    },
}
COMMANDS = {
    path.partition(".")[2]: (path.partition(".")[0], line)
    for listed in _LISTED.values()
    for path, line in listed.items()
}
"""Every command: its module and its first sentence."""
PANELS = {
    panel: [(path.partition(".")[2], line) for path, line in listed.items()]
    for panel, listed in _LISTED.items()
}
"""The commands and their sentences under what they are for."""
