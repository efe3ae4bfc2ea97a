"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const hiddenPolicies = new Set();
const PAGE_ROWS = 200;
// What a line of a landscape page holds in letters of some 6 points.
const PRINTED_EMS = 125;

// ---- Helpers. Names come from users' files: they only ever become text nodes and properties.

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function svgElement(tag, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// Numbers come with the digits that they are shown with.
const number = (value) => (value === null ? "" : String(value));

// Two digits of the half-width, and as many decimals of the value. A number has 15 digits: what is less than
// the last of them is none.
function interval(value, half) {
  if (value === null || half === null || half <= 0) return number(value);
  const last = value === 0 ? 20 : 14 - Math.floor(Math.log10(Math.abs(value)));
  if (Math.log10(half) < -last) return number(value);
  const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), Math.max(last, 0), 20);
  const text = value.toFixed(decimals);
  return `${Number(text) === 0 ? text.replace("-", "") : text} ±\u00a0${half.toFixed(decimals)}`;
}

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// A wide table scrolls inside its own box, which the keyboard can reach.
function scrollBox(label) {
  const box = element("div", { className: "scroll", tabIndex: 0, ariaLabel: label });
  box.setAttribute("role", "region");
  return box;
}

// ---- Figures: which are shown, and which series.

function showResponse(response) {
  closeReading();
  for (const figure of document.querySelectorAll("figure")) {
    figure.hidden = figure.dataset.response !== "" && figure.dataset.response !== response;
  }
}

function showPolicies(boxes) {
  closeReading();
  hiddenPolicies.clear();
  for (const box of boxes) if (!box.checked) hiddenPolicies.add(Number(box.value));
  for (const { id, series = [] } of data.figures) {
    for (const group of document.querySelectorAll(`#${CSS.escape(id)} g[data-series]`)) {
      const { policy } = series[group.dataset.series] ?? {};
      group.toggleAttribute("hidden", hiddenPolicies.has(policy));
    }
  }
}

function setUpFigureControls() {
  const response = document.getElementById("response");
  response.addEventListener("change", () => showResponse(response.value));
  showResponse(response.value);

  const policies = document.getElementById("policies");
  const boxes = [...policies.querySelectorAll("input")];
  for (const { parentElement: label } of boxes) label.title = label.textContent;   // a long name is cut short
  policies.addEventListener("change", () => showPolicies(boxes));
  policies.addEventListener("click", ({ target }) => {
    if (target.type !== "button") return;
    for (const box of boxes) box.checked = target.value === "all";
    showPolicies(boxes);
  });
  showPolicies(boxes);
}

// ---- Figures: reading values off them.

const tooltip = document.getElementById("tooltip");
let closeReading = () => {};

function scale(axis, start, end) {
  const place = axis.log ? Math.log : (value) => value;
  const [from, to] = [place(axis.from), place(axis.to)];
  return (value) => start + ((place(value) - from) / (to - from)) * (end - start);
}

function describe({ x, y }, series, index) {
  const [low, high] = [series.low?.[index] ?? null, series.high?.[index] ?? null];
  const half = (high - low) / 2;
  const range = low === null ? "" : ` (${number(low)} to ${number(high)})`;
  const value = `${y.name} ${number(series.y[index])}${range} ${y.unit}`;
  return series.look === "control" ? value : `${x.name} = ${number(series.x[index])} ${x.unit}\n${value}`;
}

// What can be read off a figure: tracks of points in viewBox units. A level track has one value at any x.
function readableTracks(figure) {
  if (figure.marks) return [{ name: "", points: figure.marks.map(([x, y, text]) => ({ x, y, text })) }];
  const [left, top, right, bottom] = figure.frame;
  const toX = scale(figure.x, left, right);
  const toY = scale(figure.y, bottom, top);
  return figure.series.map((series) => {
    const level = series.look === "control";
    const points = series.y.flatMap((y, index) => {
      const point = { x: toX(series.x[index]), y: toY(y), text: describe(figure, series, index) };
      return y !== null && Number.isFinite(point.x) && Number.isFinite(point.y) ? [point] : [];
    });
    return { name: series.name, policy: series.policy, level, points: level ? points.slice(0, 1) : points };
  });
}

