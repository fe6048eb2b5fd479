// The page "A word moves": the course's widget with sentences that the real encoder has read; the page keeps the chosen one in the address.

function wordMoves(place, about) {
  const { words } = about.start, names = Object.keys(words);
  const widget = html("div"), look = html("p", { "aria-live": "polite" });
  place.replaceChildren(
    html("p", {}, "Each small mark is the word in a sentence whose meaning is clear, with one kind of mark for each meaning. The arrow begins where the encoder puts the word if it stands alone, and ends where it puts it in the sentence that you choose. Guess before you choose: where will the arrow end?"),
    widget, look,
    html("p", { class: "quiet" }, "The vectors are those of the last of six layers. The picture shows two of their 384 directions; the cosines use all of them. Many cosines are high: look at which one is the largest, and by how much."),
    html("div", { class: "row" }, shareButton()),
  );
  widgetIn(widget, about, about.start);
  widget.querySelector("form").remove(); // a new sentence needs the encoder, which is too large for a page
  const group = (label) => [...widget.querySelectorAll(`[aria-label="${label}:"] [role="radio"]`)];
  const chosen = (label) => group(label).find((button) => button.getAttribute("aria-checked") === "true").textContent;
  const choose = (label, name) => group(label).find((button) => button.textContent === name).click();

  const keep = () => {
    const told = about.look[chosen("Word")];
    if (look.textContent !== told) look.textContent = told; // a screen reader reads it out whenever it is set
    keepInAddress(chosen("Sentence"));
  };
  const restore = () => {
    const asked = fromAddress();
    const word = names.find((name) => words[name].moved.some(({ sentence }) => sentence === asked));
    choose("Word", word ?? names[0]);
    choose("Sentence", word ? asked : words[names[0]].moved[0].sentence);
    keep();
  };
  // Whatever is chosen in the widget, and by whichever key, it says so in words.
  new MutationObserver(keep).observe(widget.querySelector(".said"), { childList: true });
  onhashchange = restore;
  restore();
}

whenInAPage((place, about) => wordMoves(place, about));
