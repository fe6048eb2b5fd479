// What the pages share. Nothing here asks another machine for anything.

/** A new HTML element; an attribute onclick, oninput, ... takes a function. */
function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Whether the reader wants no motion. */
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** What was typed, in the address: a link to it brings it back. */
const keepInAddress = (text) => history.replaceState(null, "", `#${encodeURIComponent(text)}`);

function fromAddress() {
  if (location.hash.length < 2) return undefined;
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return undefined;
  }
}

function shareButton() {
  const button = html("button", { type: "button" }, "Copy a link to this");
  const answer = html("span", { role: "status" });
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      answer.textContent = "Copied.";
    } catch {
      answer.textContent = "This browser does not let a page copy. The address above is the link.";
    }
  };
  return html("span", { class: "share" }, button, " ", answer);
}

/** The bytes of a text in Ascii85: five letters are four bytes, and z is four zeros. It has v in the place of <. */
function fromText85(text) {
  const bytes = new Uint8Array(4 * text.length), view = new DataView(bytes.buffer);
  let length = 0;
  for (let at = 0; at < text.length; length += 4) {
    if (text[at] === "z") { at++; continue; }
    let number = 0;
    for (const end = at + 5; at < end; at++) number = number * 85 + (text[at] === "v" ? 60 : text.charCodeAt(at)) - 33;
    view.setUint32(length, number);
  }
  return bytes.slice(0, length);
}

/** Brings the page to life. Where that fails, its still picture stays. */
function whenInAPage(begin) {
  if (typeof document === "undefined") return;
  const place = document.getElementById("live"), still = [...place.childNodes];
  try {
    const about = document.getElementById("about"), numbers = document.getElementById("numbers");
    begin(place, JSON.parse(about.textContent), fromText85(numbers.textContent));
    numbers.remove();
    place.dataset.live = "true";
  } catch (error) {
    console.error("The page could not be brought to life; its still picture stays.", error);
    place.replaceChildren(...still);
  }
}

export { fromText85 };
