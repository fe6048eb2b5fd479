// What all widgets of the course share; a widget's own module follows below it and defines draw(place, model, roles).
// Nothing here asks another machine for anything.

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element: svg("rect", {x: 1, class: "row"}, child, "text"). */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A new HTML element; an attribute onclick, oninput, ... takes a function. */
function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element[name] = value;
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** The shape of a role (query, key, value, weight, output) around (x, y). */
function shape(role, x, y, size = 6) {
  return svg("path", { d: role.path, transform: `translate(${x} ${y}) scale(${size})`, fill: role.colour });
}

/** A line of text; options are SVG attributes, such as "text-anchor" and class "quiet". */
function text(x, y, words, options = {}) {
  return svg("text", { x, y, ...options }, String(words));
}

/** Gives a picture its size: in a narrow page it shrinks, but never so far that its text is too small to read. */
function sized(picture, width, height) {
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.style.minWidth = `${Math.round(0.66 * width)}px`;
}

/** A box that scrolls sideways where a picture (or what `kind` says) no longer fits; only then it is reached with Tab, so that arrow keys scroll it. */
function wide(content, kind = "picture") {
  const box = html("div", { class: "wide" }, content), scrolls = { tabindex: "0", role: "group", "aria-label": `${kind}, scrolls sideways` };
  new ResizeObserver(() => {
    for (const [name, value] of Object.entries(scrolls)) {
      if (box.scrollWidth > box.clientWidth) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }).observe(box);
  return box;
}

/** A horizontal bar that starts at x; negative widths go to the left. */
function bar(role, x, y, width, height = 14) {
  const left = width < 0 ? x + width : x;
  return svg("rect", { x: left, y: y - height / 2, width: Math.abs(width), height, rx: 2, fill: role.colour });
}

/** A vector as a strip of cells with its numbers. `strength` (0 to 1) of an entry tints its cell in the role's colour. */
function strip(role, x, y, entries, { cell = 44, height = 24, digits = 2, strength } = {}) {
  const most = Math.max(1e-9, ...entries.map(Math.abs));
  const group = svg("g");
  entries.forEach((entry, place) => {
    const tint = strength ? strength(entry, place) : Math.abs(entry) / most;
    group.append(
      svg("rect", {
        x: x + place * cell, y: y - height / 2, width: cell - 2, height, rx: 3, fill: role.colour,
        "fill-opacity": 0.06 + 0.34 * Math.min(1, tint), stroke: role.colour,
      }),
      text(x + place * cell + cell / 2 - 1, y, entry.toFixed(digits), { "text-anchor": "middle", style: cell < 40 ? "font-size:11px" : "" }),
    );
  });
  return group;
}

/** A group of buttons of which one is chosen: arrow keys move inside it, Tab leaves it. */
function choices(label, names, chosen, choose) {
  const group = html("div", { class: "row", role: "radiogroup", "aria-label": label });
  const buttons = names.map((name, place) =>
    html("button", { type: "button", role: "radio", onclick: () => choose(place) }, name));
  const mark = (place) => buttons.forEach((button, each) => {
    button.setAttribute("aria-checked", each === place);
    button.tabIndex = each === place || (place < 0 && each === 0) ? 0 : -1;
  });
  group.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const now = buttons.indexOf(document.activeElement);
    if (!by || now < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (now + by + buttons.length) % buttons.length;
    buttons[next].focus();
    choose(next);
  };
  group.append(html("span", {}, label), ...buttons);
  mark(chosen);
  return { element: group, mark };
}

/** Whether the reader wants no motion. CSS transitions stop by themselves; ask before starting a timer. */
function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

const drawnIn = new WeakMap(); // a model, and where it is drawn

/** Asks the kernel, which answers with new data or an error; false if there is no kernel to ask, or none that knows this widget. */
function ask(model, question) {
  if (drawnIn.get(model)?.closest(".jupyter-widgets-disconnected")) return false; // JupyterLab would drop it without a word
  try {
    model.set("asked", { ...question, time: Date.now() });
    model.save_changes();
    return true;
  } catch {
    return false;
  }
}

function render({ model, el }) {
  // JupyterLab would take arrow keys and letters as its own shortcuts.
  const place = html("div", { class: "tl-widget", role: "group", "aria-label": model.get("alt").split("\n")[0], "data-lm-suppress-shortcuts": "true" });
  // And the notebook would take Enter in a text field, so that no form is sent.
  place.addEventListener("keydown", (event) => { if (event.target.tagName === "INPUT") event.stopPropagation(); });
  // Its shortcuts are off in here, and so is the way back to the notebook: Escape leads there.
  place.addEventListener("keydown", (event) => { if (event.key === "Escape") place.closest(".jp-Cell")?.focus(); });
  el.append(place);
  drawnIn.set(model, place);
  draw(place, model, model.get("roles"));
}

export default { render };
