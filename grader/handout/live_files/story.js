// A story that one scrolls through: a picture that stays, and scenes beside it; the scene that one reads is drawn.

/** scenes: { title, words: [paragraph, …] }. draw(number) fills the stage and says in words what it shows. Returns go(number). */
function story(place, scenes, draw, changed) {
  const stage = html("div", { class: "stage", role: "img" });
  const count = html("span", { role: "status" }), narrow = matchMedia("(max-width: 48rem)");
  const back = html("button", { type: "button", onclick: () => go(now - 1) }, "Back");
  const next = html("button", { type: "button", onclick: () => go(now + 1) }, "Next");
  const sections = scenes.map(({ title, words }, at) => html("section", { "aria-label": title },
    html("h2", {}, `${at + 1}. ${title}`), ...words.map((paragraph) => html("p", {}, ...raised(paragraph)))));
  const beside = html("div", { class: "beside" }, stage, html("div", { class: "row" }, back, next, count));
  place.replaceChildren(html("div", { class: "story" }, beside, html("div", { class: "scenes" }, ...sections)));
  let now = -1, sent = false; // sent: the page scrolls to a scene that was asked for, or stands there; else the reader scrolls

  function show(number) {
    now = Math.max(0, Math.min(scenes.length - 1, number));
    count.textContent = `${now + 1} of ${scenes.length}: ${scenes[now].title}`;
    back.disabled = now === 0;
    next.disabled = now === scenes.length - 1;
    sections.forEach((section, at) => section.classList.toggle("now", at === now));
    stage.setAttribute("aria-label", draw(stage, now));
    changed(now);
  }

  function go(number) {
    show(number);
    sent = true; // what passes by on the way is not read
    sections[now].style.scrollMarginTop = narrow.matches ? `${beside.offsetHeight + 12}px` : "20vh"; // below the picture that stays
    sections[now].scrollIntoView({ behavior: calm() ? "instant" : "smooth" });
  }

  const seen = new IntersectionObserver((entries) => {
    const read = sections.indexOf(entries.find(({ isIntersecting }) => isIntersecting)?.target);
    if (!sent && read >= 0 && read !== now) show(read);
  }, { rootMargin: narrow.matches ? "-75% 0px -25% 0px" : "-40% 0px -60% 0px" });
  sections.forEach((section) => seen.observe(section));
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(kind, ({ target }) => { if (!target.closest?.("button")) sent = false; }, { passive: true, capture: true });
  }
  return { go, show };
}

/** A text whose ^Q stands higher, as in a formula. */
const raised = (text) => text.split(/\^([A-Z])/).map((part, at) => (at % 2 ? html("sup", {}, part) : part));

/** Names above the cells of strips. */
const columns = (names) => html("div", { class: "strip quiet", "aria-hidden": "true" }, html("span", { class: "name" }), ...names.map((name) => html("span", { class: "head" }, name)));

/** Numbers in cells, tinted in the colour of a role; what is not followed is faint. */
function strip(name, role, numbers, { faint = false, quiet = "" } = {}) {
  const most = Math.max(1e-9, ...numbers.map(Math.abs));
  return html("div", { class: `strip ${role}${faint ? " faint" : ""}` }, html("span", { class: "name" }, name),
    ...numbers.map((number) => {
      const cell = html("span", { class: "cell" }, number.toFixed(2).replace("-", "\u2212"));
      cell.style.setProperty("--tint", Math.abs(number) / most);
      return cell;
    }), ...(quiet ? [html("span", { class: "quiet" }, quiet)] : []));
}

/** Shares of 1 as bars, each with its name and number. */
function bars(shares, role, chosen = -1) {
  return html("div", { class: "bars" }, ...shares.map(([name, share], at) => {
    const fill = html("span", { class: `fill ${role}` });
    fill.style.width = `${100 * share}%`;
    return html("div", { class: at === chosen ? "chosen" : "" }, html("span", { class: "name" }, name), html("span", { class: "bar" }, fill), html("span", { class: "number" }, percent(share)));
  }));
}
