"""Whose key is used, and where its passphrase comes from."""

import os
import pwd

import pytest

from callslip.core.principal import Principal, Role
from callslip.core.standing import Enrolled, Standing
from callslip.errors import ConfigError, NotAuthorised, NotFound, StateRefused
from callslip.testing.clock import FakeClock
from callslip.trust.account import account
from callslip.trust.key_file import keys_folder, make_folder
from callslip.trust.keys import LEAST, make_key
from callslip.trust.memory import MemoryTrust
from callslip.trust.on_hand import find_key, key_path, on_hand, open_key, unlocked_keys

pytestmark = pytest.mark.requirement("APPR-08")


class Desk:
    """A folder of keys, and who of them is enrolled."""

    def __init__(self, tmp_path):
        self.folder = keys_folder()
        make_folder(self.folder)
        self.trust = MemoryTrust(clock=FakeClock())
        self.identities = {}
        self.asked = []

    def key(self, name, *, passphrase=None, enrol=True, as_name=None):
        identity = make_key(self.folder / f"{name}.key", name, passphrase=passphrase, cost=LEAST)
        self.identities[name] = identity
        if enrol:
            roles = (Role.OPERATOR,) if self.trust.standing().advisory else (Role.APPROVER,)
            principal = Principal(name=as_name or name, roles=roles, key=identity.signer.key)
            first = next(iter(self.identities.values())) if self.trust.standing().root else identity
            self.trust.state(Enrolled(principal=principal), first)
        return identity

    def ask(self, what):
        self.asked.append(what)
        return "pass"

    def find(self, **settings):
        return on_hand(self.trust.standing(), **settings)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Desk(tmp_path)


class TestTheAccount:
    def test_it_is_the_kernels_word(self, monkeypatch):
        for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
            monkeypatch.setenv(name, "somebody-else")
        assert account().name == pwd.getpwuid(os.getuid()).pw_name
        assert (account().uid, account().signer) == (os.getuid(), None)

    def test_without_a_name(self, monkeypatch):
        def unknown(_):
            raise KeyError

        monkeypatch.setattr(pwd, "getpwuid", unknown)
        assert account().name == f"uid-{os.getuid()}"

    def test_it_acts_while_nobody_is_enrolled(self, desk):
        desk.key("anna", enrol=False)
        assert desk.find() == account()


class TestWhichKey:
    def test_the_only_one_that_is_enrolled(self, desk):
        desk.key("anna")
        desk.key("bob", enrol=False)
        found = desk.find()
        assert (found.name, found.signer.key) == ("anna", desk.identities["anna"].signer.key)

    def test_it_acts_under_the_name_it_is_enrolled_by(self, desk):
        desk.key("anna")
        desk.key("bobs-old-key", as_name="bob")
        os.unlink(desk.folder / "anna.key")
        assert desk.find().name == "bob"

    def test_none(self, desk):
        desk.key("anna")
        os.unlink(desk.folder / "anna.key")
        desk.key("zoe", enrol=False)
        with pytest.raises(NotAuthorised, match=r"No enrolled key is on hand .*Enrolled are: anna"):
            desk.find()

    def test_several_are_named(self, desk, monkeypatch):
        desk.key("anna")
        desk.key("bob")
        with pytest.raises(NotAuthorised, match="Several enrolled keys are on hand: anna, bob"):
            desk.find()
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        assert desk.find().name == "bob"
        monkeypatch.setenv("CALLSLIP_KEY", str(desk.folder / "anna.key"))
        assert desk.find().name == "anna"

    def test_one_that_is_not_enrolled(self, desk, monkeypatch):
        desk.key("anna")
        desk.key("zoe", enrol=False)
        monkeypatch.setenv("CALLSLIP_KEY", "zoe")
        with pytest.raises(NotAuthorised, match=r"zoe\.key, which CALLSLIP_KEY names, is not enrolled"):
            desk.find()

    @pytest.mark.parametrize(("named", "error"), [("gone", NotFound), ("a b", ConfigError), ("/none/x.key", NotFound)])
    def test_one_that_is_not_there(self, desk, monkeypatch, named, error):
        desk.key("anna")
        monkeypatch.setenv("CALLSLIP_KEY", named)
        with pytest.raises(error):
            desk.find()

    def test_one_that_others_can_read(self, desk, monkeypatch):
        desk.key("anna")
        path = desk.folder / "anna.key"
        path.chmod(0o644)
        with pytest.raises(StateRefused, match="open to others"):
            desk.find()
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        with pytest.raises(StateRefused, match="open to others"):
            desk.find()
        path.chmod(0o600)
        assert desk.find().name == "anna"

    def test_a_damaged_key_does_not_stand_in_anothers_way(self, desk):
        desk.key("anna")
        (desk.folder / "old.key").touch(0o600)
        assert desk.find().name == "anna"

    def test_never_one_that_tools_may_write(self, desk, tmp_path, monkeypatch):
        desk.key("anna")
        assert find_key(desk.trust.standing(), writable_roots=[tmp_path / "work"])[1].name == "anna"
        with pytest.raises(StateRefused, match="which tools may write"):
            desk.find(writable_roots=[tmp_path / "config"])
        monkeypatch.setenv("CALLSLIP_KEY", str(tmp_path / "work" / "anna.key"))
        with pytest.raises(StateRefused, match="which tools may write"):
            desk.find(writable_roots=[tmp_path / "work"])
        with pytest.raises(StateRefused, match="which tools may write"):
            key_path("anna", writable_roots=[tmp_path])


