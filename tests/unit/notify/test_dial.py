"""Where a webhook may go (GATE-04): by what is configured, and by what its name resolves to."""

from __future__ import annotations

import pytest

from callslip.errors import ConfigError
from callslip.notify.dial import SystemResolver, checked, reach_of, target_of

pytestmark = pytest.mark.requirement("GATE-04")

PUBLIC = ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::5db8:d822", "2002:5db8:d822::1"]
PRIVATE = [
    "127.0.0.1", "127.8.9.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.2.1",
    "::1", "fe80::1", "fd00:ec2::254", "fc00::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",  # IPv4 inside IPv6, in every known way
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2001:0:5db8:d822::",
]  # fmt: skip
NEVER = [
    "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1", "::ffff:0.0.0.0", "::127.0.0.1",
    "fe80::1%eth0", "not an address", "",
]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "reach"),
    [(one, "public") for one in PUBLIC] + [(one, "private") for one in PRIVATE] + [(one, "never") for one in NEVER],
)
def test_who_can_be_at_an_address(address, reach):
    assert reach_of(address) == reach


class TestWhatIsConfigured:
    @pytest.mark.parametrize(
        ("url", "host", "port", "path", "authority"),
        [
            ("https://hooks.example.com/a?b=c", "hooks.example.com", 443, "/a?b=c", "hooks.example.com"),
            ("https://Hooks.Example.com.", "hooks.example.com", 443, "/", "hooks.example.com"),
            ("https://h.example:8443/", "h.example", 8443, "/", "h.example:8443"),
            ("https://[2606:4700::1]:444/x", "2606:4700::1", 444, "/x", "[2606:4700::1]:444"),
        ],
    )
    def test_an_address_is_taken_apart(self, url, host, port, path, authority):
        target = target_of(url, ())
        assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)

    @pytest.mark.parametrize(
        ("url", "why"),
        [
            ("", "no full address"),
            ("hooks.example.com/x", "no full address"),
            ("ftp://hooks.example.com/", "no full address"),
            ("file:///etc/passwd", "no full address"),
            ("https://", "no full address"),
            ("https://h.example:0/", "no full address"),
            ("https://h.example:99999/", "no full address"),
            ("https://[::1/", "no full address"),
            ("https://user:pw@h.example/", "user name or password"),
            ("https://h.example@evil.example/", "user name or password"),
            ("https://h.example/#x", "#fragment"),
            ("https://hö.example/", "characters"),
            ("https://h.example/a b", "characters"),
            ("https://h.example/\r\nx: y", "characters"),
            ("http://hooks.example.com/", "plain http"),
            ("http://10.0.0.1/", "plain http"),
            ("https://10.0.0.1/", "not a public one"),
            ("https://169.254.169.254/latest", "not a public one"),
            ("https://[::1]/", "not a public one"),
            ("http://127.0.0.1:9/", "not a public one"),
            ("https://localhost/", "not a public one"),
        ],
    )
    def test_what_can_not_be_meant_is_refused(self, url, why):
        with pytest.raises(ConfigError, match=why) as refused:
            target_of(url, ())
        assert "pw" not in str(refused.value)
        assert "Nothing was started" in str(refused.value)

    @pytest.mark.parametrize(
        ("url", "listed"),
        [
            ("https://10.0.0.1/", "10.0.0.1"),
            ("https://[::1]/", "[::1]"),
            ("https://[::1]/", "::1"),
            ("http://127.0.0.1:9/", "127.0.0.1"),
            ("http://localhost:9/", "LocalHost"),
        ],
    )
    def test_what_is_listed_may_be_private(self, url, listed):
        assert target_of(url, (listed,)).listed

    def test_listing_one_host_lists_no_other(self):
        assert not target_of("https://a.example/", ("b.example", "example", "xa.example")).listed


def answers(*addresses):
    asked = []

    async def resolve(host, port):
        asked.append((host, port))
        return addresses

    resolve.asked = asked
    return resolve


@pytest.mark.anyio
class TestWhatANameResolvesTo:
    async def test_public_addresses_are_all_given_once(self):
        resolve = answers("1.1.1.1", "2606:4700:4700::1111", "1.1.1.1")
        found = await checked(target_of("https://h.example:8443/", ()), resolve)
        assert found.addresses == ("1.1.1.1", "2606:4700:4700::1111")
        assert resolve.asked == [("h.example", 8443)]

    @pytest.mark.parametrize("address", PRIVATE)
    async def test_a_name_that_leads_inside_is_refused_unless_listed(self, address):
        found = await checked(target_of("https://h.example/", ()), answers(address))
        assert found.addresses == ()
        assert "not a public one" in found.refusal
        listed = await checked(target_of("https://h.example/", ("h.example",)), answers(address))
        assert listed.addresses == (address,)

    @pytest.mark.parametrize("address", NEVER)
    async def test_what_no_server_can_have_is_refused_even_when_listed(self, address):
        found = await checked(target_of("https://h.example/", ("h.example",)), answers(address))
        assert found.addresses == ()
        assert "nothing was sent" in found.refusal

    async def test_one_bad_address_refuses_the_good_ones_beside_it(self):
        found = await checked(target_of("https://h.example/", ()), answers("1.1.1.1", "127.0.0.1"))
        assert found.addresses == ()

    async def test_plain_http_stays_on_this_machine_whatever_localhost_means_here(self):
        target = target_of("http://localhost:9/", ("localhost",))
        assert (await checked(target, answers("127.0.0.1"))).addresses == ("127.0.0.1",)
        assert "plain http" in (await checked(target, answers("10.0.0.1"))).refusal

    async def test_a_name_without_addresses(self):
        async def fails(host, port):
            raise OSError(-2, "Name or service not known")

        target = target_of("https://h.example/", ())
        assert "Name or service not known" in (await checked(target, fails)).refusal
        assert "no address" in (await checked(target, answers())).refusal

    async def test_the_system_is_asked(self):
        assert "127.0.0.1" in await SystemResolver()("127.0.0.1", 443)

    @pytest.mark.parametrize("spelling", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1"])
    async def test_other_spellings_of_loopback_are_loopback(self, spelling):
        found = await checked(target_of(f"https://{spelling}/", ()), SystemResolver())
        assert found.addresses == ()


def test_the_address_takes_the_place_of_the_name_and_nothing_else():
    target = target_of("https://h.example:8443/a?b=c", ())
    assert target.at("1.1.1.1") == "https://1.1.1.1:8443/a?b=c"
    assert target.at("2606:4700::1") == "https://[2606:4700::1]:8443/a?b=c"
