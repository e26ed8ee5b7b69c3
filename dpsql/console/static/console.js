// The page where one asks: completion, the price while one types, and the answer in place. Everything that comes from
// the server as HTML was escaped there.
"use strict";
(() => {
  const form = document.getElementById("ask");
  if (!form) return;
  const text = document.getElementById("sql");
  const epsilon = document.getElementById("epsilon");
  const buy = document.getElementById("buy");
  const explained = document.getElementById("explained");
  const answered = document.getElementById("answered");
  const list = document.getElementById("words");
  const csrf = document.querySelector("meta[name=csrf]").content;

  async function send(path) {
    const body = new URLSearchParams({ sql: text.value, epsilon: epsilon.value });
    const reply = await fetch(path, { method: "POST", body, headers: { "X-CSRF-Token": csrf } });
    if (reply.status === 401) { location.assign("/sign-in"); throw new Error("signed out"); }
    return reply;
  }

  function say(place, words) {
    const line = document.createElement("p");
    line.className = "problem";
    line.textContent = words;
    place.replaceChildren(line);
  }

  async function put(place, reply) {
    if (!(reply.headers.get("content-type") || "").startsWith("text/html")) { say(place, await reply.text()); return; }
    place.innerHTML = await reply.text();
  }

  // The price while one types: the last text that was typed is the one that is shown.
  let waiting = 0, number = 0;
  function explainSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(explain, 350);
  }
  async function explain() {
    const own = ++number;
    if (!text.value.trim()) return;
    try {
      const reply = await send("/explain");
      if (own === number) await put(explained, reply);
    } catch (problem) {
      if (own === number) say(explained, "the server cannot be reached");
    }
  }

  async function ask() {
    if (buy.disabled) return;
    buy.disabled = true;
    answered.setAttribute("aria-busy", "true");
    try {
      await put(answered, await send("/answer"));
      const left = document.getElementById("new-budget");
      if (left) {
        document.getElementById("budget").replaceChildren(left.content.cloneNode(true));
        // What was told before the purchase is over: an explanation on its way is not shown, and the answer comes into view.
        clearTimeout(waiting);
        number += 1;
        explained.replaceChildren(document.getElementById("bought").content.cloneNode(true));
      }
      document.getElementById("after").scrollIntoView({ block: "start" });
    } catch (problem) {
      say(answered, "the server cannot be reached; look into History before you ask again");
    } finally {
      buy.disabled = false;
      answered.removeAttribute("aria-busy");
    }
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); close(); ask(); });

  // Completion: tables, columns, functions and words of SQL that begin like the word before the cursor.
  let known = [];
  fetch("/words").then((reply) => reply.json()).then((words) => {
    for (const [table, columns] of Object.entries(words.tables)) {
      known.push([table, "table"]);
      for (const column of columns) known.push([column, table]);
    }
    for (const name of words.functions) known.push([name, "function"]);
    for (const word of words.keywords) known.push([word, ""]);
  }).catch(() => {});

  function wordBefore() {
    return (/[\w.]+$/.exec(text.value.slice(0, text.selectionStart)) || [""])[0];
  }

  function close() {
    list.hidden = true;
    list.replaceChildren();
    text.removeAttribute("aria-activedescendant");
  }

  function complete() {
    const word = wordBefore().toLowerCase();
    if (word.length < 2) { close(); return; }
    const seen = new Set();
    const found = known.filter(([name, of]) => {
      const fits = name.toLowerCase().startsWith(word) && name.toLowerCase() !== word && !seen.has(name + of);
      seen.add(name + of);
      return fits;
    }).slice(0, 12);
    if (!found.length) { close(); return; }
    list.replaceChildren(...found.map(([name, of], at) => {
      const item = document.createElement("li");
      item.id = "word-" + at;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(at === 0));
      item.dataset.word = name;
      const said = document.createElement("small");
      said.textContent = of;
      item.append(name, said);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(name); });
      return item;
    }));
    list.hidden = false;
    text.setAttribute("aria-activedescendant", "word-0");
  }

  function move(by) {
    const items = [...list.children];
    const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    const next = (now + by + items.length) % items.length;
    items.forEach((item, at) => item.setAttribute("aria-selected", String(at === next)));
    items[next].scrollIntoView({ block: "nearest" });
    text.setAttribute("aria-activedescendant", "word-" + next);
  }

  function take(name) {
    text.setRangeText(name, text.selectionStart - wordBefore().length, text.selectionStart, "end");
    close();
    text.focus();
    explainSoon();
  }

  text.addEventListener("input", () => { complete(); explainSoon(); });
  text.addEventListener("blur", () => setTimeout(close, 100));
  epsilon.addEventListener("input", explainSoon);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); close(); ask(); return; }
    if (list.hidden) return;
    if (event.key === "ArrowDown") { event.preventDefault(); move(1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); move(-1); }
    else if (event.key === "Escape") { event.preventDefault(); close(); }
    else if (event.key === "Tab") { event.preventDefault(); take(list.querySelector("[aria-selected=true]").dataset.word); }
  });
  for (const button of document.querySelectorAll("button[data-word]")) {
    button.addEventListener("click", () => {
      text.setRangeText(button.dataset.word, text.selectionStart, text.selectionEnd, "end");
      text.focus();
      explainSoon();
    });
  }
  if (text.value.trim()) explain();

  // Saved questions: texts and prices by name, in this browser alone, for each analyst. The server never has them.
  const saved = document.getElementById("saved");
  const place = "dpsql questions of " + saved.dataset.analyst;
  const told = saved.querySelector("[role=status]");

  function questions() {
    try {
      const found = JSON.parse(localStorage.getItem(place) || "[]");
      return Array.isArray(found) ? found.filter((one) => one && typeof one.name === "string" && typeof one.sql === "string") : [];
    } catch (problem) {
      return [];
    }
  }

  function keep(list, words) {
    try {
      localStorage.setItem(place, JSON.stringify(list));
      told.textContent = words;
    } catch (problem) {
      told.textContent = "This browser keeps no more: remove a saved question, or allow it to keep data.";
    }
    showSaved();
  }

  function button(words, said, does) {
    const found = document.createElement("button");
    found.type = "button";
    found.className = "word";
    found.textContent = words;
    if (said) found.setAttribute("aria-label", said);
    found.addEventListener("click", does);
    return found;
  }

  function showSaved() {
    saved.querySelector("ul").replaceChildren(...questions().map((one) => {
      const item = document.createElement("li");
      const load = button(one.name, "", () => {
        text.value = one.sql;
        epsilon.value = one.epsilon || epsilon.value;
        text.focus();
        explainSoon();
      });
      load.title = one.sql;
      item.append(load, button("×", "Remove " + one.name, () => {
        keep(questions().filter((other) => other.name !== one.name), "Removed: " + one.name + ".");
      }));
      return item;
    }));
  }

  saved.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = document.getElementById("question");
    const name = field.value.trim();
    if (!text.value.trim()) { told.textContent = "Write a question first."; text.focus(); return; }
    if (!name) { told.textContent = "Give it a name first."; field.focus(); return; }
    const others = questions().filter((one) => one.name !== name);
    const all = [...others, { name, sql: text.value, epsilon: epsilon.value }];
    keep(all.sort((one, other) => one.name.localeCompare(other.name)), "Saved in this browser: " + name + ".");
    field.value = "";
  });
  window.addEventListener("storage", showSaved);
  saved.hidden = false;
  showSaved();

  // A chart as a file of its own: the wide drawing with the colours of the page written into it, and its caption below.
  const WRITTEN = ["fill", "stroke", "stroke-width", "font-size", "font-family", "text-anchor"];
  const SCALE = 2, CAPTION = 26;

  function alone(figure) {
    const drawn = figure.querySelector(".wide-place");
    const { width, height } = drawn.viewBox.baseVal;
    const found = drawn.cloneNode(true);
    const originals = drawn.querySelectorAll("*");
    found.querySelectorAll("*").forEach((part, at) => {
      const style = getComputedStyle(originals[at]);
      for (const name of WRITTEN) part.setAttribute(name, style.getPropertyValue(name));
      part.removeAttribute("class");
    });
    const paper = document.createElementNS(found.namespaceURI, "rect");
    const caption = document.createElementNS(found.namespaceURI, "text");
    const colours = getComputedStyle(figure.querySelector("figcaption"));
    const written = { x: 12, y: height + 14, fill: colours.color, "font-size": "13px", "font-family": colours.fontFamily };
    for (const [name, value] of Object.entries(written)) caption.setAttribute(name, value);
    caption.textContent = drawn.getAttribute("aria-label");
    paper.setAttribute("width", width);
    paper.setAttribute("height", height + CAPTION);
    paper.setAttribute("fill", getComputedStyle(document.getElementById("ask")).backgroundColor);
    found.prepend(paper);
    found.append(caption);
    found.removeAttribute("class");
    found.setAttribute("viewBox", `0 0 ${width} ${height + CAPTION}`);
    found.setAttribute("width", width);
    found.setAttribute("height", height + CAPTION);
    return found;
  }

  // The page's policy loads no picture but the package's own, so the few shapes of a chart are drawn one by one.
  function painted(picture) {
    const canvas = document.createElement("canvas");
    const number = (part, name) => Number(part.getAttribute(name) || 0);
    canvas.width = SCALE * number(picture, "width");
    canvas.height = SCALE * number(picture, "height");
    const brush = canvas.getContext("2d");
    brush.scale(SCALE, SCALE);
    for (const part of picture.querySelectorAll("rect, line, polygon, polyline, circle, text")) {
      const at = (name) => number(part, name);
      const [fill, stroke] = ["fill", "stroke"].map((name) => part.getAttribute(name) || "none");
      if (part.localName === "text") {
        const side = { middle: "center", end: "right" };
        brush.font = part.getAttribute("font-size") + " " + part.getAttribute("font-family");
        brush.textAlign = side[part.getAttribute("text-anchor")] || "left";
        brush.fillStyle = fill;
        brush.fillText(part.textContent, at("x"), at("y"));
        continue;
      }
      const path = new Path2D();
      if (part.localName === "rect") path.rect(at("x"), at("y"), at("width"), at("height"));
      if (part.localName === "line") { path.moveTo(at("x1"), at("y1")); path.lineTo(at("x2"), at("y2")); }
      if (part.localName === "circle") path.arc(at("cx"), at("cy"), at("r"), 0, 2 * Math.PI);
      for (const corner of (part.getAttribute("points") || "").split(" ").filter(Boolean)) path.lineTo(...corner.split(",").map(Number));
      if (part.localName === "polygon") path.closePath();
      if (fill !== "none" && part.localName !== "line") { brush.fillStyle = fill; brush.fill(path); }
      if (stroke !== "none") { brush.strokeStyle = stroke; brush.lineWidth = parseFloat(part.getAttribute("stroke-width")); brush.stroke(path); }
    }
    return canvas;
  }

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  // The same numbers as bars or as a line: one of both drawings is shown.
  answered.addEventListener("click", (event) => {
    if (event.target.dataset.see === undefined) return;
    const drawings = [...event.target.closest(".drawn").parentElement.children];
    for (const drawing of drawings) drawing.hidden = !drawing.hidden;
    drawings.find((drawing) => !drawing.hidden).querySelector("[data-see]").focus();
  });

  answered.addEventListener("click", (event) => {
    const kind = event.target.dataset.picture;
    if (!kind) return;
    const picture = alone(event.target.closest(".drawn").querySelector("figure"));
    const name = picture.getAttribute("aria-label").split(" with ")[0].replace(/[^\p{L}\p{N}_-]+/gu, "_") + "." + kind;
    if (kind === "svg") download(new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" }), name);
    else painted(picture).toBlob((blob) => download(blob, name), "image/png");
  });
})();

