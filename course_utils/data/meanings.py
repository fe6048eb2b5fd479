"""Sentences for asking an encoder what it takes to mean the same, written for this course.

``PARAPHRASES`` can be found by their topic alone. ``SENSES`` cannot: there a word has two meanings, and only the words
around it tell which one is meant. No sentence was chosen by what an encoder says about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

PARAPHRASES: tuple[tuple[str, str], ...] = (
    ("The doctor arrived late at the hospital.", "The physician reached the clinic after the agreed time."),
    ("A man is playing a guitar on stage.", "A musician performs with his guitar before an audience."),
    ("The film was boring and far too long.", "I nearly fell asleep during this endless movie."),
    ("She bought a new car last week.", "A few days ago she purchased an automobile."),
    (
        "Heavy rain flooded the streets of the city.",
        "After the storm, the roads of the town were under water.",
    ),
    ("The cat is sleeping on the sofa.", "A kitten takes a nap on the couch."),
    ("He lost his job when the factory closed.", "The plant was shut down, and he became unemployed."),
    ("The bank raised its interest rates.", "Borrowing money from the lender has become more expensive."),
    (
        "Students must hand in the essay by Friday.",
        "The deadline for the pupils' papers is the end of the week.",
    ),
    (
        "The recipe needs two eggs and some flour.",
        "To cook this dish you need a little flour and a couple of eggs.",
    ),
    ("Our team won the match in the last minute.", "A late goal gave us victory in the game."),
    ("The scientist discovered a new planet.", "An astronomer found an unknown world around a star."),
)
"""Pairs that say the same in different words, each about a topic of its own."""

SENSES: tuple[tuple[str, str, str, str], ...] = (
    (
        "bank",
        "They walked along the bank until sunset.",
        "They strolled beside the river until the evening.",
        "They walked to the bank to open an account.",
    ),
    (
        "bat",
        "The bat flew out of the cave.",
        "A winged animal left its cavern.",
        "The bat broke when he hit the ball.",
    ),
    (
        "light",
        "She was wearing a light coat.",
        "Her jacket was thin.",
        "She switched on the light in the hall.",
    ),
    (
        "runs",
        "He runs a small company.",
        "He is the manager of a little firm.",
        "He runs a mile every morning.",
    ),
    (
        "match",
        "The match was won in the last minute.",
        "Our team scored late and took the game.",
        "He lit the candle with a match.",
    ),
    (
        "spring",
        "The spring is broken, so the clock has stopped.",
        "A metal coil snapped inside the watch.",
        "In spring the days get longer.",
    ),
    (
        "crane",
        "The crane lifted the steel beams.",
        "A machine on the building site raised the heavy metal.",
        "The crane caught a fish in the lake.",
    ),
    (
        "letter",
        "I read the letter twice.",
        "I went through what he had written to me two times.",
        "The word begins with a capital letter.",
    ),
    (
        "bass",
        "He plays the bass in a band.",
        "He makes music with low strings.",
        "He caught a bass in the lake.",
    ),
    (
        "plant",
        "The plant makes engines for trucks.",
        "Motors are built in this factory.",
        "The plant needs water and sun.",
    ),
    (
        "suit",
        "The suit fits him well.",
        "His jacket and trousers are the right size.",
        "The suit against him was decided in court.",
    ),
    (
        "line",
        "There was a long line at the ticket office.",
        "Many people were waiting to pay for a seat.",
        "He drew a long line with a pencil.",
    ),
    (
        "seal",
        "The seal swam under the ice.",
        "The animal dived in the cold sea.",
        "The seal on the envelope was broken.",
    ),
    (
        "nail",
        "The nail went through the board.",
        "The metal pin pierced the wood.",
        "She painted the nail of her thumb red.",
    ),
    ("flat", "Her note was flat.", "She sang slightly too low.", "Her flat has two bedrooms."),
    (
        "palm",
        "The palm gave some shade on the beach.",
        "A tree by the sea kept the sun off.",
        "He held a coin in his palm.",
    ),
    (
        "mouse",
        "The mouse does not work, so I cannot click.",
        "My computer's pointing device is broken.",
        "The mouse ate the cheese in the kitchen.",
    ),
    ("cold", "He had a bad cold.", "He was ill and coughing.", "It was a cold night."),
    (
        "jam",
        "The jam on the road lasted for hours.",
        "The cars did not move all afternoon.",
        "The jam on the bread was sweet.",
    ),
    (
        "sentence",
        "The judge gave him a long sentence.",
        "He has to stay in prison for many years.",
        "The sentence has a verb and two nouns.",
    ),
    ("fan", "The fan kept the room cool.", "A device blew fresh air at us.", "The fan cheered for his team."),
    (
        "bear",
        "She could not bear the noise.",
        "The sound was too much for her.",
        "The bear slept in the forest.",
    ),
    (
        "port",
        "The port was full of ships.",
        "Many vessels lay in the harbour.",
        "They drank port after dinner.",
    ),
    (
        "address",
        "He will address the meeting tomorrow.",
        "He is going to give a speech to the assembly.",
        "His address is on the envelope.",
    ),
    (
        "trunk",
        "The trunk was full of suitcases.",
        "There was a lot of luggage in the back of the car.",
        "The elephant lifted its trunk.",
    ),
    (
        "bark",
        "We heard a bark behind the door.",
        "A dog was making a noise in the next room.",
        "The bark of the old oak is rough.",
    ),
    (
        "book",
        "Please book a room for two nights.",
        "Reserve us a place to sleep.",
        "The book has two hundred pages.",
    ),
    (
        "train",
        "They train three times a week.",
        "The athletes practise often.",
        "The train was three hours late.",
    ),
    (
        "ring",
        "I will ring you tonight.",
        "You will get a phone call from me this evening.",
        "He gave her a gold ring.",
    ),
    (
        "park",
        "You cannot park in this street.",
        "Cars must not be left on this road.",
        "The children play in the park.",
    ),
    ("watch", "His watch is slow.", "The clock on his wrist shows the wrong time.", "They watch the birds."),
    (
        "date",
        "The date is a sweet fruit.",
        "What grows on this palm tastes like sugar.",
        "The date of the meeting has changed.",
    ),
    (
        "rock",
        "He listens to rock all day.",
        "The music of electric guitars is always on at his place.",
        "He sat on a rock by the sea.",
    ),
    (
        "sink",
        "The dishes are in the sink.",
        "Dirty plates are waiting in the basin.",
        "The ship began to sink.",
    ),
    (
        "kind",
        "The nurse was very kind.",
        "The woman at the hospital treated us gently.",
        "What kind of nurse is she?",
    ),
    ("pen", "The sheep are in the pen.", "The animals stand behind a fence.", "The ink in the pen is blue."),
    (
        "fair",
        "There were rides and music at the fair.",
        "We had fun at the carnival.",
        "The decision of the referee was not fair.",
    ),
    (
        "present",
        "The present was wrapped in red paper.",
        "She got a gift in a bright box.",
        "He was not present at the meeting.",
    ),
    (
        "leaves",
        "The leaves fall in autumn.",
        "In October the trees lose what is green on them.",
        "She leaves the house at eight.",
    ),
    (
        "right",
        "You have the right to remain silent.",
        "Nobody may force you to speak.",
        "Turn right at the next corner.",
    ),
)
"""A word with two meanings; a sentence with one of them; the same said without it; a sentence with the other meaning."""


@dataclass(frozen=True)
class Judged:
    """What an encoder takes to mean the same.

    Attributes:
        similarities: (12, 12) cosines, first sentences of PARAPHRASES by second ones; pairs are on the diagonal.
        found: share of the 24 sentences of PARAPHRASES that are most like their own partner.
        senses: share of SENSES whose sentence is more like the one with its meaning than like the one with its word.
        margin: by how much it is, on average: cosine with the same meaning minus cosine with the same word.
    """

    similarities: np.ndarray
    found: float
    senses: float
    margin: float


def judge(sentence_vectors: Callable[[Sequence[str]], np.ndarray]) -> Judged:
    """Asks an encoder about all sentences of this module.

    Args:
        sentence_vectors: sentences -> their vectors (n, d_model), of any length other than 0.
    """
    firsts, seconds = zip(*PARAPHRASES, strict=True)
    _, sentences, same, other = zip(*SENSES, strict=True)
    groups = firsts, seconds, sentences, same, other
    vectors = np.asarray(sentence_vectors([sentence for group in groups for sentence in group]))
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    one, two, said, meant, shared = np.split(vectors, np.cumsum([len(group) for group in groups])[:-1])
    similarities, places = one @ two.T, np.arange(len(one))
    found = np.concatenate([similarities.argmax(axis=1) == places, similarities.argmax(axis=0) == places])
    lead = (said * meant).sum(axis=1) - (said * shared).sum(axis=1)
    return Judged(similarities, float(found.mean()), float((lead > 0).mean()), float(lead.mean()))
