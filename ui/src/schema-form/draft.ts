// The input of a form so far, and the JSON it becomes. Unset fields are `undefined` and never sent;
// input that does not fit the schema is kept.
import type { Schema } from "../api/types";
import { isNumber, NotJson, parse, print, type Tree } from "./json";
import type { Path } from "./places";
import { shape } from "./shape";

export type Draft =
  | { type: "null" }
  | { type: "boolean"; value: boolean }
  /** As typed; it may not be a number yet. */
  | { type: "number"; text: string }
  | { type: "string"; text: string }
  | { type: "list"; items: (Draft | undefined)[] }
  | { type: "object"; fields: [string, Draft | undefined][] }
  /** The selected alternative of `anyOf` or `oneOf`, and its input. */
  | { type: "form"; at: number; of: Draft | undefined }
  /** Raw JSON, where there is no form. */
  | { type: "json"; text: string };

export interface Wrong {
  path: Path;
  message: string;
}

/** The JSON to send, or all errors that prevent it. */
export interface Written {
  text: string | undefined;
  wrong: Wrong[];
}

/** Required objects are opened automatically up to this depth. */
const OPENED = 4;

/** The initial input: required objects and lists are present but empty, everything else is unset. */
export function begin(root: Schema, schema: Schema, depth = 0): Draft | undefined {
  if (depth > OPENED) return undefined;
  const { kind } = shape(root, schema);
  switch (kind.is) {
    case "object":
      return {
        type: "object",
        fields: kind.fields.flatMap(({ name, schema, required }): [string, Draft | undefined][] => {
          const begun = required ? begin(root, schema, depth + 1) : undefined;
          return begun ? [[name, begun]] : [];
        }),
      };
    case "list":
      return { type: "list", items: kind.first.map((it) => begin(root, it, depth + 1)) };
    case "choice": {
      const [only, ...others] = kind.options;
      return only && others.length === 0 ? only : undefined;
    }
    case "null":
      return { type: "null" };
    default:
      return undefined;
  }
}

/** The input of a group that the user opens: never `undefined`, so that there is something to fill in. */
export function opened(root: Schema, schema: Schema): Draft {
  return begin(root, schema) ?? { type: "json", text: "" };
}

/** Serializes a draft to JSON. */
export function written(draft: Draft | undefined): Written {
  if (draft === undefined) return { text: undefined, wrong: [] };
  const wrong: Wrong[] = [];
  const tree = treeOfDraft(draft, [], wrong);
  return { text: tree && wrong.length === 0 ? print(tree) : undefined, wrong };
}

function treeOfDraft(draft: Draft, path: Path, wrong: Wrong[]): Tree | undefined {
  switch (draft.type) {
    case "number": {
      const text = draft.text.trim();
      if (isNumber(text)) return { type: "number", text };
      wrong.push({ path, message: notNumber(text) });
      return undefined;
    }
    case "json":
      try {
        return parse(draft.text);
      } catch (error) {
        wrong.push({ path, message: whyNot(error) });
        return undefined;
      }
    case "form":
      if (draft.of) return treeOfDraft(draft.of, path, wrong);
      wrong.push({ path, message: "value missing" });
      return undefined;
    case "list":
      return {
        type: "list",
        items: draft.items.flatMap((item, at) => itemOf(item, [...path, at], wrong)),
      };
    case "object":
      return { type: "object", fields: fieldsOf(draft.fields, path, wrong) };
    default:
      return draft;
  }
}

function itemOf(item: Draft | undefined, path: Path, wrong: Wrong[]): Tree[] {
  if (item === undefined) {
    wrong.push({ path, message: "empty item: fill it in or remove it" });
    return [];
  }
  const tree = treeOfDraft(item, path, wrong);
  return tree ? [tree] : [];
}

function fieldsOf(
  fields: [string, Draft | undefined][],
  path: Path,
  wrong: Wrong[],
): [string, Tree][] {
  const seen = new Set<string>();
  return fields.flatMap(([name, value]): [string, Tree][] => {
    const here = [...path, name];
    if (seen.has(name))
      wrong.push({ path: here, message: `duplicate name ${JSON.stringify(name)}` });
    seen.add(name);
    const tree = value && treeOfDraft(value, here, wrong);
    return tree ? [[name, tree]] : [];
  });
}

function notNumber(text: string): string {
  if (text === "") return "enter a number or clear the field";
  const mended = text
    .replace(",", ".")
    .replace(/^\+/, "")
    .replace(/^(-?)\./, "$10.");
  const hint = mended !== text && isNumber(mended) ? `; did you mean ${mended}?` : "";
  return `“${text}” is not a valid JSON number${hint}`;
}

export function whyNot(error: unknown): string {
  if (!(error instanceof NotJson)) return String(error);
  return `line ${error.line}, column ${error.column}: ${error.message}`;
}

/** Converts JSON to form input. Parts that fit no field stay raw JSON. */
export function drafted(root: Schema, schema: Schema, tree: Tree): Draft {
  if (tree.type === "null") return tree;
  const { kind } = shape(root, schema);
  switch (kind.is) {
    case "forms": {
      const at = nearest(
        root,
        kind.forms.map((it) => it.schema),
        tree,
      );
      return { type: "form", at, of: drafted(root, kind.forms[at]?.schema ?? true, tree) };
    }
    case "object":
      if (tree.type !== "object") break;
      return {
        type: "object",
        fields: tree.fields.map(([name, value]) => {
          const known = kind.fields.find((it) => it.name === name)?.schema ?? kind.others ?? true;
          return [name, drafted(root, known, value)];
        }),
      };
    case "list":
      if (tree.type !== "list") break;
      return {
        type: "list",
        items: tree.items.map((item, at) =>
          drafted(root, kind.first[at] ?? kind.items ?? true, item),
        ),
      };
    case "choice":
      if (kind.options.some((it) => print(it) === print(tree))) return tree;
      break;
    case "string":
    case "number":
    case "boolean":
      if (tree.type === kind.is) return tree;
      break;
  }
  return { type: "json", text: print(tree) };
}

/** The alternative that fits a value best. */
function nearest(root: Schema, forms: Schema[], tree: Tree): number {
  const all = forms.map((form) => closeness(root, form, tree));
  return Math.max(all.indexOf(Math.max(...all)), 0);
}

function closeness(root: Schema, form: Schema, tree: Tree): number {
  const { kind } = shape(root, form);
  switch (kind.is) {
    case "choice":
      return kind.options.some((it) => print(it) === print(tree)) ? 3 : -1;
    case "object": {
      if (tree.type !== "object") return -1;
      const names = new Map(tree.fields);
      const missing = kind.fields.filter((it) => it.required && !names.has(it.name)).length;
      const told = kind.fields.reduce((sum, it) => {
        const value = names.get(it.name);
        const inner = value && shape(root, it.schema).kind;
        if (!value || inner?.is !== "choice") return sum;
        return sum + (inner.options.some((option) => print(option) === print(value)) ? 1 : -2);
      }, 0);
      return 2 - missing + told;
    }
    case "any":
    case "forms":
      return 0;
    default:
      return tree.type === kind.is ? 2 : -1;
  }
}