function indexOfNearest(points, distance) {
  const distances = points.map(distance);
  return distances.indexOf(Math.min(...distances));
}

// Of the nearest row of marks above or below, the one nearest in x; the same mark where there is no such row.
function nextAcross(points, index, across) {
  const from = points[index];
  const beyond = points.map(({ y }) => across * (y - from.y)).map((way) => (way > 0 ? way : Infinity));
  const next = Math.min(...beyond);
  if (next === Infinity) return index;
  return indexOfNearest(points, (point) =>
    (across * (point.y - from.y) === next ? Math.abs(point.x - from.x) : Infinity));
}

class Reader {
  constructor(node, figure) {
    Object.assign(this, { node, figure, tracks: readableTracks(figure), place: null });
    this.svg = node.querySelector("svg");
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    // A finger that leaves has only been lifted: what it showed stays.
    this.svg.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && closeReading());
    node.addEventListener("keydown", (event) => this.key(event));
    node.addEventListener("blur", () => this.place && closeReading());
  }

  visibleTracks() {
    return this.tracks.filter(({ points, policy }) => points.length > 0 && !hiddenPolicies.has(policy));
  }

  // In each track the point nearest in x, of those the nearest one; of marks simply the nearest.
  point(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    const candidates = this.visibleTracks().map((track) => {
      const index = indexOfNearest(track.points, (point) =>
        this.figure.marks ? Math.hypot(point.x - x, point.y - y) : Math.abs(point.x - x));
      return { track, index, x: this.clamp(track.level ? x : track.points[index].x) };
    });
    if (candidates.length === 0) return;
    this.show(candidates[indexOfNearest(candidates, (candidate) =>
      Math.hypot(candidate.x - x, candidate.track.points[candidate.index].y - y))]);
  }

  clamp(x) {
    const [left, , right] = this.figure.frame ?? [-Infinity, 0, Infinity];
    return Math.min(Math.max(x, left), right);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") return closeReading();
    const sideways = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    const across = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const tracks = this.visibleTracks();
    if ((sideways ?? across) === undefined || tracks.length === 0) return;
    event.preventDefault();
    const { track, index } = this.place ?? {};
    if (track === undefined) this.step(tracks.find(({ level }) => !level) ?? tracks[0], 0);
    else if (across === undefined) this.step(track, index + sideways);
    else if (this.figure.rows) this.step(track, nextAcross(track.points, index, across));
    else if (this.figure.marks) this.step(track, index + across);
    else {
      const next = tracks.at((tracks.indexOf(track) + across) % tracks.length);
      this.step(next, indexOfNearest(next.points, (point) => Math.abs(point.x - this.place.x)));
    }
  }

  step(track, wanted) {
    const index = Math.min(Math.max(wanted, 0), track.points.length - 1);
    this.show({ track, index, x: track.level && this.place ? this.place.x : track.points[index].x });
  }

  show(place) {
    const { track, index, x } = place;
    const moved = this.place?.track !== track || this.place.index !== index || this.place.x !== x;
    if (!moved) return;
    closeReading();
    closeReading = () => this.close();
    this.place = place;
    const { y, text } = track.points[index];
    this.overlay = svgElement("g", { class: "reading" });
    if (this.figure.frame) {
      const [, top, , bottom] = this.figure.frame;
      this.overlay.append(svgElement("line", { x1: x, x2: x, y1: top, y2: bottom }));
    }
    this.overlay.append(svgElement("circle", { cx: x, cy: y, r: 22 }));
    this.svg.append(this.overlay);
    tooltip.replaceChildren(...(track.name ? [element("strong", {}, track.name)] : []), text);
    placeTooltip(new DOMPoint(x, y).matrixTransform(this.svg.getScreenCTM()));
  }

  close() {
    this.overlay.remove();
    this.place = null;
    tooltip.replaceChildren();
    tooltip.style.translate = "";
    closeReading = () => {};
  }
}

