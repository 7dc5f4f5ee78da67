// Globs with `*` and `?` as the gateway matches them: case-sensitive.

export function matches(glob: string, name: string): boolean {
  const [pattern, text] = [[...glob], [...name]];
  let [at, from] = [0, 0];
  // Where to backtrack when the last star has to match one more character.
  let [star, matched] = [-1, 0];
  while (at < text.length) {
    if (pattern[from] === "*") {
      star = from;
      matched = at;
      from += 1;
    } else if (pattern[from] === "?" || pattern[from] === text[at]) {
      from += 1;
      at += 1;
    } else if (star >= 0) {
      matched += 1;
      from = star + 1;
      at = matched;
    } else {
      return false;
    }
  }
  return pattern.slice(from).every((it) => it === "*");
}

/** `null` is no allowlist: everything is allowed. */
export function isAllowed(globs: readonly string[] | null, name: string): boolean {
  return globs === null || globs.some((glob) => matches(glob, name));
}

/** Splits input at commas, blanks and newlines; `undefined` if it is empty. */
export function parseList(text: string): string[] | undefined {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.length > 0 ? words : undefined;
}
