// JupyterLab loads this like any prebuilt extension. There was nothing to build: all that it brings is the style beside it.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB["transformer-labs-prose"] = ((style) => ({
  init: () => {},
  get: async () => () => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href: style });
    document.head.append(link);
    return {};
  },
}))(new URL("prose.css", document.currentScript.src).href);