// Beside the point, on the side where there is room.
function placeTooltip({ x, y }) {
  const gap = 14;
  const { width, height } = tooltip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = x + gap + width < room ? x + gap : Math.max(x - gap - width, 8);
  const top = y - gap - height > 0 ? y - gap - height : y + gap;
  tooltip.style.translate = `${left + scrollX}px ${top + scrollY}px`;
}

function setUpReading() {
  for (const figure of data.figures) new Reader(document.getElementById(figure.id), figure);
  addEventListener("resize", () => closeReading());
  document.addEventListener("pointerdown", ({ target }) => target.closest("figure") ?? closeReading());
}

// ---- Tables: their text, order and filters. A row is its index in the columns.

function cellText(column, row) {
  const value = column.values[row];
  if (column.kind === "text") return column.names[value] ?? "";
  return column.kind === "interval" ? interval(value, column.half[row]) : number(value);
}

// Numbers to sort by: of text, its place in the alphabet.
function sortKeys(column) {
  if (column.kind !== "text") return column.values;
  const alphabet = new Intl.Collator("en", { numeric: true });
  const order = column.names.map((_, index) => index);
  order.sort((a, b) => alphabet.compare(column.names[a], column.names[b]));
  const rank = [];
  order.forEach((name, place) => { rank[name] = place; });
  return column.values.map((name) => rank[name] ?? null);
}

function sortRows(rows, column, direction) {
  const keys = sortKeys(column);
  const sign = direction === "descending" ? -1 : 1;
  rows.sort((a, b) => {
    // What is missing comes last either way.
    if (keys[a] === null || keys[b] === null) return (keys[a] === null) - (keys[b] === null);
    return sign * (keys[a] - keys[b]);
  });
}

const OPERATORS = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

// The numbers of a column, also of one where other rows have texts.
function numbersOf(column) {
  if (column?.kind !== "text") return column?.values ?? [];
  const numbers = column.names.map((name) => (name.trim() === "" ? NaN : Number(name)));
  return column.values.map((name) => numbers[name]);
}

// Reads "alpha < 0.01 and errors_pct < 15" into tests of a row; an error's message is for the reader.
function parseConditions(text, columns) {
  if (text.trim() === "") return [];
  return text.trim().split(/\s+and\s+/i).map((clause) => {
    const parts = clause.match(/^(.+?)\s*(<=|>=|!=|==?|<|>)\s*(\S+)$/);
    if (!parts) throw new Error(`can't read “${clause}”: write a column, one of < <= > >= = !=, and a number`);
    const [, name, operator, operand] = parts;
    const values = numbersOf(columns.find((one) => one.name === name));
    if (!values.some(Number.isFinite)) throw new Error(`no column of numbers is called “${name}”`);
    const limit = Number(operand);
    if (Number.isNaN(limit)) throw new Error(`“${operand}” is not a number`);
    return (row) => Number.isFinite(values[row]) && OPERATORS[operator](values[row], limit);
  });
}

function textTest(text, columns) {
  const sought = text.trim().toLowerCase();
  const found = columns.filter(({ kind }) => kind === "text").map(({ names, values }) => {
    const hits = names.map((name) => name.toLowerCase().includes(sought));
    return (row) => hits[values[row]];
  });
  return (row) => sought === "" || found.some((hit) => hit(row));
}

function toCsv(columns, rows) {
  const quote = (value) => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : String(value ?? "");
  const fields = columns.flatMap(({ name, kind, names, values, half }) => {
    const field = [name, (row) => kind === "text" ? names[values[row]] : values[row]];
    return kind === "interval" ? [field, [`${name}_half`, (row) => half[row]]] : [field];
  });
  const lines = rows.map((row) => fields.map(([, value]) => quote(value(row))).join(","));
  return [fields.map(([name]) => quote(name)).join(","), ...lines, ""].join("\n");
}

