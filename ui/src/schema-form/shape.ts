// Derives from a schema what the form shows for one field. One level at a time: a schema may be
// recursive, and the form is only as deep as the user opened it.
import type { Schema } from "../api/types";
import { type Tree, treeOf } from "./json";
import { isObject, type Keywords, own, resolve } from "./resolve";

export interface Field {
  name: string;
  schema: Schema;
  required: boolean;
}

export interface Form {
  title: string;
  schema: Schema;
}

export type Kind =
  | { is: "string"; format?: string; secret: boolean }
  | { is: "number"; whole: boolean }
  | { is: "boolean" }
  | { is: "null" }
  | { is: "choice"; options: Tree[] }
  | { is: "forms"; forms: Form[] }
  | { is: "object"; fields: Field[]; others: Schema | undefined }
  | { is: "list"; first: Schema[]; items: Schema | undefined }
  | { is: "any" }
  | { is: "nothing" };

export interface Shape {
  kind: Kind;
  /** The type in a word or two. */
  type: string;
  title?: string;
  description?: string;
  nullable: boolean;
  /** The default of the schema. */
  usual?: Tree;
  example?: Tree;
  /** Constraints in words. */
  bounds: string[];
  /** Why there is only a JSON field for it. */
  problem?: string;
}

/** Limit of nested alternatives; more of them are an attack. */
const DEEPEST_FORM = 16;

export function shape(root: Schema, schema: Schema): Shape {
  return shapeAt(root, schema, 0);
}

function shapeAt(root: Schema, schema: Schema, depth: number): Shape {
  const resolved = resolve(root, schema);
  const { words } = resolved;
  const problem = depth > DEEPEST_FORM ? "recursive reference" : resolved.problem;
  const found: Found = problem ? { kind: ANY, nullable: false } : kindOf(root, words, depth);
  const { kind, nullable } = found;
  const examples = own(words, "examples");
  const example = Array.isArray(examples) ? examples[0] : own(words, "example");
  return {
    kind,
    nullable,
    type: named(kind, words),
    title: text(words, "title"),
    description: text(words, "description"),
    usual: own(words, "default") === undefined ? undefined : treeOf(own(words, "default")),
    example: example === undefined ? undefined : treeOf(example),
    bounds: bounds(words),
    problem: problem ?? found.problem,
  };
}

const ANY: Kind = { is: "any" };
const NOTHING: Kind = { is: "nothing" };

interface Found {
  kind: Kind;
  nullable: boolean;
  problem?: string;
}

function kindOf(root: Schema, words: Keywords, depth: number): Found {
  const not = own(words, "not");
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) {
    return { kind: NOTHING, nullable: false };
  }
  if (Object.hasOwn(words, "const")) return choice([words.const]);
  const options = own(words, "enum");
  if (Array.isArray(options)) return choice(options);
  const forms = own(words, "anyOf") ?? own(words, "oneOf");
  if (Array.isArray(forms) && forms.length > 0) return formsOf(root, words, forms, depth);
  return byType(words);
}

function choice(options: unknown[]): Found {
  const trees = options.map(treeOf);
  if (trees.length === 0) return { kind: NOTHING, nullable: false };
  const others = trees.filter((it) => it.type !== "null");
  // Only `null` can be selected.
  if (others.length === 0) return { kind: { is: "null" }, nullable: false };
  return { kind: { is: "choice", options: others }, nullable: others.length < trees.length };
}

/** Alternatives, each merged with the keywords beside `anyOf`; a `null` alternative makes it nullable. */
function formsOf(root: Schema, words: Keywords, forms: unknown[], depth: number): Found {
  const { anyOf: _, oneOf: __, title: ___, default: ____, description: _____, ...beside } = words;
  const constants = forms.map((form) => constant(root, form));
  if (constants.every((it) => it !== undefined)) return choice(constants.map((it) => it.value));
  const kept = forms.filter((form) => !isNull(root, form));
  const nullable = kept.length < forms.length;
  const schemas = kept.map((form): Schema => {
    if (!isObject(form)) return form === false ? false : beside;
    return Object.keys(beside).length > 0 ? { allOf: [beside, form] } : form;
  });
  const [only] = schemas;
  if (schemas.length === 1 && only !== undefined) {
    const { kind, nullable: inner, problem } = shapeAt(root, only, depth + 1);
    return { kind, nullable: nullable || inner, problem };
  }
  const titled = schemas.map((schema, at) => ({ title: titleOf(root, schema, at), schema }));
  return { kind: { is: "forms", forms: titled }, nullable };
}

function constant(root: Schema, form: unknown): { value: unknown } | undefined {
  if (!isObject(form)) return undefined;
  const { words } = resolve(root, form);
  return Object.hasOwn(words, "const") ? { value: words.const } : undefined;
}

function isNull(root: Schema, form: unknown): boolean {
  if (!isObject(form)) return false;
  const { words } = resolve(root, form);
  return own(words, "type") === "null" || (Object.hasOwn(words, "const") && words.const === null);
}

