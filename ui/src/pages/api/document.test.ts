import { describe, expect, it } from "vitest";
import {
  type Document,
  filterOperations,
  groupByTag,
  listOperations,
  parametersSchema,
  targetOf,
} from "./document";

const DOCUMENT: Document = {
  openapi: "3.1.0",
  paths: {
    "/api/servers/{id}": {
      parameters: [{ $ref: "#/components/parameters/id" }],
      get: {
        operationId: "server",
        tags: ["servers"],
        summary: "One server",
        parameters: [
          { name: "deep", in: "query", schema: { type: "boolean" } },
          { name: "if-match", in: "header", schema: { type: "string" } },
          { name: "sid", in: "cookie", schema: {} },
        ],
        responses: { 200: { $ref: "#/components/responses/server" }, 404: { description: "none" } },
      },
      put: {
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Keys" } } },
        },
      },
    },
    "/odd": { get: 5, trace: {} },
  },
  components: {
    parameters: { id: { name: "id", in: "path", required: true, schema: { type: "string" } } },
    responses: {
      server: { description: "the server", content: { "application/json": { schema: {} } } },
    },
  },
};

const [server, replace] = listOperations(DOCUMENT);

describe("an OpenAPI document", () => {
  it("is a list of operations with their shared parameters", () => {
    expect(listOperations(DOCUMENT).map((it) => `${it.method} ${it.id}`)).toEqual([
      "GET server",
      "PUT put /api/servers/{id}",
    ]);
    expect(server?.parameters.map((it) => `${it.in} ${it.name}`)).toEqual([
      "path id",
      "query deep",
      "header if-match",
    ]);
    expect(server?.responses.map((it) => [it.status, it.contents[0]?.type])).toEqual([
      ["200", "application/json"],
      ["404", undefined],
    ]);
    expect(replace?.body).toMatchObject({ type: "application/json", required: true });
    expect(groupByTag(listOperations(DOCUMENT)).map(([tag]) => tag)).toEqual(["servers", "other"]);
  });

  it.each([{}, { paths: null }, { paths: { "/a": null } }, { paths: { "/a": { get: [] } } }])(
    "%j has no operations and does not fail",
    (document) => {
      expect(listOperations(document as Document)).toEqual([]);
    },
  );

  it("is searched by words", () => {
    expect(filterOperations(listOperations(DOCUMENT), "one SERVER").map((it) => it.id)).toEqual([
      "server",
    ]);
  });

  it.each([
    ['{"id": "a/b?c"}', "/api/servers/a%2Fb%3Fc", []],
    ['{"id": "$&", "deep": true}', "/api/servers/%24%26?deep=true", []],
    ["{}", "/api/servers/{id}", ["id"]],
    [undefined, "/api/servers/{id}", ["id"]],
  ])("%s is sent to %s", (text, path, missing) => {
    const [one] = listOperations(DOCUMENT);
    if (!one) throw new Error("there is one");
    expect(targetOf(one, text)).toMatchObject({ path, missing });
  });

  it("sends header parameters as headers, and marks required ones", () => {
    if (!server) throw new Error("there is one");
    expect(targetOf(server, '{"id": "a", "if-match": "\\"v1\\""}').headers).toEqual({
      "if-match": '"v1"',
    });
    expect(parametersSchema(server)).toMatchObject({ required: ["id"] });
  });
});
