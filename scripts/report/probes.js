// What the checks ask of the page, run inside it. Each returns plain values: mostly a list of problems.

function isShown(element) {
  return element.checkVisibility();
}

function contrastMeter() {
  // A canvas resolves and blends colours, however they were written.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = (layers) => {
    for (const color of ["#fff", ...layers]) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return (element) => {
    const behind = [];
    for (let node = element; node; node = node.parentElement) behind.unshift(getComputedStyle(node).backgroundColor);
    const layers = [...behind, getComputedStyle(element).color];
    const key = layers.join();
    if (!known.has(key)) {
      const [dark, light] = [luminance(behind), luminance(layers)].sort((a, b) => a - b);
      known.set(key, (light + 0.05) / (dark + 0.05));
    }
    return known.get(key);
  };
}

function lowContrast() {
  const contrast = contrastMeter();
  const elements = new Set(document.querySelectorAll("input, select"));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) if (texts.currentNode.data.trim()) elements.add(texts.currentNode.parentElement);
  // A label upon a coloured mark of a figure has a fill of its own, chosen for that mark.
  const hasOwnFill = (e) => e.ownerSVGElement && getComputedStyle(e).fill !== getComputedStyle(e).color;
  return [...elements].filter((e) => e.getClientRects().length > 0 && !hasOwnFill(e) && contrast(e) < 4.5)
    .map((e) => `${contrast(e).toFixed(2)} of "${e.textContent.slice(0, 40)}"`);
}

// Text of figures that leaves its svg or lies upon other text; rotated text is compared with no other.
function misplacedText() {
  const problems = [];
  for (const svg of [...document.querySelectorAll("figure svg")].filter(isShown)) {
    const frame = svg.getBoundingClientRect();
    const name = (text) => `${svg.closest("figure").id} "${text.textContent.slice(0, 30)}"`;
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.getClientRects().length > 0)
      .map((text) => ({ text, box: text.getBoundingClientRect(), level: Math.abs(text.getCTM().b) < 1e-6 }));
    texts.forEach(({ text, box, level }, index) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        problems.push(`${name(text)} leaves the figure`);
      for (const other of texts.slice(index + 1)) {
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (level && other.level && wide > 1 && high > 1) problems.push(`${name(text)} lies upon ${name(other.text)}`);
      }
    });
  }
  return problems;
}

function clippedElements() {
  const overflows = (e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
  return [...document.querySelectorAll("body :not(svg, svg *)")]
    .filter((e) => e.clientWidth > 1 && getComputedStyle(e).overflowX !== "visible" && overflows(e))
    .map((e) => e.outerHTML.slice(0, 80));
}

function shownControls() {
  return [...document.querySelectorAll("input, select, button:not(th button)")].filter(isShown)
    .map((e) => e.outerHTML.slice(0, 80));
}

function outsideAddresses() {
  const names = ["src", "srcset", "href", "xlink:href", "action", "data"];
  return [...document.querySelectorAll("*")].flatMap((e) => names.map((name) => e.getAttribute(name)))
    .filter((address) => address && !/^(#|data:|blob:)/.test(address));
}

function headingLevels() {
  return [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(isShown).map((e) => Number(e.tagName[1]));
}

function figureResponses() {
  return [...document.querySelectorAll("figure")]
    .map((e) => ({ id: e.id, response: e.dataset.response, shown: isShown(e) }));
}

function shownSeries() {
  return [...document.querySelectorAll("g.series")].filter((e) => e.getClientRects().length > 0)
    .map((e) => ({ figure: e.closest("figure").id, series: Number(e.dataset.series) }));
}

function tableRows(id) {
  return [...document.querySelectorAll(`#table-${id} tbody tr`)]
    .map((row) => [...row.cells].map((cell) => cell.textContent));
}

function scrollsSideways() {
  return document.documentElement.scrollWidth > innerWidth;
}

function background() {
  return getComputedStyle(document.body).backgroundColor;
}

// Where a point of a figure, in units of its viewBox, lies in the window.
function spotOf(figure, x, y) {
  const svg = document.querySelector(`#${figure} svg`);
  const spot = () => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
  scrollBy(0, spot().y - innerHeight / 2);   // a figure may be higher than the window
  return { x: spot().x, y: spot().y };
}

function choose(selector, value) {
  const menu = document.querySelector(selector);
  menu.value = value;
  for (const type of ["input", "change"]) menu.dispatchEvent(new Event(type, { bubbles: true }));
}

function click(selector) {
  document.querySelector(selector).click();
}
