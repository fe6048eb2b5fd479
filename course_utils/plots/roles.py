"""The visual language of attention: one colour and one shape each for queries, keys, values, weights and outputs.

Widgets, drawings and Matplotlib figures all take them from here. The colours follow Okabe and Ito (2008, "Color universal design"), so colour-blind
readers can tell them apart. Each has a contrast of at least 3 to 1 on white and on JupyterLab's dark ground. Nothing is said by colour alone: every
role also has its own
shape and letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from course_utils.plots.drawing import INK

if TYPE_CHECKING:
    from matplotlib.colors import Colormap


class Role(NamedTuple):
    """How one role of attention looks everywhere."""

    name: str
    letter: str
    colour: str
    marker: str
    """Matplotlib's name of the shape."""
    path: str
    """The same shape as an SVG path, in a square from -1 to 1."""


QUERY = Role("query", "q", "#0072b2", "o", "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z")
KEY = Role("key", "k", "#d55e00", "^", "M0 -1L1 .9H-1Z")
VALUE = Role("value", "v", "#009e73", "s", "M-.9 -.9H.9V.9H-.9Z")
WEIGHT = Role("weight", "α", "#b8629a", "_", "M-1 -.45H1V.45H-1Z")
OUTPUT = Role("output", "z", "#009e73", "D", "M0 -1.1L1.1 0L0 1.1L-1.1 0Z")
"""An output is made of values, so it has their colour."""

ROLES = {role.name: role for role in (QUERY, KEY, VALUE, WEIGHT, OUTPUT)}


def shape(role: Role, x: float, y: float, size: float = 6) -> str:
    """The shape of a role in a drawing, its middle at (x, y)."""
    return f'<path d="{role.path}" transform="translate({x} {y}) scale({size})" style="fill:{role.colour}"/>'


def bar(role: Role, x: float, y: float, width: float, height: float = 12) -> str:
    """A bar in a role's colour in a drawing, its vertical middle at ``y``; a negative width goes to the left."""
    left = x + min(width, 0)
    return (
        f'<rect x="{left:.1f}" y="{y - height / 2:.1f}" width="{abs(width):.1f}" height="{height}" rx="2" '
        f'style="fill:{role.colour}"/>'
    )


def tint(role: Role, strength: float) -> str:
    """A role's colour for the ground of a table's cell: 0 is transparent, 1 the full colour."""
    red, green, blue = (int(role.colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{strength:.2f})"


def shades(role: Role) -> Colormap:
    """A role's colour over the ground of a Matplotlib figure, whichever theme that has: faint for 0, strong for 1.

    Text on it has the colour of all text ("black"), which the dark theme exchanges.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    rgb = to_rgb(role.colour)
    return LinearSegmentedColormap.from_list(role.name, [(*rgb, 0.05), (*rgb, 0.68)])


def legend(x: float, y: float, roles: tuple[Role, ...] = tuple(ROLES.values())) -> list[str]:
    """Shapes with their names in one line of a drawing."""
    parts = []
    for number, role in enumerate(roles):
        parts.append(shape(role, x + 90 * number, y))
        parts.append(
            f'<text x="{x + 90 * number + 12}" y="{y}" dominant-baseline="central" '
            f'style="fill:{INK};font:13px system-ui,sans-serif">{role.name}</text>'
        )
    return parts
