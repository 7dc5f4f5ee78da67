import { describe, expect, it } from "vitest";
import type { Tool } from "../../api/types";
import { filterOf, filterTools, groupByServer } from "./rows";

const tool = (server: string, name: string, more: Partial<Tool> = {}): Tool =>
  ({
    name: `${server}_${name}`,
    server,
    tool: name,
    verdict: "served",
    health: "healthy",
    tier: "fast",
    online: true,
    title: null,
    description: null,
    category: null,
    ...more,
  }) as Tool;

const TOOLS = [
  tool("fs", "read", { description: "Reads a FILE" }),
  tool("fs", "write", { tier: "deep", verdict: "withheld" }),
  tool("web", "search", { online: false, health: "failing", category: "search" }),
];

describe("the rows of the tool list", () => {
  it.each([
    ["", "fs_read fs_write web_search"],
    ["q=file", "fs_read"],
    ["q=a+fs", "fs_read"],
    ["q=%3Cscript%3E", ""],
    ["server=fs", "fs_read fs_write"],
    ["tier=deep", "fs_write"],
    ["verdict=withheld&server=web", ""],
    ["online=false", "web_search"],
    ["health=failing", "web_search"],
  ])("%s: %s", (query, expected) => {
    const found = filterTools(TOOLS, filterOf(new URLSearchParams(query)));
    expect(found.map((it) => it.name).join(" ")).toBe(expected);
  });

  it("are grouped by server, unless it is collapsed", () => {
    const rows = groupByServer(TOOLS, (server) => server === "fs");
    expect(rows.map((row) => row.id)).toEqual([
      "server fs",
      "tool fs read",
      "tool fs write",
      "server web",
    ]);
    expect(rows[0]?.group).toEqual({
      server: "fs",
      tools: 2,
      online: true,
      open: true,
      toReview: 1,
      tiers: { fast: 1, standard: 0, deep: 1 },
    });
    expect(rows[3]?.group).toMatchObject({ online: false, toReview: 1 });
  });

  it("scale to five thousand tools", () => {
    const many = Array.from({ length: 5000 }, (_, at) => tool(`s${at % 50}`, `t${at}`));
    const found = filterTools(many, filterOf(new URLSearchParams("q=t49")));
    expect(found.length).toBe(111);
    expect(groupByServer(many, () => true).length).toBe(5050);
  });
});