// The owner's page of trials: a slider beside each bound, from an eighth to eight times of what the policy says. Without
// this script the fields and the button do the same.
(() => {
  const form = document.getElementById("what-if");
  if (!form) return;
  const DOUBLINGS = 3;
  let waiting = 0, running = false, again = false;

  function slide(field) {
    const usual = Number(field.dataset.bound);
    if (!(usual > 0)) return;
    const slider = document.createElement("input");
    slider.type = "range";
    slider.min = -DOUBLINGS;
    slider.max = DOUBLINGS;
    slider.step = 0.25;
    slider.value = Math.log2(Number(field.value) / usual) || 0;
    slider.setAttribute("aria-label", field.labels[0].textContent);
    slider.addEventListener("input", () => {
      const value = usual * 2 ** Number(slider.value);
      const whole = "whole" in field.dataset;
      field.value = whole ? Math.max(1, Math.round(value)) : Number(value.toPrecision(3));
      if (Number(slider.value) === 0) field.value = field.dataset.bound;
    });
    slider.addEventListener("change", trySoon);
    field.addEventListener("change", () => { slider.value = Math.log2(Number(field.value) / usual) || 0; });
    field.after(slider);
  }

  function trySoon() {
    clearTimeout(waiting);
    waiting = setTimeout(run, 400);
  }

  // The form's own page, of which the figures alone are put in place: the slider that has the focus keeps it. The server
  // makes one trial at a time; the last place of the sliders is the one that is tried next.
  async function run() {
    if (running) { again = true; return; }
    const place = document.getElementById("tried");
    running = true;
    place.setAttribute("aria-busy", "true");
    try {
      const reply = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (reply.status === 401) { location.assign("/sign-in"); return; }
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const figures = page.getElementById("tried");
      if (figures) place.replaceChildren(...figures.childNodes);
    } catch (problem) {
      place.textContent = "the server cannot be reached";
    } finally {
      running = false;
      place.removeAttribute("aria-busy");
      if (again) { again = false; run(); }
    }
  }
  for (const field of form.querySelectorAll("[data-bound]")) slide(field);
})();
