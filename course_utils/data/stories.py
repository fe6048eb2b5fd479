"""Stories of people who move about and carry things, each with a question whose answer follows from them.

They are modelled on tasks 1, 2 and 3 of bAbI: Weston et al. 2015, "Towards AI-complete question
answering: a set of prerequisite toy tasks". A small world is simulated and every sentence reports what happened in
it, so that the answer, its place in the text and the sentences it follows from are known, not searched for:

1. *Where is Mary?* One supporting fact: the last move of Mary.
2. *Where is the football?* Two: who took (or left) it, and where that person went (or was) then.
3. *Where was the football before the kitchen?* Three: the same person's two moves, and who took it.

Names of people, places and objects come in two sets with no word in common, to test on names that never occur in training.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from course_utils.data.questions import QuestionExample, Span


@dataclass(frozen=True)
class Names:
    """The names used in stories: at least four people, six places and three objects.

    Places and objects are written without their article.
    """

    people: tuple[str, ...]
    places: tuple[str, ...]
    objects: tuple[str, ...]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


SEEN_NAMES = Names(
    people=_listed(
        "Mary, John, Sandra, Daniel, Julie, Fred, Bill, Jeff, Emily, Jason, Winona, Sumit, Yann, Antoine, Brian, "
        "Lily, Greg, Bernhard, Julius, Amara, Kenji, Fatima, Pablo, Ingrid, Ravi, Chloe, Omar, Mei, Tomas, Aisha, "
        "Boris, Clara, Diego, Elena, Farid, Greta, Hugo, Irene, Jamal, Karin, Liam, Maya, Nadia, Oscar, Petra, "
        "Quentin, Rosa, Stefan, Tara, Umar, Vera, Walter, Ximena, Yusuf, Zoe, Anna, Victor, Ruth, Simon, Helen, "
        "George, Alice, Peter, Laura"
    ),
    places=_listed(
        "kitchen, garden, office, bathroom, bedroom, hallway, cellar, attic, garage, library, school, park, cinema, "
        "museum, bakery, hospital, airport, stable, harbour, forest, market, theatre, restaurant, post office, "
        "train station, swimming pool, town hall, living room, bus stop, bookshop, playground, factory, castle, "
        "beach, bridge, pharmacy, orchard, laundry, police station, football stadium"
    ),
    objects=_listed(
        "football, milk, apple, newspaper, umbrella, suitcase, lamp, guitar, camera, hammer, blanket, basket, "
        "letter, coat, ticket, watch, bottle, torch, map, drum, pillow, wallet, scarf, box"
    ),
)
"""For training, and for testing on new stories with known names."""

UNSEEN_NAMES = Names(
    people=_listed(
        "Wolfgang, Priya, Oluwaseun, Matilda, Kwame, Beatriz, Hiroshi, Saoirse, Leila, Dmitri, Ngozi, Ulrich, Camille, "
        "Tariq, Astrid, Rafael, Bronwyn, Mikhail, Yasmin, Gideon, Lucinda, Arjun, Freya, Thaddeus, Noor, Edith, "
        "Cosimo, Halima, Ezra, Sunniva, Marlon, Philippa"
    ),
    places=_listed(
        "monastery, gymnasium, courtyard, balcony, lighthouse, vineyard, workshop, greenhouse, pantry, embassy, "
        "ice rink, concert house, shopping centre, ferry terminal, chapel, zoo"
    ),
    objects=_listed(
        "violin, teapot, candle, ladder, necklace, telescope, sandwich, key, notebook, cushion, helmet, parcel"
    ),
)
"""For testing only."""

MOVES = ("moved", "went", "travelled", "journeyed", "walked", "ran", "hurried", "strolled")
TAKES = ("took", "picked up", "grabbed", "got")
DROPS = ("dropped", "put down", "left", "discarded")
THERE = ("", " there")

SENTENCES = {1: (5, 8), 2: (6, 10), 3: (8, 12)}
"""For each task: the usual minimum and maximum number of sentences in a story."""

_FEWEST_SENTENCES = {1: 1, 2: 2, 3: 3}


def make_stories(
    task: int,
    count: int,
    seed: int,
    sentences: tuple[int, int] | None = None,
    names: Names = SEEN_NAMES,
) -> list[QuestionExample]:
    """Stories with one question each; the same arguments give the same stories, and a longer list begins like a shorter one.

    Args:
        task: 1, 2 or 3, the number of supporting facts.
        count: how many.
        seed: another seed, other stories.
        sentences: minimum and maximum length of a story; :data:`SENTENCES` has the usual ones.
        names: the names of people, places and objects.

    Returns:
        One answer each: the mention of the place in the sentence that says so. A story is its own document.

    Raises:
        ValueError: there is no such task, or the stories are too short for its facts.
    """
    if task not in SENTENCES:
        raise ValueError(f"There is no task {task!r}; the tasks are 1, 2 and 3.")
    fewest, most = sentences or SENTENCES[task]
    if not _FEWEST_SENTENCES[task] <= fewest <= most:
        raise ValueError(
            f"Stories of {fewest} to {most} sentences are not possible: task {task} needs at least "
            f"{_FEWEST_SENTENCES[task]}, and the minimum comes before the maximum."
        )
    return [_story(task, f"{seed}-{index}", (fewest, most), names) for index in range(count)]


def sentence_spans(story: QuestionExample) -> tuple[Span, ...]:
    """Where each sentence of a story is in its context, full stop included; ``story.support`` counts these."""
    return tuple(Span(*found.span()) for found in re.finditer(r"[^ .][^.]*\.", story.context))


def _story(task: int, number: str, sentences: tuple[int, int], names: Names) -> QuestionExample:
    drawn = random.Random(f"{task}/{number}")
    length = drawn.randint(*sentences)
    while True:  # until a story has something to ask about: nearly every longer one has
        world = _World(drawn, names, with_objects=task > 1)
        for _ in range(length):
            world.step()
        facts = world.facts(task)
        if facts:
            fact = drawn.choice(facts)
            return QuestionExample(
                context=" ".join(world.sentences),
                question=fact.question,
                answers=(fact.answer,),
                id=f"task{task}-{number}",
                document=f"task{task}-{number}",
                support=tuple(sorted(fact.support)),
            )


class _Move(NamedTuple):
    """Somebody went to a place: in which sentence, and where in the story the place is named."""

    sentence: int
    place: str
    span: Span


class _Fact(NamedTuple):
    """A possible question, where the story has the answer, and the sentences from which it follows."""

    question: str
    answer: Span
    support: tuple[int, ...]


@dataclass
class _Thing:
    """An object: who has it, where it is, and where it was carried."""

    name: str
    holder: str | None = None
    place: _Move | None = None  # the move of whoever has it, or left it there
    handled: int = 0  # the sentence that says who took it or left it
    trips: list[tuple[_Move, _Move, int]] = field(default_factory=list)  # from, to, sentence of the taking

    def whereabouts(self) -> list[_Fact]:
        """Where it is, if anybody has had it yet."""
        if not self.place:
            return []
        return [_Fact(f"Where is the {self.name}?", self.place.span, (self.handled, self.place.sentence))]

    def earlier_whereabouts(self) -> list[_Fact]:
        """Where it was before each place at which it was only once; "before" would be ambiguous for the others."""
        visited = [trip[0].place for trip in self.trips[:1]] + [trip[1].place for trip in self.trips]
        return [
            _Fact(
                f"Where was the {self.name} before the {arrival.place}?",
                start.span,
                (start.sentence, taken, arrival.sentence),
            )
            for start, arrival, taken in self.trips
            if visited.count(arrival.place) == 1
        ]


class _World:
    """People who go from place to place, and objects that they take along.

    Nobody does anything before a sentence has said where they are, and nobody takes anything that is not there.
    """

    def __init__(self, drawn: random.Random, names: Names, with_objects: bool) -> None:
        self.drawn = drawn
        self.cast = drawn.sample(names.people, drawn.randint(3, 4))
        self.places = drawn.sample(names.places, drawn.randint(4, 6))
        things = drawn.sample(names.objects, drawn.randint(1, 3)) if with_objects else []
        self.things = [_Thing(name) for name in things]
        self.here: dict[str, _Move] = {}  # where each person is
        self.sentences: list[str] = []
        self.length = 0  # of the story so far, in characters

    def step(self) -> None:
        """One more thing happens, and a sentence says so."""
        person = self.drawn.choice(self.cast)
        held = [thing for thing in self.things if thing.holder == person]
        near = [thing for thing in self.things if self._can_take(person, thing)]
        if near and self.drawn.random() < 0.5:
            self._take(person, self.drawn.choice(near))
        elif held and self.drawn.random() < 0.25:
            self._drop(person, self.drawn.choice(held))
        else:
            self._move(person, held)

    def facts(self, task: int) -> list[_Fact]:
        """Everything that can be asked."""
        if task == 1:
            return [
                _Fact(f"Where is {person}?", move.span, (move.sentence,))
                for person, move in self.here.items()
            ]
        if task == 2:
            return [fact for thing in self.things for fact in thing.whereabouts()]
        return [fact for thing in self.things for fact in thing.earlier_whereabouts()]

    def _can_take(self, person: str, thing: _Thing) -> bool:
        if thing.holder or person not in self.here:
            return False
        # An object that nobody has had yet may be anywhere.
        return not thing.place or thing.place.place == self.here[person].place

    def _move(self, person: str, held: list[_Thing]) -> None:
        last = self.here.get(person)
        place = self.drawn.choice([place for place in self.places if not last or place != last.place])
        end = self._say(f"{person} {self.drawn.choice(MOVES)} to the {place}") - 1  # without the full stop
        move = _Move(len(self.sentences) - 1, place, Span(end - len(place), end))
        for thing in held:
            thing.trips.append((thing.place, move, thing.handled))
            thing.place = move
        self.here[person] = move

    def _take(self, person: str, thing: _Thing) -> None:
        self._say(f"{person} {self.drawn.choice(TAKES)} the {thing.name}{self.drawn.choice(THERE)}")
        thing.holder, thing.place, thing.handled = person, self.here[person], len(self.sentences) - 1

    def _drop(self, person: str, thing: _Thing) -> None:
        self._say(f"{person} {self.drawn.choice(DROPS)} the {thing.name}{self.drawn.choice(THERE)}")
        thing.holder, thing.handled = None, len(self.sentences) - 1

    def _say(self, sentence: str) -> int:
        """Adds a sentence and its full stop; returns the length of the story."""
        self.sentences.append(f"{sentence}.")
        self.length += len(self.sentences[-1]) + (len(self.sentences) > 1)  # a space between two sentences
        return self.length
