// The page "Head browser": ten sentences that the real encoder has read, and all its heads.

function headBrowser(place, about) {
  const { sentences } = about;
  const choose = html("select", { id: "sentence" }, ...sentences.map(({ sentence }, at) => html("option", { value: at }, sentence)));
  const heads = html("div");
  place.replaceChildren(
    html("div", { class: "fields" }, html("div", {}, html("label", { for: "sentence" }, "A sentence"), choose)), heads,
    html("div", { class: "row" }, shareButton()),
  );
  const widget = widgetIn(heads, about, sentences[0]);
  heads.querySelector('input[type="text"]').parentNode.remove(); // a new sentence needs the encoder, which is too large for a page

  const show = () => {
    keepInAddress(sentences[choose.value].sentence);
    widget.show(sentences[choose.value]);
  };
  const restore = () => {
    choose.value = Math.max(0, sentences.findIndex(({ sentence }) => sentence === fromAddress()));
    show();
  };
  choose.onchange = show;
  onhashchange = restore;
  restore();
}

whenInAPage((place, about) => headBrowser(place, about));
