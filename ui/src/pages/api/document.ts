// Lists the operations of an OpenAPI document. Pure functions.
import type { Schema } from "../../api/types";
import { parse, print, type Tree } from "../../schema-form/json";
import { isObject, type Keywords, resolve } from "../../schema-form/resolve";

export type Document = Record<string, unknown>;

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  schema: Schema;
}

export interface Body {
  type: string;
  required: boolean;
  schema: Schema;
}

export interface Answer {
  status: string;
  description: string;
  contents: Content[];
}

export interface Content {
  type: string;
  schema: Schema;
  /** For streams: the schema of each event by name. */
  events: [string, Schema][];
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  body: Body | undefined;
  answers: Answer[];
}

const METHODS = ["get", "put", "post", "delete", "patch"];

export function operations(document: Document): Operation[] {
  const at = (value: unknown): Keywords => resolve(document, value).words;
  return Object.entries(at(document.paths)).flatMap(([path, item]) => {
    const shared = at(item);
    return METHODS.flatMap((method): Operation[] => {
      const found = shared[method];
      if (!isObject(found)) return [];
      const said = (name: string) => (typeof found[name] === "string" ? String(found[name]) : "");
      return [
        {
          id: said("operationId") || `${method} ${path}`,
          method: method.toUpperCase(),
          path,
          tag: String(list(found.tags)[0] ?? "other"),
          summary: said("summary"),
          description: said("description"),
          parameters: [...list(shared.parameters), ...list(found.parameters)].flatMap((it) =>
            parameter(at(it)),
          ),
          body: bodyOf(at(found.requestBody)),
          answers: Object.entries(at(found.responses)).map(([status, it]) =>
            answer(status, at(it)),
          ),
        },
      ];
    });
  });
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parameter(words: Keywords): Parameter[] {
  const place = words.in;
  if (place !== "path" && place !== "query" && place !== "header") return [];
  const schema = isObject(words.schema) ? words.schema : {};
  const about = typeof words.description === "string" ? { description: words.description } : {};
  return [
    {
      name: String(words.name),
      in: place,
      required: place === "path" || words.required === true,
      schema: { ...schema, ...about },
    },
  ];
}

function contentsOf(words: Keywords): Content[] {
  const contents = Object.entries(isObject(words.content) ? words.content : {});
  return contents.map(([type, media]) => {
    const schema = schemaOf(isObject(media) ? media.schema : undefined);
    const events = isObject(schema) && isObject(schema["x-events"]) ? schema["x-events"] : {};
    const named = Object.entries(events).map(([name, it]): [string, Schema] => [
      name,
      schemaOf(it),
    ]);
    return { type, schema, events: named };
  });
}

function schemaOf(value: unknown): Schema {
  return isObject(value) || value === false ? value : true;
}

function bodyOf(words: Keywords): Body | undefined {
  const [content] = contentsOf(words);
  if (!content) return undefined;
  return { type: content.type, schema: content.schema, required: words.required === true };
}

function answer(status: string, words: Keywords): Answer {
  const description = typeof words.description === "string" ? words.description : "";
  return { status, description, contents: contentsOf(words) };
}

/** The description of a tag. */
export function about(document: Document, tag: string): string {
  const found = list(document.tags).find((it) => isObject(it) && it.name === tag);
  const said = isObject(found) ? found.description : undefined;
  return typeof said === "string" ? said : "";
}

export function matching(all: readonly Operation[], text: string): Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((it) => {
    const said = `${it.method} ${it.path} ${it.id} ${it.tag} ${it.summary}`.toLowerCase();
    return words.every((word) => said.includes(word));
  });
}

export function tagged(all: readonly Operation[]): [string, Operation[]][] {
  const tags = new Map<string, Operation[]>();
  for (const it of all) tags.set(it.tag, [...(tags.get(it.tag) ?? []), it]);
  return [...tags];
}

/** One schema for all parameters of an operation. */
export function parametersSchema(operation: Operation): Schema {
  return {
    type: "object",
    properties: Object.fromEntries(operation.parameters.map((it) => [it.name, it.schema])),
    required: operation.parameters.filter((it) => it.required).map((it) => it.name),
    additionalProperties: false,
  };
}

export interface Place {
  path: string;
  headers: Record<string, string>;
  /** Path parameters without a value. */
  missing: string[];
}

/** The URL and headers of a request, from the input of the parameter form. */
export function placeOf(operation: Operation, text: string | undefined): Place {
  const tree = text === undefined ? undefined : parse(text);
  const given = new Map(tree?.type === "object" ? tree.fields : []);
  const headers: Record<string, string> = {};
  const search = new URLSearchParams();
  const missing: string[] = [];
  let path = operation.path;
  for (const it of operation.parameters) {
    const value = given.get(it.name);
    const words = value && worded(value);
    if (it.in === "path") {
      if (!words) missing.push(it.name);
      else path = path.replace(`{${it.name}}`, () => encodeURIComponent(words));
    } else if (words === undefined) {
      // Unset parameters are not sent.
    } else if (it.in === "query") {
      search.append(it.name, words);
    } else {
      headers[it.name.toLowerCase()] = words;
    }
  }
  return { path: search.size > 0 ? `${path}?${search}` : path, headers, missing };
}

function worded(tree: Tree): string {
  if (tree.type === "string" || tree.type === "number") return tree.text;
  if (tree.type === "list") return tree.items.map(worded).join(",");
  return print(tree);
}
