"""Forty sentences with pairs of words that belong together, written and marked by hand for lab 03.

They test whether an attention head finds a partner by grammar or by meaning: a head is chosen on ``TO_CHOOSE`` and tried on
``TO_TEST``. No sentence was chosen or changed because of what an encoder does with it. What the two twenties share is written
down in docs/data.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Marked:
    """A sentence and three pairs in it: the word that looks, and the word that it should look at.

    Each marked word stands only once in its sentence and is a single token of the encoder.

    Attributes:
        determiner: a determiner and its noun.
        verb: a verb and the noun that is its subject.
        pronoun: a pronoun and the name it stands for.
        other: the other name of the sentence, which the pronoun cannot stand for because of its gender.
    """

    sentence: str
    determiner: tuple[str, str]
    verb: tuple[str, str]
    pronoun: tuple[str, str]
    other: str


def places(tokens: Sequence[str], *words: str) -> list[int]:
    """Where marked words stand among the tokens of their sentence."""
    return [list(tokens).index(word.lower()) for word in words]


def _marked(lines: str) -> tuple[Marked, ...]:
    """Lines of a sentence, its three pairs and its other name, with | between."""
    parts = ([part.strip() for part in line.split("|")] for line in lines.strip().splitlines())
    return tuple(
        Marked(sentence, *(tuple(pair.split()) for pair in pairs), other) for sentence, *pairs, other in parts
    )


TO_CHOOSE = _marked("""
Mary told Peter that the keys to an old cabinet were missing when she came home. | an cabinet | were keys | she Mary | Peter
Paul met Anna near the station where a dog barked at her. | a dog | barked dog | her Anna | Paul
Because John had called, Susan knew that every train to the city ran late, and he was glad. | every train | ran train | he John | Susan
Emma showed Frank the pictures that this young painter from Spain sold him last year. | this painter | sold painter | him Frank | Emma
Alice and Robert saw that the boats in a small dark harbour had sails, and she took photographs. | a harbour | had boats | she Alice | Robert
Tom asked Kate whether the woman in a red coat lived near her. | a coat | lived woman | her Kate | Tom
Laura gave George no answer, but the letter from the bank explained everything to him. | no answer | explained letter | him George | Laura
Henry said to Lucy that some apples looked ripe, and then he climbed up. | some apples | looked apples | he Henry | Lucy
After Jane left, David heard how the wind from those cold high mountains shook her door. | those mountains | shook wind | her Jane | David
Martin wrote to Helen that the shops near an empty square close early, so she stayed away. | an square | close shops | she Helen | Martin
Sarah phoned Mark after the nurse quickly found another blue folder in his car. | another folder | found nurse | his Mark | Sarah
The father of these lazy children praised Anna, but John thought that she was too quiet. | these children | praised father | she Anna | John
Peter lent Emma a bicycle, and the bell broke before she got home. | a bicycle | broke bell | she Emma | Peter
When Robert visited Alice, the cat silently watched him with an angry face. | an face | watched cat | him Robert | Alice
Lucy believes Frank, because the story about that strange grey house scares her. | that house | scares story | her Lucy | Frank
Every student in the long narrow hall cheered when Susan beat Paul, and he smiled. | Every student | cheered student | he Paul | Susan
George and Laura know that the road along this river floods in spring, so he drives slowly. | this river | floods road | he George | Laura
Kate watched Tom while the guests from a distant village danced with him. | a village | danced guests | him Tom | Kate
Helen told David that the leaves of each plant turn yellow if she forgets the water. | each plant | turn leaves | she Helen | David
Mark told Jane that the man repaired those very old shoes for her. | those shoes | repaired man | her Jane | Mark
""")
"""Twenty sentences to choose a head on."""

TO_TEST = _marked("""
Clara asked Simon why the children in an old bus sang so loudly, but he laughed. | an bus | sang children | he Simon | Clara
Thomas thanked Julia because the cook in her kitchen never burned a meal. | a meal | burned cook | her Julia | Thomas
Diana showed Daniel that the paint on this wooden gate faded, and she bought brushes. | this gate | faded paint | she Diana | Daniel
When Michael arrived, Grace saw that a storm destroyed his garden. | a storm | destroyed storm | his Michael | Grace
Oliver and Maria hope that the judges of every small contest are fair, for she will sing. | every contest | are judges | she Maria | Oliver
Ruth warned Philip that the ice on those three deep lakes is thin, but he went skating. | those lakes | is ice | he Philip | Ruth
Sophie met William before the king entered, and an officer asked her to wait. | an officer | entered king | her Sophie | William
Adam wrote Lisa a poem, and the last words made her cry. | a poem | made words | her Lisa | Adam
While Eva slept, Richard noticed that no bird in the garden moved, and then she woke. | no bird | moved bird | she Eva | Richard
James and Nina found that the windows of another very cheap hotel leaked, so he complained. | another hotel | leaked windows | he James | Nina
Linda told Edward that these fresh eggs from the market cost little, and he bought ten. | these eggs | cost eggs | he Edward | Linda
Victor helped Irene, although some tired soldiers never trusted him. | some soldiers | trusted soldiers | him Victor | Irene
Carol thinks that the ship in this picture belongs to Arthur, because he loves the sea. | this picture | belongs ship | he Arthur | Carol
Ben plays chess with Amy whenever the lamps in that tiny dark room burn, and she wins. | that room | burn lamps | she Amy | Ben
Each visitor from abroad admired Charles, so Emily envied him. | Each visitor | admired visitor | him Charles | Emily
Before Nancy sold the farm to Joseph, a rich young farmer offered her money. | a farmer | offered farmer | her Nancy | Joseph
Ellen carried that heavy basket for Samuel, and the bread inside smelled good, she said. | that basket | smelled bread | she Ellen | Samuel
Walter danced with Rachel until the band on an open stage stopped, and she bowed. | an stage | stopped band | she Rachel | Walter
Betty paid Stephen, but the legs of every chair broke, and she was angry. | every chair | broke legs | she Betty | Stephen
Leo asked Vera whether the path through this quiet forest leads to her house. | this forest | leads path | her Vera | Leo
""")
"""Twenty other sentences, to try it on."""
