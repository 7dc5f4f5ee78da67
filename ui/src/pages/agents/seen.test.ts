import { describe, expect, it } from "vitest";
import type { Explained, Tier } from "../../api/types";
import { countOf, levels, narrowed, together } from "./seen";

const explained = (tool: string, level?: string): Explained => ({
  name: `s_${tool}`,
  server: "s",
  tool,
  visible: level === undefined,
  level,
  reason: level && `because of ${level}`,
});

const answer = (tier: Tier, ...tools: Explained[]) => ({ tier, tools });

const ALL = together([
  answer("fast", explained("slow", "tier"), explained("quick"), explained("hidden", "agent")),
  answer("standard", explained("slow", "tier"), explained("quick"), explained("hidden", "agent")),
  answer("deep", explained("slow"), explained("quick"), explained("hidden", "agent")),
]);

describe("tool visibility of an agent", () => {
  it("has one row per tool with its three tiers", () => {
    expect(ALL.map((it) => it.tool)).toEqual(["hidden", "quick", "slow"]);
    expect(ALL[2]?.tiers.fast?.reason).toBe("because of tier");
    expect(ALL[2]?.tiers.deep?.visible).toBe(true);
  });

  it("is counted by tier", () => {
    expect([countOf(ALL, "fast"), countOf(ALL, "standard"), countOf(ALL, "deep")]).toEqual([
      1, 1, 2,
    ]);
  });

  it.each([
    ["", "", false, "hidden quick slow"],
    ["QUI", "", false, "quick"],
    ["s/slow", "", false, "slow"],
    ["", "agent", false, "hidden"],
    ["", "", true, "quick slow"],
    ["", "agent", true, ""],
  ])("filtered by %j, %j, visible only %s: %s", (text, level, only, expected) => {
    expect(
      narrowed(ALL, text, level, only)
        .map((it) => it.tool)
        .join(" "),
    ).toBe(expected);
  });

  it("lists the levels that hide a tool", () => {
    expect(levels(ALL)).toEqual(["agent", "tier"]);
  });
});
