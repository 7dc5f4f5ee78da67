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
  | { is: "number"; integer: boolean }
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
  defaultValue?: Tree;
  example?: Tree;
  /** Constraints in words. */
  bounds: string[];
  /** Why there is only a JSON field for it. */
  problem?: string;
}

/** Limit of nested alternatives; more of them are an attack. */
const MAX_FORM_DEPTH = 16;

export function shapeOf(root: Schema, schema: Schema): Shape {
  return shapeAt(root, schema, 0);
}

function shapeAt(root: Schema, schema: Schema, depth: number): Shape {
  const resolved = resolve(root, schema);
  const { keywords } = resolved;
  const problem = depth > MAX_FORM_DEPTH ? "recursive reference" : resolved.problem;
  const found: KindResult = problem
    ? { kind: ANY, nullable: false }
    : kindOf(root, keywords, depth);
  const { kind, nullable } = found;
  const examples = own(keywords, "examples");
  const example = Array.isArray(examples) ? examples[0] : own(keywords, "example");
  return {
    kind,
    nullable,
    type: typeName(kind, keywords),
    title: text(keywords, "title"),
    description: text(keywords, "description"),
    defaultValue:
      own(keywords, "default") === undefined ? undefined : treeOf(own(keywords, "default")),
    example: example === undefined ? undefined : treeOf(example),
    bounds: describeBounds(keywords),
    problem: problem ?? found.problem,
  };
}

const ANY: Kind = { is: "any" };
const NEVER: Kind = { is: "nothing" };

interface KindResult {
  kind: Kind;
  nullable: boolean;
  problem?: string;
}

function kindOf(root: Schema, keywords: Keywords, depth: number): KindResult {
  const not = own(keywords, "not");
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) {
    return { kind: NEVER, nullable: false };
  }
  if (Object.hasOwn(keywords, "const")) return choiceKind([keywords.const]);
  const options = own(keywords, "enum");
  if (Array.isArray(options)) return choiceKind(options);
  const forms = own(keywords, "anyOf") ?? own(keywords, "oneOf");
  if (Array.isArray(forms) && forms.length > 0) return formsKind(root, keywords, forms, depth);
  return kindByKeywords(keywords);
}

function choiceKind(options: unknown[]): KindResult {
  const trees = options.map(treeOf);
  if (trees.length === 0) return { kind: NEVER, nullable: false };
  const others = trees.filter((it) => it.type !== "null");
  // Only `null` can be selected.
  if (others.length === 0) return { kind: { is: "null" }, nullable: false };
  return { kind: { is: "choice", options: others }, nullable: others.length < trees.length };
}

