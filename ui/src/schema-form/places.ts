// Paths within the arguments, and the validation errors of the gateway by path. The gateway writes
// paths as `filter.tags[2]`.

export type Path = readonly (string | number)[];

/** The gateway truncates names at the same length. */
const LONGEST = 60;

export function placeOf(path: Path): string {
  let place = "";
  for (const part of path) {
    if (typeof part === "number") place += `[${part}]`;
    else place += (place ? "." : "") + shortened(part);
  }
  return place;
}

function shortened(name: string): string {
  const characters = [...name];
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST).join("")}…` : name;
}

/** Error messages by path; the empty path is the whole value. */
export type Placed = ReadonlyMap<string, string>;

export function placed(wrong: readonly { path: Path; message: string }[]): Placed {
  return gathered(wrong.map(({ path, message }) => [placeOf(path), message]));
}

/** Parses the message of `invalid_arguments`: "… do not fit its schema: `n`: expected …; `x` is
 * missing". */
export function refused(message: string): Placed {
  const said = /do not fit its schema: (.*)$/s.exec(message)?.[1];
  if (said === undefined) return new Map();
  return gathered(sentences(said).map(about));
}

/** Sentences are separated by `; ` and may contain it: each starts with a name in backticks. */
function sentences(said: string): string[] {
  const found: string[] = [];
  for (const part of said.split("; ")) {
    const begins = /^`.*?`(?::| is missing| is unknown)/.test(part) || found.length === 0;
    if (begins) found.push(part);
    else found.push(`${found.pop()}; ${part}`);
  }
  return found;
}

function about(sentence: string): [string, string] {
  const [, place = "", rest = sentence] = /^`(.*?)`: (.*)$/s.exec(sentence) ?? [];
  const [, name, what] = /^`(.*?)` (is missing|is unknown)/.exec(rest) ?? [];
  if (name === undefined) return [place, rest];
  const words = rest.slice(name.length + 3);
  return [place ? `${place}.${name}` : name, what === "is missing" ? words : rest];
}

function gathered(said: [string, string][]): Placed {
  const all = new Map<string, string>();
  for (const [place, words] of said) {
    const before = all.get(place);
    all.set(place, before ? `${before}; ${words}` : words);
  }
  return all;
}
