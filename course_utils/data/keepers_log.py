"""A made-up text in a style of its own, for lab 08: what the keeper of a lighthouse writes down each day.

Written for the course. Every entry begins with the wind and has no word too many: no *I*, hardly an article, short sentences, often
without a verb.
"""

from __future__ import annotations

ENTRIES = (
    "Wind NW 6, rain. Lamp lit 17.42. Two trawlers passed, heading north. Clockwork oiled. Nothing further.",
    "Wind SW 3, clear. Lamp lit 18.05. Glass cleaned. Supply boat expected, not seen. Nothing further.",
    "Wind W 8, heavy sea. Lamp lit 16.50. Spray over the gallery. Shutters closed. All in order.",
    "Wind N 5, sleet. Lamp lit 16.31. Steamer passed at noon, no signal. Coal low. Nothing further.",
    "Calm, fog. Horn from 04.10 to 11.30. Lamp lit 17.20. One bell heard, ship not seen. All in order.",
    "Wind E 2, haze. Lamp lit 19.12. Railing painted, two coats. Gulls back. Nothing further.",
    "Wind S 4, fair. Lamp lit 20.01. Supply boat arrived 10.15: oil, flour, post. Boat left 11.00. All in order.",
    "Wind SW 7, rain. Lamp lit 17.58. Leak in store room, stopped. Flour dry. Nothing further.",
    "Wind NW 9, storm. Lamp lit 16.00. Fence gone. Window on landing cracked, boarded. All in order.",
    "Wind NW 5, falling. Lamp lit 16.44. Wreckage on south rocks, no name. Reported by flag. Nothing further.",
    "Wind W 3, clear. Lamp lit 18.33. Window on landing replaced. Schooner passed, heading west. All in order.",
    "Calm, clear. Lamp lit 20.40. Lens polished. Seals on south rocks, eleven. Nothing further.",
    "Wind NE 4, snow. Lamp lit 16.12. Path cleared twice. Pump frozen, thawed. All in order.",
    "Wind SE 3, cloud. Lamp lit 19.47. Inspector came ashore 09.30, left 12.10. Found nothing wanting. Nothing further.",
    "Wind S 6, rain. Lamp lit 18.20. Rope of flagstaff broken, spliced. Barometer falling. All in order.",
    "Wind SW 10, storm. Lamp lit 15.55. No sleep. Door to gallery held. Nothing further.",
    "Wind W 6, squalls. Lamp lit 16.40. Boat adrift, empty. Made fast at landing. Reported by flag. All in order.",
    "Wind W 2, clear. Lamp lit 18.10. Boat claimed, two men from the village. Both well. Nothing further.",
    "Calm, fog. Horn from 22.00. Lamp lit 17.15. Three answers from seaward. Coal used: nine buckets. All in order.",
    "Wind N 3, fair. Lamp lit 20.22. Garden dug. Potatoes in, two rows. Nothing further.",
    "Wind NW 4, showers. Lamp lit 19.30. Rainbow at 18.00. Chimney swept. All in order.",
    "Wind E 5, cold. Lamp lit 17.01. Hen lost to a gull. Two left. Nothing further.",
    "Wind E 6, cold. Lamp lit 17.03. Supply boat turned back at the bar. Bread for four days. All in order.",
    "Wind E 4, cold. Lamp lit 17.05. Supply boat turned back again. Fish caught, six. Nothing further.",
    "Wind SE 2, mild. Lamp lit 17.08. Supply boat arrived 08.40: bread, oil, a newspaper of last week. All in order.",
    "Wind S 2, fair. Lamp lit 19.55. Letter from home. Answered. Clock four minutes slow, set. Nothing further.",
    "Wind SW 5, cloud. Lamp lit 18.41. Regatta passed, nineteen sails. One dismasted. All in order.",
    "Wind SW 4, rain. Lamp lit 18.43. Roof of shed tarred. Knee bad. Nothing further.",
    "Wind W 5, showers. Lamp lit 18.46. Knee better. Stairs swept, 142 steps. All in order.",
    "Calm, clear. Lamp lit 21.10. Moon full. Whale blown off the point at dusk. Nothing further.",
    "Wind N 7, hail. Lamp lit 16.58. Two panes of lantern broken, replaced by 17.30. Light not out. All in order.",
    "Wind N 6, hail. Lamp lit 17.00. Last spare pane used. Panes ordered. Nothing further.",
    "Wind NW 3, clear. Lamp lit 18.52. Painter of pictures on the rocks all day. Left at high water. All in order.",
    "Wind W 4, fair. Lamp lit 19.20. Battery of bell renewed. Steamer passed, answered flag. Nothing further.",
    "Wind SW 8, rain. Lamp lit 16.22. Cable to village down. Boat hauled up. All in order.",
    "Wind SW 6, rain. Lamp lit 16.25. Cable still down. Socks mended. Nothing further.",
    "Wind S 3, cloud. Lamp lit 16.28. Cable repaired by two men, 13.00. Tea given. All in order.",
    "Calm, mist. Lamp lit 17.31. Wick trimmed. A swimmer at the landing, warned. Nothing further.",
    "Wind SE 5, cloud. Lamp lit 18.15. Barrels counted: eleven of oil, two of water. All in order.",
    "Wind E 3, clear. Lamp lit 19.05. School from the village came up, thirty steps short of the top. Nothing further.",
)  # fmt: skip
"""Forty days."""

UNSEEN = (
    "Wind NW 4, rain. Lamp lit 17.36. Gallery scraped and painted. Tug passed, two barges in tow. Nothing further.",
    "Wind S 5, cloud. Lamp lit 18.49. Well cleaned out. Bucket lost, recovered. All in order.",
    "Calm, fog. Horn from 06.20 to 09.00. Lamp lit 16.39. Supply boat late: oil, lamp glass, onions. Nothing further.",
    "Wind W 9, storm. Lamp lit 15.58. Mail flag torn off. Sea over the landing. All in order.",
    "Wind NE 2, clear. Lamp lit 20.15. Geese overhead all morning, heading south. Nothing further.",
    "Wind SW 6, squalls. Lamp lit 17.12. Stove smokes. Fishing boat in the lee until 22.00. All in order.",
)  # fmt: skip
"""Six more, to measure on."""
