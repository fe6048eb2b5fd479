// A page of the site as a widget: the files of the page follow below this one. It has a root of its own, so that its style and JupyterLab's leave
// each other alone, and no address: a notebook's belongs to JupyterLab.

const HERE = `:host { --ground: var(--jp-layout-color0, #fff); --raised: var(--jp-layout-color1, #fff); --ink: var(--jp-content-font-color1, #1b1b1b);
  --quiet: var(--jp-content-font-color2, #51606e); --edge: var(--jp-border-color1, #8a8a8a); --link: var(--jp-brand-color1, #155f82); --strong: var(--link);
  --warn: color-mix(in srgb, var(--ink) 60%, #d9822b); --role: #b8629a; --tint: rgba(184, 98, 154, 0.35); }
  h2 { font-size: 1rem; margin: 1.2rem 0 0.3rem; } input[type="text"], textarea { font-size: 1rem; }`;

let begin, onhashchange;
function whenInAPage(given) { begin = given; }
function keepInAddress() {}
function fromAddress() {}
function shareButton() {}

function draw(place, model) {
  const root = place.attachShadow({ mode: "open" }), body = html("div"), { told, about, numbers } = model.get("data");
  root.append(html("style", {}, STYLE + HERE), html("p", { class: "quiet" }, told), body);
  // From outside, what is typed into a field looks as if it came from the place itself, and the notebook would take Enter.
  root.addEventListener("keydown", (event) => { if (event.target.matches("input, textarea") && event.key !== "Escape") event.stopPropagation(); });
  begin(body, about, Uint8Array.from(atob(numbers), (letter) => letter.charCodeAt(0)));
}
