// Saves figures as files. The page has a figure once, as SVG in the page's colours: a file gets those of print, and PNG
// is drawn from it. Nothing is requested: the files are made of what the page has.
"use strict";
(() => {
  const PIXELS = 3; // of the PNG, for a pixel of the page
  const FONT = "'DejaVu Sans', Verdana, sans-serif"; // that of the figure's layout

  const printed = (value) =>
    value === "currentColor" ? "#000000" : value === "var(--page)" ? "#ffffff" : /^var\(--\w+, (#\w+)\)$/.exec(value)?.[1];

  const file = (figure) => {
    const svg = figure.querySelector("svg").cloneNode(true);
    for (const name of ["class", "role", "aria-labelledby"]) svg.removeAttribute(name);
    svg.setAttribute("font-family", FONT);
    for (const element of [svg, ...svg.querySelectorAll("*")]) {
      for (const name of ["fill", "stroke"]) {
        const colour = printed(element.getAttribute(name));
        if (colour) element.setAttribute(name, colour);
      }
    }
    const paper = document.createElementNS(svg.namespaceURI, "rect");
    for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: "#ffffff" })) paper.setAttribute(name, value);
    svg.insertBefore(paper, svg.querySelector("title")?.nextSibling ?? svg.firstChild);
    return svg;
  };

  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  const actions = {
    svg: (svg, text, name) => save(new Blob([text], { type: "image/svg+xml" }), name),
    png: (svg, text, name) => {
      const picture = new Image();
      picture.addEventListener("load", () => {
        const canvas = document.createElement("canvas");
        canvas.width = PIXELS * Number(svg.getAttribute("width"));
        canvas.height = PIXELS * Number(svg.getAttribute("height"));
        const context = canvas.getContext("2d");
        context.fillStyle = "#ffffff"; // the edge of the picture's own paper may be half a pixel
        context.fillRect(0, 0, canvas.width, canvas.height);
        context.drawImage(picture, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => save(blob, name), "image/png");
      });
      picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    },
  };

  for (const button of document.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      const svg = file(figure);
      const form = button.dataset.save;
      actions[form](svg, new XMLSerializer().serializeToString(svg), `${figure.dataset.file}.${form}`);
    });
  }
  for (const controls of document.querySelectorAll("[data-controls]")) controls.hidden = false;
})();