/** Alternatives, each merged with the keywords beside `anyOf`; a `null` alternative makes it nullable. */
function formsKind(root: Schema, keywords: Keywords, forms: unknown[], depth: number): KindResult {
  const {
    anyOf: _,
    oneOf: __,
    title: ___,
    default: ____,
    description: _____,
    ...beside
  } = keywords;
  const constants = forms.map((form) => constantOf(root, form));
  if (constants.every((it) => it !== undefined)) return choiceKind(constants.map((it) => it.value));
  const nonNull = forms.filter((form) => !isNull(root, form));
  const nullable = nonNull.length < forms.length;
  const schemas = nonNull.map((form): Schema => {
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

function constantOf(root: Schema, form: unknown): { value: unknown } | undefined {
  if (!isObject(form)) return undefined;
  const { keywords } = resolve(root, form);
  return Object.hasOwn(keywords, "const") ? { value: keywords.const } : undefined;
}

function isNull(root: Schema, form: unknown): boolean {
  if (!isObject(form)) return false;
  const { keywords } = resolve(root, form);
  return (
    own(keywords, "type") === "null" ||
    (Object.hasOwn(keywords, "const") && keywords.const === null)
  );
}

function titleOf(root: Schema, schema: Schema, at: number): string {
  const { keywords } = resolve(root, schema);
  const title = text(keywords, "title");
  if (title) return title;
  const properties = own(keywords, "properties");
  if (isObject(properties)) {
    // A constant field is a discriminator.
    const discriminator = Object.entries(properties).find(
      ([, it]) => isObject(it) && Object.hasOwn(it, "const"),
    );
    if (discriminator)
      return `${discriminator[0]}: ${String((discriminator[1] as Keywords).const)}`;
    const required = own(keywords, "required");
    if (Array.isArray(required) && required.length > 0) return `with ${required.join(", ")}`;
  }
  const found = kindByKeywords(keywords);
  return found.kind.is === "any" ? `option ${at + 1}` : typeName(found.kind, keywords);
}

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];

function kindByKeywords(keywords: Keywords): KindResult {
  const declared = own(keywords, "type");
  const types = (Array.isArray(declared) ? declared : [declared]).filter(
    (it): it is string => typeof it === "string" && TYPES.includes(it),
  );
  const nullable = types.includes("null");
  const others = [...new Set(types.filter((it) => it !== "null"))];
  if (nullable && others.length === 0) return { kind: { is: "null" }, nullable: false };
  if (others.length > 1) {
    const forms = others.map((type) => ({ title: type, schema: { ...keywords, type } }));
    return { kind: { is: "forms", forms }, nullable };
  }
  return { kind: kindByType(others[0] ?? guessType(keywords), keywords), nullable };
}

/** Guesses a missing type from the other keywords. */
function guessType(keywords: Keywords): string | undefined {
  const has = (...names: string[]) => names.some((name) => Object.hasOwn(keywords, name));
  if (has("properties", "additionalProperties", "patternProperties")) return "object";
  if (has("items", "prefixItems")) return "array";
  if (has("pattern", "minLength", "maxLength")) return "string";
  return has("minimum", "maximum", "multipleOf") ? "number" : undefined;
}

function kindByType(type: string | undefined, keywords: Keywords): Kind {
  switch (type) {
    case "string":
      return stringKind(keywords);
    case "number":
    case "integer":
      return { is: "number", integer: type === "integer" };
    case "boolean":
      return { is: "boolean" };
    case "object":
      return objectKind(keywords);
    case "array":
      return listKind(keywords);
    default:
      return ANY;
  }
}

function stringKind(keywords: Keywords): Kind {
  const format = text(keywords, "format");
  const secret = format === "password" || own(keywords, "writeOnly") === true;
  return { is: "string", format, secret };
}

function objectKind(keywords: Keywords): Kind {
  const properties = own(keywords, "properties");
  const required = own(keywords, "required");
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
  return { is: "object", fields, others: othersOf(keywords, fields.length) };
}

/** The schema of additional properties. */
function othersOf(keywords: Keywords, fieldCount: number): Schema | undefined {
  const patterns = own(keywords, "patternProperties");
  const [pattern] = isObject(patterns) ? Object.values(patterns) : [];
  if (pattern !== undefined) return schemaOf(pattern);
  const others = own(keywords, "additionalProperties");
  if (others === false) return undefined;
  if (isObject(others)) return others;
  // Most schemas allow additional properties only by default, not on purpose.
  return fieldCount === 0 || others === true ? true : undefined;
}

function listKind(keywords: Keywords): Kind {
  const items = own(keywords, "items");
  const prefix = own(keywords, "prefixItems") ?? (Array.isArray(items) ? items : []);
  const first = Array.isArray(prefix) ? prefix.map(schemaOf) : [];
  const rest = Array.isArray(items) ? own(keywords, "additionalItems") : items;
  return { is: "list", first, items: rest === false ? undefined : schemaOf(rest) };
}

function schemaOf(value: unknown): Schema {
  return isObject(value) || value === false ? value : true;
}

function text(keywords: Keywords, name: string): string | undefined {
  const value = own(keywords, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function typeName(kind: Kind, keywords: Keywords): string {
  switch (kind.is) {
    case "string":
      return kind.format ?? "text";
    case "number":
      return kind.integer ? "integer" : "number";
    case "choice":
      return kind.options.length === 1 ? "constant" : "choice";
    case "forms":
      return "one of";
    case "object":
      return kind.fields.length === 0 && own(keywords, "additionalProperties") ? "map" : "object";
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

function describeBounds(keywords: Keywords): string[] {
  const parts = BOUNDS.filter(([name]) => typeof own(keywords, name) === "number").map(
    ([name, say]) => say(keywords[name]),
  );
  const pattern = text(keywords, "pattern");
  if (pattern) parts.push(`matches ${pattern}`);
  if (own(keywords, "uniqueItems") === true) parts.push("unique items");
  return parts;
}
