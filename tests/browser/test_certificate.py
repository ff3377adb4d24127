"""The audit's certificate in a real browser: on a wide screen and on a phone, nothing clipped."""

import re
from dataclasses import replace

import pytest

from mdrr.auditing import audit
from mdrr.auditing.planted import self_test
from mdrr.protocols import sampled
from tests.browser.conftest import OUT
from tests.browser.test_dashboard import violations, widest
from tests.browser.test_report import clipped
from tests.cases import domain_of

SCREENS = {
    "desktop": {"viewport": {"width": 1100, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}},
    "dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """All that a certificate can show: checks, what is missing, findings, planted faults."""
    folder = tmp_path_factory.mktemp("certificate")
    found = audit(sampled(domain_of(2, 3, 2), size=2, epsilon=1.0), n=1_000, randomizers=["bulk"])
    (audited,) = found.designs
    checks = [*audited.checks, *(replace(c, randomizer="single") for c in audited.checks)]
    checks[0] = replace(checks[0], passed=False, findings=("a finding in words " * 9,))
    checks[2] = replace(checks[2], passed=None, epsilon=None, looked_at="not audited: " + 30 * "n")
    planted = self_test(["bulk"], 500, 1e-4, lambda share: None)
    first = replace(audited, checks=tuple(checks))
    both = (first, replace(first, name="another"))
    shown = replace(found, designs=both, planted=planted)
    return shown.certificate(folder / "certificate.html")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_certificate_can_be_read(certificate, browser, screen):
    context = browser.new_context(**SCREENS[screen])
    page = context.new_page()
    page.goto(certificate.as_uri())
    OUT.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=OUT / f"certificate-{screen}.png", full_page=True)
    assert widest(page) <= 0
    assert clipped(page) == []
    assert violations(page) == []
    assert "Something is wrong" in page.inner_text("header")
    context.close()


@pytest.mark.parametrize("font", ["system-ui", "monospace"])
def test_the_certificate_of_a_design_prints_on_one_page(tmp_path, browser, font):
    """With all four randomizers, on A4, even in letters as wide as a typewriter's."""
    found = audit(sampled(domain_of(2, 3, 2), size=2, epsilon=1.0), n=1_000, randomizers=["bulk"])
    (audited,) = found.designs
    names = ("single", "bulk", "browser", "spark")
    checks = tuple(replace(c, randomizer=name) for name in names for c in audited.checks)
    origins = tuple(replace(found.provenance[0], randomizer=name) for name in names)
    shown = replace(found, designs=(replace(audited, checks=checks),), provenance=origins)
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(shown.certificate(tmp_path / "certificate.html").as_uri())
    page.add_style_tag(content=f"* {{ font-family: {font} !important; }}")
    printed = page.pdf(
        format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm")
    )
    context.close()
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == 1