function download(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function copy(button, command) {
  try {
    await navigator.clipboard.writeText(command);
    button.ariaLabel = button.textContent = "Copied";
  } catch {
    // A page opened from a file may not have the clipboard: offer the text, selected.
    const field = element("input", { readOnly: true, value: command, ariaLabel: "Replay command" });
    button.replaceWith(field);
    field.select();
  }
}

// ---- Tables: their elements.

const alignment = (kind) => kind === "text" ? "text" : "number";

function labelled(text, control) {
  return element("label", {}, text, control);
}

// A menu of a text column's values; null where there are too many or nothing to choose.
function columnMenu(column) {
  const values = [...new Set(column.values)];
  if (column.kind !== "text" || values.length < 2 || values.length > 30) return null;
  const select = element("select", {}, new Option("any", ""));
  for (const value of values) select.append(new Option(column.names[value] ?? "(none)", value));
  return { column, select };
}

class Table {
  constructor({ id, title, note, replay, columns }) {
    Object.assign(this, { id, title, note, replay, columns });
    this.total = columns[0].values.length;
    this.points = columns.find(({ name }) => name === "point")?.values ?? [];
    this.search = element("input", { type: "search", name: "text", autocomplete: "off" });
    this.condition = element("input", { name: "condition", autocomplete: "off", spellcheck: false });
    this.condition.placeholder = this.example();
    this.menus = columns.map(columnMenu).filter(Boolean);
    this.message = element("p", { className: "message", id: `${id}-message`, role: "status" });
    this.count = element("p", { className: "count", role: "status", tabIndex: -1 });
    this.unprinted = element("p", { className: "unprinted note" });
    this.heads = columns.map((column) => this.head(column));
    this.body = element("tbody");
    this.more = element("button", { type: "button", className: "more", onclick: () => this.showMore() });
  }

  // A condition that about half of the rows satisfy, to show how one is written.
  example() {
    const column = this.columns.find(({ kind, name }) => kind !== "text" && name !== "point");
    const known = column?.values.filter((value) => value !== null).sort((a, b) => a - b) ?? [];
    return known.length === 0 ? "" : `${column.name} < ${number(known[known.length >> 1])}`;
  }

  head(column) {
    const { name, unit, about, kind } = column;
    const button = element("button", { type: "button", title: about || name });
    const parts = name.split(/(?<=_)/).flatMap((part) => [part, element("wbr")]);   // in print a name breaks after _
    button.append(element("span", { className: "name" }, ...parts));
    if (unit) button.append(element("span", { className: "unit" }, unit));
    const head = element("th", { scope: "col", className: alignment(kind), ariaSort: "none" }, button);
    button.addEventListener("click", () => this.sortBy(head, column));
    return head;
  }

  build() {
    const search = labelled("Text contains", this.search);
    const condition = labelled("Numbers satisfy", this.condition);
    condition.className = "condition";
    this.condition.setAttribute("aria-describedby", this.message.id);
    const menus = this.menus.map(({ column, select }) => labelled(column.name, select));
    const save = element("button", { type: "button", className: "csv" }, "Download CSV");
    save.addEventListener("click", () => download(`${this.id}.csv`, toCsv(this.columns, this.rows)));
    const filters = element("div", { className: "filters" }, search, ...menus, condition);
    filters.addEventListener("input", () => this.refresh());

    const heads = element("tr", {}, ...this.heads);
    if (this.replay) heads.append(element("th", { scope: "col", className: "action" }, "Replay"));
    const box = scrollBox(this.title);
    box.append(element("table", {}, element("caption", {}, this.title), element("thead", {}, heads), this.body));
    const section = element("div", { className: "table", id: `table-${this.id}` }, element("h3", {}, this.title));
    if (this.note) section.append(element("p", { className: "note" }, this.note));
    const summary = element("div", { className: "summary" }, this.count, save);
    section.append(filters, this.message, summary, box, this.unprinted, this.more);
    this.refresh();
    return section;
  }

  sortBy(head, column) {
    const direction = head.ariaSort === "ascending" ? "descending" : "ascending";
    for (const other of this.heads) other.ariaSort = "none";
    head.ariaSort = direction;
    this.order = { column, direction };
    this.refresh();
  }

  readConditions() {
    try {
      this.message.textContent = "";
      this.condition.ariaInvalid = "false";
      return parseConditions(this.condition.value, this.columns);
    } catch (problem) {
      this.message.textContent = `Not applied: ${problem.message}.`;
      this.condition.ariaInvalid = "true";
      return [];
    }
  }

  refresh() {
    const chosen = this.menus.filter(({ select }) => select.value !== "");
    const tests = [
      textTest(this.search.value, this.columns),
      ...chosen.map(({ column, select }) => (row) => String(column.values[row]) === select.value),
      ...this.readConditions(),
    ];
    this.rows = Array.from({ length: this.total }, (_, row) => row).filter((row) => tests.every((test) => test(row)));
    if (this.order) sortRows(this.rows, this.order.column, this.order.direction);
    this.count.textContent = `${grouped(this.rows.length)} of ${grouped(this.total)} rows`;
    this.body.replaceChildren();
    this.addRows();
  }

  addRows() {
    const start = this.body.rows.length;
    this.body.append(...this.rows.slice(start, start + PAGE_ROWS).map((row) => this.row(row)));
    const left = this.rows.length - this.body.rows.length;
    this.more.hidden = left === 0;
    this.more.textContent = `Show ${Math.min(left, PAGE_ROWS)} more`;
    this.fitToPaper(left);
  }

  // For the print style: how wide the columns are in ems, to fit the font to the page, and which have no room
  // there in letters that can be read. Text may break, the parts of a number may not.
  fitToPaper(left) {
    const rows = [...this.body.rows];
    const longest = (text) => Math.min(Math.max(...text.split(" ").map((part) => part.length)), 16);
    let [ems, fitting] = [0, 0];
    for (const index of this.columns.keys()) {
      const letters = Math.max(6, ...rows.map(({ cells }) => longest(cells[index].textContent)));
      const width = 1 + Math.max(0.65 * letters, this.columns[index].kind === "text" ? 10 : 0);
      if (ems + width > PRINTED_EMS) break;
      ems += width;
      fitting += 1;
    }
    for (const { cells } of [this.heads[0].parentElement, ...rows]) {
      [...cells].forEach((cell, index) => cell.classList.toggle("beyond", index >= fitting));
    }
    this.body.parentElement.style.setProperty("--ems", ems);
    const unprinted = [[left, "row"], [this.columns.length - fitting, "column"]].filter(([count]) => count > 0);
    const words = unprinted.map(([count, what]) => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`);
    this.unprinted.textContent = words.length === 0 ? "" : `Not printed: ${words.join(", ")}.`;
  }

  showMore() {
    this.addRows();
    // A button that vanishes would drop the focus at the top of the page.
    if (this.more.hidden) this.count.focus();
  }

  row(row) {
    const cells = this.columns.map((column) =>
      element("td", { className: alignment(column.kind) }, cellText(column, row)));
    if (this.replay) cells.push(element("td", { className: "action" }, this.replayButton(this.points[row])));
    return element("tr", {}, ...cells);
  }

  replayButton(point) {
    const command = `${this.replay} --point ${point} --replication 0`;
    const button = element("button", { type: "button", title: command }, "Copy");
    button.ariaLabel = `Copy the command that replays point ${point}`;
    button.addEventListener("click", () => copy(button, command));
    return button;
  }
}

// ---- The page.

function setUpSections() {
  const links = document.querySelector("nav");
  for (const section of document.querySelectorAll("main > section")) {
    if (getComputedStyle(section).display === "none") continue;
    links.append(element("a", { href: `#${section.id}`, textContent: section.querySelector("h2").textContent }));
  }
}

for (const table of document.querySelectorAll("main table")) {
  const box = scrollBox(table.caption?.textContent ?? "Table");
  table.replaceWith(box);
  box.append(table);
}
setUpFigureControls();
setUpReading();
document.querySelector("#tables > .body").append(...data.tables.map((table) => new Table(table).build()));
setUpSections();