function titleOf(root: Schema, schema: Schema, at: number): string {
  const { words } = resolve(root, schema);
  const title = text(words, "title");
  if (title) return title;
  const properties = own(words, "properties");
  if (isObject(properties)) {
    // A constant field is a discriminator.
    const told = Object.entries(properties).find(
      ([, it]) => isObject(it) && Object.hasOwn(it, "const"),
    );
    if (told) return `${told[0]}: ${String((told[1] as Keywords).const)}`;
    const required = own(words, "required");
    if (Array.isArray(required) && required.length > 0) return `with ${required.join(", ")}`;
  }
  const found = byType(words);
  return found.kind.is === "any" ? `option ${at + 1}` : named(found.kind, words);
}

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];

function byType(words: Keywords): Found {
  const said = own(words, "type");
  const types = (Array.isArray(said) ? said : [said]).filter(
    (it): it is string => typeof it === "string" && TYPES.includes(it),
  );
  const nullable = types.includes("null");
  const others = [...new Set(types.filter((it) => it !== "null"))];
  if (nullable && others.length === 0) return { kind: { is: "null" }, nullable: false };
  if (others.length > 1) {
    const forms = others.map((type) => ({ title: type, schema: { ...words, type } }));
    return { kind: { is: "forms", forms }, nullable };
  }
  return { kind: one(others[0] ?? guessed(words), words), nullable };
}

/** Guesses a missing type from the other keywords. */
function guessed(words: Keywords): string | undefined {
  const has = (...names: string[]) => names.some((name) => Object.hasOwn(words, name));
  if (has("properties", "additionalProperties", "patternProperties")) return "object";
  if (has("items", "prefixItems")) return "array";
  if (has("pattern", "minLength", "maxLength")) return "string";
  return has("minimum", "maximum", "multipleOf") ? "number" : undefined;
}

function one(type: string | undefined, words: Keywords): Kind {
  switch (type) {
    case "string":
      return textual(words);
    case "number":
    case "integer":
      return { is: "number", whole: type === "integer" };
    case "boolean":
      return { is: "boolean" };
    case "object":
      return objectOf(words);
    case "array":
      return listOf(words);
    default:
      return ANY;
  }
}

function textual(words: Keywords): Kind {
  const format = text(words, "format");
  const secret = format === "password" || own(words, "writeOnly") === true;
  return { is: "string", format, secret };
}

function objectOf(words: Keywords): Kind {
  const properties = own(words, "properties");
  const required = own(words, "required");
  const needed = new Set(Array.isArray(required) ? required : []);
  const fields = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    schema: schemaOf(schema),
    required: needed.delete(name),
  }));
  // A required field without a schema accepts anything.
  for (const name of needed) {
    if (typeof name === "string") fields.push({ name, schema: true, required: true });
  }
  return { is: "object", fields, others: othersOf(words, fields.length) };
}

/** The schema of additional properties. */
function othersOf(words: Keywords, named: number): Schema | undefined {
  const patterns = own(words, "patternProperties");
  const [pattern] = isObject(patterns) ? Object.values(patterns) : [];
  if (pattern !== undefined) return schemaOf(pattern);
  const others = own(words, "additionalProperties");
  if (others === false) return undefined;
  if (isObject(others)) return others;
  // Most schemas allow additional properties only by default, not on purpose.
  return named === 0 || others === true ? true : undefined;
}

function listOf(words: Keywords): Kind {
  const items = own(words, "items");
  const prefix = own(words, "prefixItems") ?? (Array.isArray(items) ? items : []);
  const first = Array.isArray(prefix) ? prefix.map(schemaOf) : [];
  const rest = Array.isArray(items) ? own(words, "additionalItems") : items;
  return { is: "list", first, items: rest === false ? undefined : schemaOf(rest) };
}

function schemaOf(value: unknown): Schema {
  return isObject(value) || value === false ? value : true;
}

function text(words: Keywords, name: string): string | undefined {
  const value = own(words, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function named(kind: Kind, words: Keywords): string {
  switch (kind.is) {
    case "string":
      return kind.format ?? "text";
    case "number":
      return kind.whole ? "integer" : "number";
    case "choice":
      return kind.options.length === 1 ? "constant" : "choice";
    case "forms":
      return "one of";
    case "object":
      return kind.fields.length === 0 && own(words, "additionalProperties") ? "map" : "object";
    case "any":
      return "JSON";
    default:
      return kind.is;
  }
}

const BOUNDS: [string, (value: unknown) => string][] = [
  ["minimum", (it) => `at least ${it}`],
  ["exclusiveMinimum", (it) => `more than ${it}`],
  ["maximum", (it) => `at most ${it}`],
  ["exclusiveMaximum", (it) => `less than ${it}`],
  ["multipleOf", (it) => `a multiple of ${it}`],
  ["minLength", (it) => `${it} characters or more`],
  ["maxLength", (it) => `up to ${it} characters`],
  ["minItems", (it) => `${it} items or more`],
  ["maxItems", (it) => `up to ${it} items`],
];

function bounds(words: Keywords): string[] {
  const said = BOUNDS.filter(([name]) => typeof own(words, name) === "number").map(([name, say]) =>
    say(words[name]),
  );
  const pattern = text(words, "pattern");
  if (pattern) said.push(`matches ${pattern}`);
  if (own(words, "uniqueItems") === true) said.push("unique items");
  return said;
}
