// Paths within the arguments, and the validation errors of the gateway by path. The gateway writes
// paths as `filter.tags[2]`.

export type Path = readonly (string | number)[];

/** The gateway truncates names at the same length. */
const MAX_NAME_LENGTH = 60;

export function formatPath(path: Path): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += (text ? "." : "") + shortenName(part);
  }
  return text;
}

function shortenName(name: string): string {
  const characters = [...name];
  return characters.length > MAX_NAME_LENGTH
    ? `${characters.slice(0, MAX_NAME_LENGTH).join("")}…`
    : name;
}

/** Error messages by path; the empty path is the whole value. */
export type ErrorsByPath = ReadonlyMap<string, string>;

export function groupErrors(errors: readonly { path: Path; message: string }[]): ErrorsByPath {
  return joinErrors(errors.map(({ path, message }) => [formatPath(path), message]));
}

/** Parses the message of `invalid_arguments`: "… do not fit its schema: `n`: expected …; `x` is
 * missing". */
export function parseRejection(message: string): ErrorsByPath {
  const details = /do not fit its schema: (.*)$/s.exec(message)?.[1];
  if (details === undefined) return new Map();
  return joinErrors(splitSentences(details).map(parseSentence));
}

/** Sentences are separated by `; ` and may contain it: each starts with a name in backticks. */
function splitSentences(text: string): string[] {
  const found: string[] = [];
  for (const part of text.split("; ")) {
    const startsSentence = /^`.*?`(?::| is missing| is unknown)/.test(part) || found.length === 0;
    if (startsSentence) found.push(part);
    else found.push(`${found.pop()}; ${part}`);
  }
  return found;
}

function parseSentence(sentence: string): [string, string] {
  const [, path = "", rest = sentence] = /^`(.*?)`: (.*)$/s.exec(sentence) ?? [];
  const [, name, what] = /^`(.*?)` (is missing|is unknown)/.exec(rest) ?? [];
  if (name === undefined) return [path, rest];
  const message = rest.slice(name.length + 3);
  return [path ? `${path}.${name}` : name, what === "is missing" ? message : rest];
}

function joinErrors(errors: [string, string][]): ErrorsByPath {
  const all = new Map<string, string>();
  for (const [path, message] of errors) {
    const before = all.get(path);
    all.set(path, before ? `${before}; ${message}` : message);
  }
  return all;
}
