"""The respondent page as a folder of files, to be served by somebody else than the collector.

A collector that serves the page could change it. Served by a party that people trust more, the page
still checks the design and sends answers to the collector alone: its policy names that one origin.
The collector answers such a page because it allows any origin on the routes that need no token
(`Access-Control-Allow-Origin: *` and `Access-Control-Allow-Headers: content-type`).
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from mdrr.errors import MdrrError

STATIC = Path(__file__).with_name("static")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src {origin}; form-action 'none'; base-uri 'none'"
)
"""As the collector's own but for `frame-ancestors 'none'`, which the host must send as a header."""
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d+)?")
_PATH = re.compile(r"[A-Za-z0-9._~/-]*")
_IMPORT = re.compile(r"""(?:from|import\()\s*"\./([\w.]+)\"""")


def write_page(folder: Path, survey: str, collector: str) -> list[Path]:
    """Write the page of one survey; gives the files.

    Arguments:
        folder: where to; made if it is not there.
        survey: the survey's id.
        collector: the address of the collector, `https://host` or with a path.
    """
    parts = urlsplit(collector)
    local = parts.hostname in ("localhost", "127.0.0.1")
    secure = parts.scheme == "https" or (parts.scheme == "http" and local)
    if not (secure and _HOST.fullmatch(parts.netloc) and _PATH.fullmatch(parts.path)) or (
        parts.query or parts.fragment
    ):
        raise MdrrError(
            f"the collector's address {collector!r} is not https://host. Browsers send answers to "
            "an address that starts with https:// (or to http://localhost, for a trial)"
        )
    if not re.fullmatch(r"[A-Za-z0-9]{1,32}", survey):
        raise MdrrError(f"{survey!r} is not the id of a survey, 8 letters and digits")
    folder.mkdir(parents=True, exist_ok=True)
    page = (STATIC / "form.html").read_text("utf-8").replace("../static/", "./")
    policy = POLICY.format(origin=f"{parts.scheme}://{parts.netloc}")
    filled = {
        '<meta charset="utf-8">': '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
        'mdrr-collector" content=""': f'mdrr-collector" content="{collector}"',
        'mdrr-survey" content=""': f'mdrr-survey" content="{survey}"',
    }
    for blank, text in filled.items():
        assert page.count(blank) == 1, blank
        page = page.replace(blank, text)
    written = [folder / "index.html"]
    written[0].write_text(page, "utf-8")
    names = ["form.css", *modules()]
    written += [Path(shutil.copyfile(STATIC / name, folder / name)) for name in names]
    return written


def modules(first: str = "form.js") -> list[str]:
    """The page's script and every module that it loads."""
    found = [first]
    for name in found:
        text = (STATIC / name).read_text("utf-8")
        found += [
            each
            for each in dict.fromkeys(_IMPORT.findall(text))
            if each not in found and (STATIC / each).exists()
        ]
    return found
