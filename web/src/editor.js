// The editor in place of the text field, which stays in the form and holds the same text.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, undo } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap,
  lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { cuda } from "./cuda.js";
import { Draft, remember, remembered } from "./drafts.js";

const SAVE_MS = 400;
const PREVIEW_MS = 700;
const LEAVE_MS = 8000;

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.processingInstruction], color: "var(--code-word)" },
  { tag: [tags.typeName, tags.standard(tags.typeName)], color: "var(--code-name)" },
  { tag: [tags.string, tags.character], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.definition(tags.variableName))], fontWeight: "600" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--page)", color: "var(--text)", fontSize: ".86rem", height: "min(34rem, 55vh)" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--link) 9%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "color-mix(in srgb, var(--link) 30%, transparent)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--main)", color: "var(--main-text)" },
  ".cm-diagnostic": { color: "var(--text)" },
  ".cm-cuda-word, .cm-cuda-word span": { color: "var(--code-word) !important", fontWeight: "600" },
  ".cm-cuda-name, .cm-cuda-name span": { color: "var(--code-name) !important" },
  ".cm-cuda-call, .cm-cuda-call span": { color: "var(--code-number) !important" },
  ".cm-cuda-line, .cm-cuda-line span": { color: "var(--good) !important", fontStyle: "normal" },
});

export function startEditor(form) {
  const field = document.getElementById("source");
  const draft = new Draft(form.dataset.problem);
  const starter = document.getElementById("starter").content.textContent;
  const stored = form.dataset.fresh === "no" ? draft.load() : null;
  const saved = document.getElementById("saved");
  const vimKeys = new Compartment();
  let saving = null;
  let previewing = null;

  function keep() {
    field.value = view.state.doc.toString();
    saved.textContent = draft.save(field.value) ? "kept in this browser" : "this browser keeps no drafts";
  }

  function changed() {
    clearTimeout(saving);
    clearTimeout(previewing);
    saving = setTimeout(keep, SAVE_MS);
    previewing = setTimeout(preview, PREVIEW_MS);
  }

  function preview() {
    field.value = view.state.doc.toString();
    document.getElementById("launch-case").dispatchEvent(new CustomEvent("preview"));
  }

  function submit() {
    form.requestSubmit(document.getElementById("submit"));
    return true;
  }

  const view = new EditorView({
    parent: document.getElementById("editor"),
    state: EditorState.create({
      doc: stored ?? field.value,
      extensions: [
        EditorView.cspNonce.of(form.dataset.nonce),
        vimKeys.of([]),
        // The editor's own two seconds are short for a slow hand.
        Prec.highest(keymap.of([{ key: "Escape", run: (it) => (it.setTabFocusMode(LEAVE_MS), false) }, { key: "Mod-Enter", run: submit }, { key: "Mod-s", run: () => (keep(), true) }])),
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(),
        indentOnInput(), indentUnit.of("  "), bracketMatching(), closeBrackets(), autocompletion(),
        highlightActiveLine(), highlightSelectionMatches(), lintGutter(), cpp(), syntaxHighlighting(colors), cuda, look,
        EditorView.contentAttributes.of({ tabindex: "0", "aria-labelledby": "source-label", "aria-describedby": "source-help" }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap,
          ...lintKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
      ],
    }),
  });
  document.documentElement.classList.add("editing");
  field.value = view.state.doc.toString();
  // The label's text field is hidden now; its click belongs to what is seen.
  document.getElementById("source-label").addEventListener("click", () => view.focus());
  if (stored !== null && stored !== starter) saved.textContent = "your draft, as you left it";

  const marks = JSON.parse(form.dataset.marks);
  const lines = view.state.doc.lines;
  view.dispatch(setDiagnostics(view.state, marks.filter(({ line }) => line >= 1 && line <= lines).map(({ line, message }) => {
    const at = view.state.doc.line(line);
    const indent = at.text.length - at.text.trimStart().length;
    return { from: at.from + indent, to: at.to, severity: "error", message };
  })));
  if (marks.length && marks[0].line <= lines) {
    const at = view.state.doc.line(marks[0].line).from;
    view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  }

  function replace(text) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: "input.replace" });
  }

  // A page that brings a source of its own must not cost the draft that was here.
  const bringBack = document.getElementById("bring-back");
  const before = stored === null ? draft.setAside(field.value) : null;
  bringBack.hidden = before === null || before === field.value || before === starter;
  bringBack.addEventListener("click", () => {
    replace(before);
    bringBack.hidden = true;
    view.focus();
  });

  const undoReset = document.getElementById("undo-reset");
  document.getElementById("reset").addEventListener("click", () => {
    replace(starter);
    undoReset.hidden = false;
    undoReset.focus();
  });
  undoReset.addEventListener("click", () => {
    undo(view);
    undoReset.hidden = true;
    view.focus();
  });

  const vim = document.getElementById("vim");
  async function useVim(on) {
    const keys = on ? (await import(form.dataset.vim)).vim({ status: true }) : [];
    view.dispatch({ effects: vimKeys.reconfigure(keys) });
  }
  vim.checked = remembered("vim") === "yes";
  if (vim.checked) useVim(true);
  vim.addEventListener("change", () => { remember("vim", vim.checked ? "yes" : "no"); useVim(vim.checked); });

  for (const name of ["backend", "cases-choice"]) {
    const choice = document.getElementById(name);
    const last = remembered(name);
    if (last && [...choice.options].some((option) => option.value === last)) choice.value = last;
    choice.addEventListener("change", () => remember(name, choice.value));
  }

  form.addEventListener("submit", keep);
  window.addEventListener("pagehide", keep);
  // A page that comes back out of the browser's memory would send its key a second time.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  preview();
}
