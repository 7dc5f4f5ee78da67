// The keywords of a schema with references resolved and `allOf` merged. Schemas are untrusted: they
// may be recursive, dangling or no schema at all. Nothing is fetched.
import type { Schema } from "../api/types";

export type Keywords = Record<string, unknown>;

/** A flat view of one schema. `problem`: why it cannot be shown as a form. */
export interface Resolved {
  keywords: Keywords;
  problem?: string;
}

/** Limit of subschemas that are merged for one field. */
const MAX_SUBSCHEMAS = 64;

export function resolve(root: Schema, schema: unknown): Resolved {
  return new Resolver(root).at(schema, new Set());
}

export function isObject(value: unknown): value is Keywords {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own property of the schema, never an inherited one. */
export function own(keywords: Keywords, name: string): unknown {
  return Object.hasOwn(keywords, name) ? keywords[name] : undefined;
}

class Resolver {
  private parts = 0;

  constructor(private readonly root: Schema) {}

  at(schema: unknown, followed: ReadonlySet<string>): Resolved {
    this.parts += 1;
    if (this.parts > MAX_SUBSCHEMAS) return { keywords: {}, problem: "too many subschemas" };
    if (schema === false) return { keywords: { not: {} } };
    if (!isObject(schema)) return { keywords: {} };
    let { keywords, problem } = this.followReference(schema, followed);
    const all = own(schema, "allOf");
    for (const part of Array.isArray(all) ? all : []) {
      const other = this.at(part, followed);
      keywords = mergeKeywords(keywords, other.keywords);
      problem ??= other.problem;
    }
    return { keywords, problem };
  }

  private followReference(schema: Keywords, followed: ReadonlySet<string>): Resolved {
    const reference = own(schema, "$ref") ?? own(schema, "$dynamicRef");
    const { allOf: _, $ref: __, $dynamicRef: ___, ...beside } = schema;
    if (typeof reference !== "string") return { keywords: beside };
    if (followed.has(reference)) return { keywords: beside, problem: "recursive reference" };
    const target = findReference(this.root, reference);
    if (target === undefined) {
      return { keywords: beside, problem: `unresolved reference ${reference}` };
    }
    const found = this.at(target, new Set([...followed, reference]));
    // Keywords beside a reference take precedence over its target.
    return { keywords: mergeKeywords(found.keywords, beside), problem: found.problem };
  }
}

/** Resolves a reference within the document: `#`, `#/$defs/item` or `#anchor`. */
function findReference(root: Schema, reference: string): unknown {
  if (reference === "#") return root;
  if (reference.startsWith("#/")) {
    let target: unknown = root;
    for (const part of reference.slice(2).split("/")) {
      const name = unescapePointer(part);
      if (Array.isArray(target)) target = target[Number(name)];
      else if (isObject(target)) target = own(target, name);
      else return undefined;
    }
    return target;
  }
  const definitions = isObject(root) ? own(root, "$defs") : undefined;
  if (!reference.startsWith("#") || !isObject(definitions)) return undefined;
  return Object.values(definitions).find(
    (it) =>
      isObject(it) &&
      (own(it, "$anchor") === reference.slice(1) ||
        own(it, "$dynamicAnchor") === reference.slice(1)),
  );
}

function unescapePointer(part: string): string {
  let name = part;
  try {
    name = decodeURIComponent(part);
  } catch {
    // Keep it as it is.
  }
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

function mergeKeywords(first: Keywords, second: Keywords): Keywords {
  const merged: Keywords = { ...first, ...second };
  const properties = [own(first, "properties"), own(second, "properties")];
  if (properties.every(isObject)) merged.properties = { ...properties[0], ...properties[1] };
  const required = [own(first, "required"), own(second, "required")];
  if (required.every(Array.isArray)) merged.required = [...new Set(required.flat())];
  return merged;
}
