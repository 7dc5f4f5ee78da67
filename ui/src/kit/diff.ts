// Line diff in the format of `diff -u`, and a three-way merge, for comparing unsaved edits with the
// current file.

type Line = { mark: " " | "-" | "+"; text: string };

const CONTEXT = 3;
/** Above this size everything is shown as replaced: the comparison would take too long. */
const MAX_CELLS = 4_000_000;

export function diffLines(before: string, after: string): string {
  if (before === after) return "";
  const lines = compareLines(before.split("\n"), after.split("\n"));
  return formatHunks(lines).join("\n");
}

function compareLines(a: readonly string[], b: readonly string[]): Line[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  ) {
    tail += 1;
  }
  const same = (text: string): Line => ({ mark: " ", text });
  return [
    ...a.slice(0, head).map(same),
    ...diffMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
}

/** By the longest common subsequence. */
function diffMiddle(a: readonly string[], b: readonly string[]): Line[] {
  if (a.length * b.length > MAX_CELLS) {
    return [
      ...a.map((text): Line => ({ mark: "-", text })),
      ...b.map((text): Line => ({ mark: "+", text })),
    ];
  }
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: " ", text: a[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: "-", text: a[i] ?? "" });
      i += 1;
    } else {
      lines.push({ mark: "+", text: b[j] ?? "" });
      j += 1;
    }
  }
  return lines;
}

function formatHunks(lines: readonly Line[]): string[] {
  const shown = new Set<number>();
  lines.forEach((line, at) => {
    if (line.mark === " ") return;
    for (let near = at - CONTEXT; near <= at + CONTEXT; near += 1) shown.add(near);
  });
  const out: string[] = [];
  let [before, after, open] = [1, 1, false];
  lines.forEach((line, at) => {
    if (shown.has(at)) {
      if (!open) out.push(`@@ line ${before} / ${after} @@`);
      open = true;
      out.push(line.mark + line.text);
    } else {
      open = false;
    }
    if (line.mark !== "+") before += 1;
    if (line.mark !== "-") after += 1;
  });
  return out;
}

interface Edit {
  /** The replaced lines of the base: from (inclusive) to (exclusive). */
  from: number;
  to: number;
  lines: string[];
}

/** Applies both changes to the base; `undefined` if they touch the same lines. */
export function mergeLines(base: string, mine: string, theirs: string): string | undefined {
  const lines = base.split("\n");
  const ours = findEdits(lines, mine.split("\n"));
  const others = findEdits(lines, theirs.split("\n"));
  const clash = (a: Edit, b: Edit) => a.from <= b.to && b.from <= a.to;
  const equal = (a: Edit, b: Edit) =>
    a.from === b.from && a.to === b.to && a.lines.join("\n") === b.lines.join("\n");
  const fresh = others.filter((b) => !ours.some((a) => equal(a, b)));
  if (fresh.some((b) => ours.some((a) => clash(a, b)))) return undefined;
  const all = [...ours, ...fresh].sort((a, b) => b.from - a.from);
  for (const edit of all) lines.splice(edit.from, edit.to - edit.from, ...edit.lines);
  return lines.join("\n");
}

function findEdits(base: readonly string[], after: readonly string[]): Edit[] {
  const found: Edit[] = [];
  let at = 0;
  let open: Edit | undefined;
  for (const line of compareLines(base, after)) {
    if (line.mark === " ") {
      open = undefined;
      at += 1;
      continue;
    }
    if (!open) {
      open = { from: at, to: at, lines: [] };
      found.push(open);
    }
    if (line.mark === "+") {
      open.lines.push(line.text);
    } else {
      at += 1;
      open.to = at;
    }
  }
  return found;
}
