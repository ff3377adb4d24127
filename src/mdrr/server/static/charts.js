// Charts as the server draws them, and their places on the page.

import { Refused, ask } from "./owner.js";

// Only shapes and words are taken over.
const SHAPES = new Set(["svg", "title", "g", "path", "text", "tspan", "rect", "line", "circle", "ellipse"]);

export async function chart(name, values) {
  const text = await (await ask(`charts/${name}.svg`, values)).text();
  const drawn = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return clean(drawn, SHAPES);
}

const PARTS = new Set([...SHAPES, "figure", "figcaption", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td", "span"]);

export async function parts(name, values) {
  const text = await (await ask(`charts/${name}.html`, values)).text();
  const { body } = new DOMParser().parseFromString(text, "text/html");
  return [...body.children].map((node) => clean(node, PARTS));
}

function clean(node, known) {
  for (const each of [node, ...node.querySelectorAll("*")]) {
    const unsafe = [...each.attributes].some(({ name }) => name.startsWith("on") || /href|src|style/.test(name));
    if (unsafe || !known.has(each.localName)) throw new Refused(0, "The server sent a chart that is none.");
  }
  return document.importNode(node, true);
}

// How wide a chart may be in its place.
export const wide = (place) => Math.max(160, Math.min(640, Math.floor((place.clientWidth - 60) / 20) * 20));

// Put a chart in its place. If its labels make it a little wider than that, it shrinks; else it can be scrolled.
export function draw(place, svg) {
  const room = place.clientWidth;
  const width = parseFloat(svg.getAttribute("width"));
  if (width > room && width < 1.2 * room) {
    svg.setAttribute("width", room);
    svg.removeAttribute("height");
  }
  place.replaceChildren(svg);
  scrolling(place);
}

// A chart wider than the screen can be scrolled, with the keyboard too.
export function scrolling(place) {
  const scrolls = place.scrollWidth > place.clientWidth + 1;
  const caption = place.closest("figure")?.querySelector("figcaption")?.textContent ?? place.id;
  const label = `Chart, can be scrolled: ${caption}`;
  for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", label]]) {
    if (scrolls) place.setAttribute(key, value);
    else place.removeAttribute(key);
  }
}
