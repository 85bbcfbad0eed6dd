// Formulas set by KaTeX over the plain text that the server wrote. It makes elements, no style attributes in markup.
import katex from "katex";
import "katex/dist/katex.min.css";

export function setFormulas(within) {
  for (const place of within.querySelectorAll(".math:not(.set)")) {
    const plain = place.textContent;
    try {
      katex.render(place.dataset.tex, place, { displayMode: place.dataset.display === "yes", throwOnError: true });
      place.classList.add("set");
    } catch {
      place.textContent = plain;
    }
  }
}
