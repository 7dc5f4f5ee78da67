// The input of a form so far, and the JSON it becomes. Unset fields are `undefined` and never sent;
// input that does not fit the schema is kept.
import type { Schema } from "../api/types";
import { isNumber, JsonSyntaxError, parseJson, printJson, type Tree } from "./json";
import type { Path } from "./paths";
import { shapeOf } from "./shape";

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

export interface DraftError {
  path: Path;
  message: string;
}

/** The JSON to send, or all errors that prevent it. */
export interface SerializedDraft {
  text: string | undefined;
  errors: DraftError[];
}

/** Required objects are opened automatically up to this depth. */
const MAX_OPEN_DEPTH = 4;

/** The initial input: required objects and lists are present but empty, everything else is unset. */
export function initialDraft(root: Schema, schema: Schema, depth = 0): Draft | undefined {
  if (depth > MAX_OPEN_DEPTH) return undefined;
  const { kind } = shapeOf(root, schema);
  switch (kind.is) {
    case "object":
      return {
        type: "object",
        fields: kind.fields.flatMap(({ name, schema, required }): [string, Draft | undefined][] => {
          const draft = required ? initialDraft(root, schema, depth + 1) : undefined;
          return draft ? [[name, draft]] : [];
        }),
      };
    case "list":
      return { type: "list", items: kind.first.map((it) => initialDraft(root, it, depth + 1)) };
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
export function openDraft(root: Schema, schema: Schema): Draft {
  return initialDraft(root, schema) ?? { type: "json", text: "" };
}

/** Serializes a draft to JSON. */
export function serializeDraft(draft: Draft | undefined): SerializedDraft {
  if (draft === undefined) return { text: undefined, errors: [] };
  const errors: DraftError[] = [];
  const tree = treeOfDraft(draft, [], errors);
  return { text: tree && errors.length === 0 ? printJson(tree) : undefined, errors };
}

function treeOfDraft(draft: Draft, path: Path, errors: DraftError[]): Tree | undefined {
  switch (draft.type) {
    case "number": {
      const text = draft.text.trim();
      if (isNumber(text)) return { type: "number", text };
      errors.push({ path, message: describeBadNumber(text) });
      return undefined;
    }
    case "json":
      try {
        return parseJson(draft.text);
      } catch (error) {
        errors.push({ path, message: describeJsonError(error) });
        return undefined;
      }
    case "form":
      if (draft.of) return treeOfDraft(draft.of, path, errors);
      errors.push({ path, message: "value missing" });
      return undefined;
    case "list":
      return {
        type: "list",
        items: draft.items.flatMap((item, at) => itemOf(item, [...path, at], errors)),
      };
    case "object":
      return { type: "object", fields: fieldsOf(draft.fields, path, errors) };
    default:
      return draft;
  }
}

function itemOf(item: Draft | undefined, path: Path, errors: DraftError[]): Tree[] {
  if (item === undefined) {
    errors.push({ path, message: "empty item: fill it in or remove it" });
    return [];
  }
  const tree = treeOfDraft(item, path, errors);
  return tree ? [tree] : [];
}

function fieldsOf(
  fields: [string, Draft | undefined][],
  path: Path,
  errors: DraftError[],
): [string, Tree][] {
  const seen = new Set<string>();
  return fields.flatMap(([name, value]): [string, Tree][] => {
    const here = [...path, name];
    if (seen.has(name))
      errors.push({ path: here, message: `duplicate name ${JSON.stringify(name)}` });
    seen.add(name);
    const tree = value && treeOfDraft(value, here, errors);
    return tree ? [[name, tree]] : [];
  });
}

function describeBadNumber(text: string): string {
  if (text === "") return "enter a number or clear the field";
  const corrected = text
    .replace(",", ".")
    .replace(/^\+/, "")
    .replace(/^(-?)\./, "$10.");
  const hint = corrected !== text && isNumber(corrected) ? `; did you mean ${corrected}?` : "";
  return `“${text}” is not a valid JSON number${hint}`;
}

export function describeJsonError(error: unknown): string {
  if (!(error instanceof JsonSyntaxError)) return String(error);
  return `line ${error.line}, column ${error.column}: ${error.message}`;
}

/** Converts JSON to form input. Parts that fit no field stay raw JSON. */
export function draftFromJson(root: Schema, schema: Schema, tree: Tree): Draft {
  if (tree.type === "null") return tree;
  const { kind } = shapeOf(root, schema);
  switch (kind.is) {
    case "forms": {
      const at = closestForm(
        root,
        kind.forms.map((it) => it.schema),
        tree,
      );
      return { type: "form", at, of: draftFromJson(root, kind.forms[at]?.schema ?? true, tree) };
    }
    case "object":
      if (tree.type !== "object") break;
      return {
        type: "object",
        fields: tree.fields.map(([name, value]) => {
          const known = kind.fields.find((it) => it.name === name)?.schema ?? kind.others ?? true;
          return [name, draftFromJson(root, known, value)];
        }),
      };
    case "list":
      if (tree.type !== "list") break;
      return {
        type: "list",
        items: tree.items.map((item, at) =>
          draftFromJson(root, kind.first[at] ?? kind.items ?? true, item),
        ),
      };
    case "choice":
      if (kind.options.some((it) => printJson(it) === printJson(tree))) return tree;
      break;
    case "string":
    case "number":
    case "boolean":
      if (tree.type === kind.is) return tree;
      break;
  }
  return { type: "json", text: printJson(tree) };
}

/** The alternative that fits a value best. */
function closestForm(root: Schema, forms: Schema[], tree: Tree): number {
  const all = forms.map((form) => scoreForm(root, form, tree));
  return Math.max(all.indexOf(Math.max(...all)), 0);
}

function scoreForm(root: Schema, form: Schema, tree: Tree): number {
  const { kind } = shapeOf(root, form);
  switch (kind.is) {
    case "choice":
      return kind.options.some((it) => printJson(it) === printJson(tree)) ? 3 : -1;
    case "object": {
      if (tree.type !== "object") return -1;
      const names = new Map(tree.fields);
      const missing = kind.fields.filter((it) => it.required && !names.has(it.name)).length;
      const matches = kind.fields.reduce((sum, it) => {
        const value = names.get(it.name);
        const inner = value && shapeOf(root, it.schema).kind;
        if (!value || inner?.is !== "choice") return sum;
        return (
          sum + (inner.options.some((option) => printJson(option) === printJson(value)) ? 1 : -2)
        );
      }, 0);
      return 2 - missing + matches;
    }
    case "any":
    case "forms":
      return 0;
    default:
      return tree.type === kind.is ? 2 : -1;
  }
}
