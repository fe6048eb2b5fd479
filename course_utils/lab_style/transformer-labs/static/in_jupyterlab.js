// JupyterLab loads this like any prebuilt extension. There was nothing to build: it is plain JavaScript, and the style beside it.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB["transformer-labs"] = ((address) => {
  const STATE = "application/vnd.jupyter.widget-state+json";
  const VIEW = "application/vnd.jupyter.widget-view+json";
  let shared; // JupyterLab's own modules

  function style() {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href: address });
    document.head.append(link);
    return {};
  }

  // JupyterLab saves the widgets of the running kernel and leaves all others out. So after a notebook was opened again and saved, every picture that
  // had not been made again would be an error at the next opening. Here, those that are still shown stay.
  function keepWidgets(model) {
    const set = model.setMetadata.bind(model);
    model.setMetadata = (name, value) => set(name, name === "widgets" ? withThoseShown(value, model) : value);
  }

  function withThoseShown(widgets, model) {
    const now = widgets[STATE].state, before = model.getMetadata("widgets")?.[STATE]?.state ?? {};
    const wanted = shownIn(model), kept = {};
    while (wanted.length) {
      const id = wanted.pop();
      if (id in now || id in kept || !(id in before)) continue;
      kept[id] = before[id];
      wanted.push(...Array.from(JSON.stringify(before[id]).matchAll(/"IPY_MODEL_([^"]+)"/g), ([, part]) => part)); // such as its layout
    }
    return { ...widgets, [STATE]: { ...widgets[STATE], state: { ...now, ...kept } } };
  }

  function shownIn(model) {
    const ids = [];
    for (const cell of model.cells) {
      for (let at = 0; at < (cell.outputs?.length ?? 0); at++) {
        const id = cell.outputs.get(at).data[VIEW]?.model_id;
        if (id) ids.push(id);
      }
    }
    return ids;
  }

  // Pyodide never says which widgets it has, and ipywidgets waits for that before it shows those that were saved.
  function answerForPyodide(session) {
    session.kernelChanged.connect((_, { newValue: kernel }) => {
      if (kernel?.name !== "python") return;
      const ask = kernel.requestCommInfo.bind(kernel), none = { content: { status: "ok", comms: {} } };
      kernel.requestCommInfo = (about) => Promise.race([ask(about), new Promise((answer) => setTimeout(answer, 2000, none))]);
    });
  }

  async function plugin() {
    const [notebook] = Object.values(shared["@jupyterlab/notebook"]);
    const { INotebookTracker } = (await notebook.get())();
    const activate = (app, notebooks) => notebooks.widgetAdded.connect((_, panel) => {
      keepWidgets(panel.context.model);
      answerForPyodide(panel.sessionContext);
    });
    return () => ({ __esModule: true, default: { id: "transformer-labs:widgets", autoStart: true, requires: [INotebookTracker], activate } });
  }

  return { init: (scope) => { shared = scope; }, get: async (name) => (name === "./style" ? style : plugin()) };
})(new URL("prose.css", document.currentScript.src).href);
