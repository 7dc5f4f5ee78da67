// Lists the operations of an OpenAPI document. Pure functions.
import type { Schema } from "../../api/types";
import { parseJson, printJson, type Tree } from "../../schema-form/json";
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

export interface ApiResponse {
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
  responses: ApiResponse[];
}

const METHODS = ["get", "put", "post", "delete", "patch"];

export function listOperations(document: Document): Operation[] {
  const at = (value: unknown): Keywords => resolve(document, value).keywords;
  return Object.entries(at(document.paths)).flatMap(([path, item]) => {
    const shared = at(item);
    return METHODS.flatMap((method): Operation[] => {
      const found = shared[method];
      if (!isObject(found)) return [];
      const stringAt = (name: string) =>
        typeof found[name] === "string" ? String(found[name]) : "";
      return [
        {
          id: stringAt("operationId") || `${method} ${path}`,
          method: method.toUpperCase(),
          path,
          tag: String(list(found.tags)[0] ?? "other"),
          summary: stringAt("summary"),
          description: stringAt("description"),
          parameters: [...list(shared.parameters), ...list(found.parameters)].flatMap((it) =>
            parametersOf(at(it)),
          ),
          body: bodyOf(at(found.requestBody)),
          responses: Object.entries(at(found.responses)).map(([status, it]) =>
            responseOf(status, at(it)),
          ),
        },
      ];
    });
  });
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parametersOf(keywords: Keywords): Parameter[] {
  const location = keywords.in;
  if (location !== "path" && location !== "query" && location !== "header") return [];
  const schema = isObject(keywords.schema) ? keywords.schema : {};
  const about =
    typeof keywords.description === "string" ? { description: keywords.description } : {};
  return [
    {
      name: String(keywords.name),
      in: location,
      required: location === "path" || keywords.required === true,
      schema: { ...schema, ...about },
    },
  ];
}

function contentsOf(keywords: Keywords): Content[] {
  const contents = Object.entries(isObject(keywords.content) ? keywords.content : {});
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

function bodyOf(keywords: Keywords): Body | undefined {
  const [content] = contentsOf(keywords);
  if (!content) return undefined;
  return { type: content.type, schema: content.schema, required: keywords.required === true };
}

function responseOf(status: string, keywords: Keywords): ApiResponse {
  const description = typeof keywords.description === "string" ? keywords.description : "";
  return { status, description, contents: contentsOf(keywords) };
}

/** The description of a tag. */
export function tagDescription(document: Document, tag: string): string {
  const found = list(document.tags).find((it) => isObject(it) && it.name === tag);
  const description = isObject(found) ? found.description : undefined;
  return typeof description === "string" ? description : "";
}

export function filterOperations(all: readonly Operation[], text: string): Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((it) => {
    const text = `${it.method} ${it.path} ${it.id} ${it.tag} ${it.summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function groupByTag(all: readonly Operation[]): [string, Operation[]][] {
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

export interface RequestTarget {
  path: string;
  headers: Record<string, string>;
  /** Path parameters without a value. */
  missing: string[];
}

/** The URL and headers of a request, from the input of the parameter form. */
export function targetOf(operation: Operation, text: string | undefined): RequestTarget {
  const tree = text === undefined ? undefined : parseJson(text);
  const values = new Map(tree?.type === "object" ? tree.fields : []);
  const headers: Record<string, string> = {};
  const search = new URLSearchParams();
  const missing: string[] = [];
  let path = operation.path;
  for (const it of operation.parameters) {
    const value = values.get(it.name);
    const text = value && parameterText(value);
    if (it.in === "path") {
      if (!text) missing.push(it.name);
      else path = path.replace(`{${it.name}}`, () => encodeURIComponent(text));
    } else if (text === undefined) {
      // Unset parameters are not sent.
    } else if (it.in === "query") {
      search.append(it.name, text);
    } else {
      headers[it.name.toLowerCase()] = text;
    }
  }
  return { path: search.size > 0 ? `${path}?${search}` : path, headers, missing };
}

function parameterText(tree: Tree): string {
  if (tree.type === "string" || tree.type === "number") return tree.text;
  if (tree.type === "list") return tree.items.map(parameterText).join(",");
  return printJson(tree);
}
