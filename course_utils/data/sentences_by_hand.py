"""A hundred and fifty sentences of news, encyclopaedias and letters, written by hand: what the tagger of the entities lab makes of other texts.

Thirty pieces of five sentences, ten of each kind. The people, firms and most small places do not exist; nothing was chosen by looking at scores on
them. Every other piece of a kind is for development, the rest is the test, so no piece is in both. A title (*Dr*, *Mrs*) and a
preposition are outside of an entity; a date is whatever names a day, a month, a year or a span of years.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from course_utils.data.entities import Entity

ASKED = Path(__file__).with_name("sentences_asked.json")
"""What SmolLM2 wrote about the test half; docs/data-entities.md says how it was asked."""

KINDS = ("news", "encyclopaedia", "letter")
LABELS = ("person", "place", "organisation", "date")

_SHORT = {"P": "person", "L": "place", "O": "organisation", "D": "date"}
_MARKED = re.compile(r"\[([^\[\]]+)\]([PLOD])")


@dataclass(frozen=True)
class Sentence:
    """A sentence with its entities, exact and in the order of the text.

    Attributes:
        kind: one of ``KINDS``.
        piece: which of the thirty texts it comes from; its sentences belong together.
        part: ``"development"`` or ``"test"``, the same for a whole piece.
    """

    text: str
    entities: tuple[Entity, ...]
    kind: str
    piece: int
    part: str


def sentences_by_hand(part: str | None = None) -> tuple[Sentence, ...]:
    """The sentences in order.

    Args:
        part: ``"development"`` or ``"test"``; None: both.

    Raises:
        ValueError: there is no such part.
    """
    if part not in (None, "development", "test"):
        raise ValueError(f"The sentences have no part {part!r}: ask for 'development' or 'test'.")
    found = []
    for number, piece in enumerate(_PIECES.strip().split("\n\n")):
        kind, *lines = piece.splitlines()
        of = "test" if number % 2 else "development"
        found += [Sentence(*_read(line), kind, number, of) for line in lines]
    return tuple(one for one in found if part in (None, one.part))


def _read(marked: str) -> tuple[str, tuple[Entity, ...]]:
    text, entities, at = "", [], 0
    for mark in _MARKED.finditer(marked):
        text += marked[at : mark.start()]
        entities.append(Entity(len(text), len(text) + len(mark[1]), _SHORT[mark[2]]))
        text += mark[1]
        at = mark.end()
    return text + marked[at:], tuple(entities)


def load_asked() -> tuple[dict[str, str], float]:
    """A sentence of the test half -> the line in which SmolLM2 named its entities, after some examples; and the seconds for all."""
    kept = json.loads(ASKED.read_text("utf-8"))
    return kept["test"], kept["seconds"]


def entities_said(text: str, line: str) -> list[Entity]:
    """The entities that a line such as ``person: Ada, Bo; place: Bern`` names in a text, in the order of the line.

    A name stands at its first place in the text that no name before it has taken. A name that the text does not have is an entity
    before its beginning, so it counts as found and is always wrong. Labels other than ``LABELS`` are left out.
    """
    found: list[Entity] = []
    for part in line.split(";"):
        label, _, names = part.partition(":")
        if label.strip() in LABELS:
            for name in filter(None, (each.strip() for each in names.split(","))):
                taken = {each.start for each in found}
                places = (at.start() for at in re.finditer(re.escape(name), text) if at.start() not in taken)
                start = next(places, -1 - len(found))
                end = start + len(name) if start >= 0 else start
                found.append(Entity(start, end, label.strip()))
    return found


# [text]X marks an entity; the letters stand above. A piece begins with its kind; a line is a sentence.
_PIECES = """
news
The ferry between [Harrowick]L and [Skerry Island]L will not run until [Thursday]D, the port authority said on [Monday evening]D.
A crack in the hull was found by a diver, [Petra Lindqvist]P, during a routine inspection.
[Northsound Lines]O has hired a smaller boat, which can take foot passengers but no cars.
Farmers on the island fear that they will have to pour away their milk.
The last time the crossing was closed for so long was in [February 2009]D.

news
[Ovidiu Brancu]P has won the marathon of [Castelvero]L for the third year in a row.
The runner from [Cluj]L needed two hours, nine minutes and four seconds on a wet course.
Second was [Amina Warsame]P, who had trained with [Riverside Athletics Club]O since [March]D.
She said that she would come back in [2027]D, and that she would win.
Twelve thousand people took part, more than ever before.