class TestThePassphrase:
    def test_it_is_asked_for_only_where_there_is_one(self, desk):
        desk.key("anna")
        desk.find(ask=desk.ask)
        assert desk.asked == []

    def test_whoever_sits_there_is_asked(self, desk):
        desk.key("anna", passphrase="pass")
        assert desk.find(ask=desk.ask).signer.key == desk.identities["anna"].signer.key
        assert desk.asked == ["anna.key"]

    def test_there_is_nobody_to_ask(self, desk):
        desk.key("anna", passphrase="pass")
        with pytest.raises(NotAuthorised, match="needs its passphrase"):
            desk.find()

    @pytest.mark.parametrize("text", ["pass", "pass\n", "pass\r\n"])
    def test_a_file_that_the_environment_names(self, desk, tmp_path, monkeypatch, text):
        desk.key("anna", passphrase="pass")
        secret = tmp_path / "secret"
        secret.touch(0o600)
        secret.write_text(text)
        monkeypatch.setenv("CALLSLIP_PASSPHRASE_FILE", str(secret))
        assert desk.find(ask=desk.ask).name == "anna"
        assert desk.asked == []
        secret.write_text("wrong")
        with pytest.raises(NotAuthorised, match="is wrong"):
            desk.find(ask=desk.ask)
        secret.write_text("\n")
        with pytest.raises(ConfigError, match="is empty"):
            desk.find()
        secret.write_text(text)
        secret.chmod(0o640)
        with pytest.raises(StateRefused, match="open to others"):
            desk.find()
        secret.unlink()
        with pytest.raises(ConfigError, match="CALLSLIP_PASSPHRASE_FILE names it"):
            desk.find()

    def test_a_variable_with_the_passphrase_itself_is_not_looked_at(self, desk, monkeypatch):
        desk.key("anna", passphrase="pass")
        for name in ("CALLSLIP_PASSPHRASE", "PASSPHRASE"):
            monkeypatch.setenv(name, "pass")
        with pytest.raises(NotAuthorised):
            desk.find()

    def test_opening_one_by_its_file(self, desk):
        desk.key("anna", passphrase="pass")
        assert open_key(desk.folder / "anna.key", ask=desk.ask).name == "anna"


def test_what_doctor_is_told(desk):
    assert unlocked_keys() == ([], [])
    desk.key("anna")
    desk.key("bob", passphrase="x", enrol=False)
    desk.key("carl", enrol=False)
    (desk.folder / "carl.key").chmod(0o644)
    bare, unsafe = unlocked_keys()
    assert bare == ["anna"]
    assert [str(error).partition(" is ")[0] for error in unsafe] == [str(desk.folder / "carl.key")]


def test_nothing_is_found_by_an_empty_standing_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    assert on_hand(Standing()) == account()
    with pytest.raises(NotAuthorised):
        find_key(Standing(root="00" * 32))
