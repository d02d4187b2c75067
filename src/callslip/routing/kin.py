"""Words that requests and tools use for the same thing: whoever asks for a film may be served by a movie search.

A word of a group also counts as the group's sign, on both sides. The sign weighs less than the word itself (see
:data:`SHARE`), so that the very word still tells tools apart. The groups are everyday English of things that tools are
made for; they hold no tool's or product's name.
"""

from __future__ import annotations

from callslip.routing.stem import stem

SHARE = 0.4
"""The part of a word's weight that goes by its group."""
_GROUPS = """
analyze analysis analytics
animal pet dog cat
apartment house home property
article essay blog
assess assessment evaluate evaluation
astrology horoscope zodiac
author writer
autocomplete typeahead
average mean
audio sound
bill invoice
book novel
booking reservation reserve
budget cheap affordable inexpensive discount deal
business company corporation enterprise firm
buy purchase
calculate calculation calculator compute calc
calendar schedule appointment meeting
car vehicle automobile auto
chart graph plot diagram
check verify validate confirm
child children kid
class course lesson curriculum
client customer
code programming program
compare comparison
compose create make generate build produce
concert event festival
convert conversion transform
cost price pricing fee
country nation
crime criminal
crypto cryptocurrency bitcoin ethereum
database db
delete remove erase drop
deliver send
dining restaurant eatery
direction route navigation path
disease illness condition
doc document
doctor physician
drug medicine medication pharmaceutical
email mail mailbox inbox
employee staff worker
enumerate list
equity stock share
estimate estimation
exam test quiz
excel spreadsheet
exercise workout fitness gym
explain explanation
get fetch retrieve obtain
film movie cinema
finance financial
fixture match
flight airline airfare plane airport
folder directory
football soccer
forecast predict prediction
game gaming
gift present
headline news
host server
hotel accommodation lodging hostel motel
image picture photo photograph photography
income salary wage
install installation setup
instructor teacher tutor
invest investment portfolio
job career employment vacancy hiring
joke humor
launch start begin
law legal lawyer attorney
lease rent rental
leaderboard rank ranking
league tournament competition
link url
loan mortgage
location place venue spot
find lookup search query
merchandise product item goods
message sms
modify update edit change alter
monitor track tracking
nearby near close around
overview summary summarize summarise summarization
pay payment
phone telephone mobile
player athlete
presentation slide slideshow
profile account user
quotation quote
rating review feedback
recipe dish meal food cook
recommend recommendation suggest suggestion
repo repository
resume cv
save store
school university college
shop store retailer shopping
song music track tune
speech voice
stop end terminate cancel
task todo
town city
translate translation translator
trip travel journey vacation holiday tour tourism
video clip
weather forecast climate
website site webpage web internet online
"""


def _signs() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _GROUPS.strip().splitlines():
        members = line.split()
        stems = {stem(member) for member in members}
        for word in stems if len(stems) > 1 else ():
            found[word] = (*found.get(word, ()), "§" + members[0])
    return found


SIGNS = _signs()
"""By stem, the signs of the groups that it is of. No word of a text looks like a sign."""


def is_sign(word: str) -> bool:
    return word[:1] == "§"


def with_kin(words: list[str]) -> list[str]:
    """The words and the signs of their groups, each sign once for every word that has it."""
    return words + [sign for word in words if word in SIGNS for sign in SIGNS[word]]