news
Teachers in [Marlow County]L will vote on a strike on [12 May]D.
Their union, the [Association of Rural Teachers]O, wants smaller classes and a rise of six per cent.
"We have waited for two years," said its chairwoman, [Delphine Achterberg]P.
The council replied that there was no money left.
Parents have been asked to keep children at home on that day if they can.

news
A painting that had hung in a school corridor for decades may be the work of [Ilse van Doorn]P.
The caretaker of [St Brannock's School]O noticed the signature while he was changing a bulb.
Experts from the [Hallam Museum]O want to examine the canvas before [the end of June]D.
Van Doorn lived in [Delft]L and died in [1911]D.
If it is genuine, the picture will be sold to pay for a new roof.

news
Shares of [Kestrel Semiconductors]O fell by eleven per cent on [Friday]D.
The company, based in [Eindmoor]L, had warned that orders from [Japan]L were weaker than expected.
Its director, [Hugo Sandoval]P, spoke of a difficult quarter.
Analysts at [Bright & Mercer]O lowered their forecast for the whole year.
Nobody will lose a job, according to a letter to the staff.

news
Heavy rain has flooded the old town of [Pontelimo]L for the second time since [Christmas]D.
Firefighters rescued a family of five from the roof of a bakery.
The mayor, [Giancarlo Pes]P, asked the government in [Rome]L for help.
Volunteers of the [Red Lantern Society]O are handing out blankets in the gymnasium.
More rain is forecast for [Sunday]D.

news
The library of [Oakhaven]L reopens on [3 September]D after a year of building work.
Readers will find twice as many desks, and a room in which they may talk.
The architect, [Nkechi Obi]P, kept the old staircase because the children had asked her to.
Half of the money came from the [Tolland Foundation]O.
[Ruth Calloway]P, who has borrowed books there since [1952]D, cut the ribbon.

news
Two climbers who had been missing on [Mount Serrano]L were found alive on [Tuesday morning]D.
[Jonas Weidel]P and his sister had spent two nights in a snow hole.
A helicopter of [Alpine Rescue]O flew them to the hospital in [Bregen]L.
Neither of them was badly hurt.
They had told nobody where they were going.

news
From [January]D the tram in [Velmoor]L will be free for everybody under eighteen.
The city hopes that fewer parents will drive their children to school.
A trial in [Aske]L had raised the number of young passengers by a third.
[Metroline]O, which runs the trams, will be paid for the lost tickets.
Councillor [Ines Bauduin]P called the plan expensive but right.

news
Scientists at the [University of Tarn]O have taught a robot to fold shirts.
It needs four minutes for each, and tears one in fifty.
"My grandmother would not be impressed," said [Kofi Mensah-Lund]P, who leads the project.
The work was presented in [Lisbon]L on [14 October]D.
A laundry has already asked for a price.

encyclopaedia
[Lake Ormund]L is the largest freshwater lake in the north of [Varland]L.
It was formed at the end of the last ice age and is up to ninety metres deep.
The first map of it was drawn by the surveyor [Matthias Hjort]P in [1764]D.
Since [1988]D its eastern shore has been a nature reserve, looked after by the [Varland Bird Trust]O.
Boats with engines are not allowed.

encyclopaedia
[Agnes Tremlett]P was an English botanist who described more than two hundred mosses.
She was born in [Truro]L on [9 April 1871]D, the daughter of a clockmaker.
As a woman she could not become a member of the [Linnean Society]O until [1904]D.
Her herbarium is kept in [Kew]L.
A crater on the moon is named after her.

encyclopaedia
The bell foundry of [Gessner & Sons]O existed from [1692 to 1931]D.
It stood in [Hallstadt]L, on the site of what is now the railway station.
Its best-known bell, cast by [Johann Gessner]P the Younger, weighs more than nine tonnes.
Most of the firm's papers were lost in a fire.
The moulds that survived are on display in the town hall.

encyclopaedia
[Port Amaryl]L is a town on the west coast of the island of [Teneda]L.
Sailors from [Genoa]L founded it in [the fourteenth century]D as a place to take on water.
In [1811]D an earthquake destroyed all but three of its houses.
The poet [Leonor Quiroga]P spent her last years there.
Today it lives on fishing, salt and a few thousand visitors a year.

encyclopaedia
The reed pipe is played from the side and has no keys.
Instruments of this kind were found in graves near [Samarra]L.
The earliest written description is that of [Abu Yusuf al-Karim]P, who died in [873]D.
In the [1960s]D the [Baghdad Conservatory]O began to teach it again.
It is tuned by warming the reed in the hand.

encyclopaedia
[Tobias Ekdahl]P (born [1948]D) is a Swedish chess composer.
He published his first problem at the age of eleven, in a newspaper in [Lund]L.
From [1979]D he was for twenty years the editor of a magazine of the [Nordic Chess Union]O.
His studies often end in stalemate.
He has never played in a tournament.

encyclopaedia
The [Brennan Canal]L connects the river [Isk]L with the sea.
Work began in [1837]D under the engineer [Francis Oduya-Hale]P and took nine years.
It was paid for by the [Eastern Coal Company]O, which charged a penny for each barrel.
Railways made it unprofitable within a generation.
It was filled in, except for a mile near [Thornby]L, in [1958]D.

encyclopaedia
The blue-eared vole is a small rodent of high meadows.
It lives above two thousand metres in [the Pyrenees]L and in parts of [Andorra]L.
[Élodie Marchetti]P described it in [1926]D from a single skull.
Its tunnels may be forty metres long.
The [World Conservation Union]O lists it as threatened.

encyclopaedia
[Caldera Radio]O was a pirate station that broadcast from a ship off [Madeira]L.
It went on the air on [1 August 1966]D with a song about the weather.
Its most popular voice was that of [Duarte Pimentel]P, a former postman.
The ship ran aground in a storm in [the winter of 1971]D.
Recordings of its programmes are rare.

encyclopaedia
The treaty of [Arlen]L ended the war between the two duchies.
It was signed on [21 November 1583]D in a barn, because the castle had burnt down.
For the south the duke's brother [Casimir]P put his name to it.
The river became the border, and the mills on it were shared.
A copy is kept by the [State Archive of Lower Varland]O.

letter
Dear [Hannah]P,
thank you for the jam, which arrived in one piece on [Saturday]D.
We are back from [Cornwall]L, brown as nuts and rather poor.
[Tom]P has an interview at the [Post Office]O and cannot sleep.
Do come and see us before [Easter]D.

letter
Dear Mr [Adeyemi]P,
I am writing about the boiler that your firm fitted in [November]D.
It has stopped again, and my mother, who is eighty-six, is sitting in her coat.
When I called [Warmhome Services]O, I was told that nobody could come to [Little Foxley]L this week.
Please let me know by [Wednesday]D what you intend to do.

letter
My dear [Lucien]P,
the train was late, of course, and I saw nothing of [Lyon]L but a platform.
[Madame Roche]P sends you her love, and a recipe that I cannot read.
They have made me secretary of the [Garden Society]O, because I was out of the room.
I shall be home on [the 19th]D.

letter
Hi [Priya]P,
quick question: are you still at [Delta Logistics]O, or was that over in [spring]D?
A friend of mine, [Marek]P, is moving to [Rotterdam]L and is looking for work.
He can drive anything, and he is never late.
I would not ask if I did not think you would like him.

letter
To the editor:
your article of [5 March]D says that nobody in [Wexcombe]L wants the new road.
I do, and so does everybody in my street.
[Colin Draper]P, whom you quote, has not lived here since [2015]D.
Perhaps the [Wexcombe Courier]O could ask those of us who breathe the fumes.

letter
Dear Granny,
we went to the zoo in [Dresden]L and the elephant took [Paul]P's hat.
In [July]D I am going to camp with the [Scouts]O.
I can swim now, but only when nobody looks.
Please write back soon, love from [Mila]P.

letter
Dear Dr [Osterholt]P,
I was sorry to hear that you will leave the [Institute of Soil Science]O at [the end of the year]D.
Without your advice I would have given up in my first winter in [Uppsala]L.
The samples that you asked for are in the post.
I hope that the garden will finally get the hours it deserves.

letter
Darling,
the hotel in [Trieste]L is exactly as it was in [1998]D, down to the moth-eaten bear.
[Signora Cossutta]P asked after you, and after your knee.
I gave the talk at [Banca Adriatica]O to eleven people, four of whom were asleep.
Tomorrow there will be wind, they say.

letter
Dear committee,
I should like to apply for a place at your summer school in [Ghent]L.
Since [2023]D I have worked as a translator for [Halfmoon Press]O.
My teacher, [Annelies Vermeer]P, has kindly agreed to write to you.
I can arrive on any day after [8 July]D.

letter
Dear [Samuel]P,
the roof is done, and the bill is worse than the rain was.
[Uncle Ferdie]P came over from [Galway]L with his ladder and did the gutters for nothing.
The [credit union]O will wait until [August]D, they were very decent about it.
Do not send money; send news.
"""
