// What a widget of the course asks of its page: data, and somebody to tell when they change. There is no kernel.

function widgetIn(place, { alt, roles }, data) {
  const state = { data, alt, roles, asked: {}, error: "" }, heard = [];
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => { throw new Error("There is no kernel."); },
    on: (event, tell) => { if (event === "change:data") heard.push(tell); },
    off: () => {},
  };
  courseWidget.render({ model, el: place });
  return { show: (next) => { state.data = next; for (const tell of heard) tell(); } };
}
