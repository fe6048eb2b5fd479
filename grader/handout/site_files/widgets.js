// Brings the course's widgets to life in a page without a kernel: their module and their data are in the page. Where one
// cannot be drawn, its still picture stays. Modules come from the page's own text, so the page also works from a disk.

async function bring(place) {
  const still = place.firstElementChild;
  const state = JSON.parse(place.querySelector("script").textContent);
  const address = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
  const style = document.createElement("style");
  style.textContent = state._css;
  const drawn = document.createElement("div");
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => { throw new Error("There is no kernel."); }, // the widgets expect this, and say so
    on: () => {},
    off: () => {},
  };
  try {
    const module = (await import(address)).default;
    module.render({ model, el: drawn });
    place.append(style, drawn);
    still.hidden = true;
    place.dataset.live = "true";
  } catch (error) {
    console.error("A widget could not be drawn; its still picture stays.", error);
  } finally {
    URL.revokeObjectURL(address);
  }
}

document.querySelectorAll(".course-widget").forEach(bring);

// A formula or picture that is wider than the page scrolls in its own box. Tab reaches such a one, and only such a one: then arrow keys scroll it.
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  const seen = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll("mjx-container[display='true'], [aria-label='picture, scrolls sideways']").forEach((each) => seen.observe(each));
});
