// Names with `*` (any run of characters) and `?` (any one), as the gateway reads them: case counts.

export function matches(glob: string, name: string): boolean {
  const [pattern, text] = [[...glob], [...name]];
  let [at, from] = [0, 0];
  // Where to go on when the last star has to take one character more.
  let [star, taken] = [-1, 0];
  while (at < text.length) {
    if (pattern[from] === "*") {
      star = from;
      taken = at;
      from += 1;
    } else if (pattern[from] === "?" || pattern[from] === text[at]) {
      from += 1;
      at += 1;
    } else if (star >= 0) {
      taken += 1;
      from = star + 1;
      at = taken;
    } else {
      return false;
    }
  }
  return pattern.slice(from).every((it) => it === "*");
}

/** No list lets everything through. */
export function lets(globs: readonly string[] | null, name: string): boolean {
  return globs === null || globs.some((glob) => matches(glob, name));
}

/** What somebody typed as a list: by commas, blanks or lines. Nothing typed is no list. */
export function listed(text: string): string[] | undefined {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.length > 0 ? words : undefined;
}
