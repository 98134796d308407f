"""Renewal of the webhook's certificates, told over years in no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shoal.certificates import CLOCKS_APART, Chain, Lives, renew, trusts, unpack

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
LIVES = Lives(authority=90 * DAY, serving=9 * DAY, settling=1 * DAY)
HOSTS = ("shoal.example.svc", "10.0.0.1")


def first(now: datetime = NOW) -> Chain:
    return renew(None, HOSTS, now, LIVES)


def test_nothing_is_renewed_before_it_is_due():
    chain = first()
    assert renew(chain, HOSTS, NOW + 6 * DAY - timedelta(seconds=1), LIVES) is chain
    renewed = renew(chain, HOSTS, NOW + 6 * DAY, LIVES)
    assert renewed.serving != chain.serving
    assert renewed.authorities == chain.authorities


def test_the_first_certificate_is_valid_at_once_and_for_its_hosts():
    chain = first()
    assert trusts(chain.bundle, chain.serving.certificate)
    assert chain.serving.certificate.not_valid_before_utc == NOW - CLOCKS_APART
    assert chain.serving.end == NOW + 9 * DAY
    again = renew(chain, HOSTS[::-1], NOW, LIVES)
    assert again is chain


def test_another_name_takes_another_certificate_of_the_same_authority():
    chain = first()
    renewed = renew(chain, (*HOSTS, "another.example.svc"), NOW, LIVES)
    assert renewed.serving != chain.serving
    assert renewed.authorities == chain.authorities


def test_over_years_whoever_learns_of_a_bundle_late_trusts_what_is_served():
    """The API server hears of each bundle half a day late, and an operator serves a renewed certificate as late."""
    chains = [first()]
    for half in range(1, 2000):
        now = NOW + half * DAY / 2
        chains.append(renew(chains[-1], HOSTS, now, LIVES))
        known, late = chains[-2], chains[-2].serving
        for served in (chains[-1].serving, late):
            assert served.certificate.not_valid_after_utc > now
            assert trusts(known.bundle, served.certificate)
        assert trusts(chains[-1].bundle, late.certificate)
        assert len(chains[-1].authorities) <= 2
    assert len({chain.authorities[0].certificate for chain in chains}) > 10


def test_what_was_kept_is_read_again():
    chain = renew(first(), HOSTS, NOW + 60 * DAY, LIVES)
    assert len(chain.authorities) == 2
    kept = unpack(chain.pack())
    assert kept.pack() == chain.pack()
    assert renew(kept, HOSTS, NOW + 60 * DAY, LIVES) is kept


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut off", "nonsense", "somebody else's"])
def test_damage_is_noticed(name, damage):
    kept, other = first().pack(), first().pack()
    damaged = {
        "missing": {key: part for key, part in kept.items() if key != name},
        "empty": {**kept, name: b""},
        "cut off": {**kept, name: kept[name][:-40]},
        "nonsense": {**kept, name: b"nonsense"},
        "somebody else's": {**kept, name: other[name]},
    }[damage]
    with pytest.raises(ValueError, match=r"\w"):
        unpack(damaged)


def test_a_chain_that_has_run_out_is_begun_anew():
    chain = renew(first(), HOSTS, NOW + 400 * DAY, LIVES)
    assert trusts(chain.bundle, chain.serving.certificate)
    assert len(chain.authorities) == 1


@pytest.mark.parametrize(
    "bundle", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"]
)
def test_who_trusts_nonsense_trusts_nobody(bundle):
    assert not trusts(bundle, first().serving.certificate)
