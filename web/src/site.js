// On every page: htmx for its parts, results as they come, copying, and the editor and formulas where a page has them.
import htmx from "htmx.org";
import { watch } from "./live.js";

window.htmx = htmx;
const root = document.documentElement;
root.classList.add("js");

function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const folded = target.closest("details");
  if (folded) folded.open = true;
  target.scrollIntoView({ block: "nearest" });
}

function addCopyButtons(within) {
  for (const text of within.querySelectorAll(".copy, pre > code")) {
    if (text.dataset.copied) continue;
    text.dataset.copied = "no";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copier";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    text.after(button);
  }
}

async function setMath(within) {
  const holder = document.querySelector("[data-math]");
  if (!holder || !within.querySelector(".math:not(.set)")) return;
  const { setFormulas } = await import(holder.dataset.math);
  setFormulas(within);
}

// What scrolls sideways says so for as long as there is more to see.
const wide = new ResizeObserver((entries) => entries.forEach(({ target }) => tellWidth(target.closest(".scroll"))));

function tellWidth(scroll) {
  const rest = scroll.scrollWidth - scroll.clientWidth;
  scroll.parentElement.classList.toggle("wider", rest > 1);
  scroll.parentElement.classList.toggle("more", rest - scroll.scrollLeft > 1);
  scroll.parentElement.classList.toggle("moved", scroll.scrollLeft > 1);
}

function watchWidths(within) {
  for (const scroll of within.querySelectorAll(".wide > .scroll")) {
    if (scroll.dataset.watched) continue;
    scroll.dataset.watched = "yes";
    scroll.addEventListener("scroll", () => tellWidth(scroll), { passive: true });
    wide.observe(scroll);
    for (const inner of scroll.children) wide.observe(inner);
  }
}

function enhance(within) {
  watchWidths(within);
  addCopyButtons(within);
  setMath(within);
}

window.addEventListener("hashchange", openTarget);
document.addEventListener("htmx:afterSwap", () => enhance(document.body));
// A map's cell is a link inside a picture: when its row is the target already, no hash changes.
document.addEventListener("click", (event) => {
  if (event.target.closest?.(".map a")) setTimeout(openTarget);
});

enhance(document.body);
openTarget();

const live = document.getElementById("live");
if (live && live.dataset.over === "no") watch(live);

const form = document.getElementById("submit-form");
if (form && form.dataset.editor) import(form.dataset.editor).then(({ startEditor }) => startEditor(form));
