// What this browser keeps: a draft for each problem, and choices. Where it keeps nothing, nothing is lost but that.
const PREFIX = "kernel-judge:";

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
    return true;
  } catch {
    return false;
  }
}

export function remembered(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export class Draft {
  constructor(problem) {
    this.name = `draft:${problem}`;
  }

  load() {
    return remembered(this.name);
  }

  save(text) {
    return remember(this.name, text);
  }

  // What another text takes the place of; gives it back, or null where there is nothing to lose.
  setAside(text) {
    const draft = this.load();
    if (draft !== null && draft !== text) remember(`${this.name}:before`, draft);
    return remembered(`${this.name}:before`);
  }
}
