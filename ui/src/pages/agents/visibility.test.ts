import { describe, expect, it } from "vitest";
import type { Tier, ToolVisibility } from "../../api/types";
import { countVisible, filterTools, hidingLevels, mergeTiers } from "./visibility";

const toolEntry = (tool: string, level?: string): ToolVisibility => ({
  name: `s_${tool}`,
  server: "s",
  tool,
  visible: level === undefined,
  level,
  reason: level && `because of ${level}`,
});

const answer = (tier: Tier, ...tools: ToolVisibility[]) => ({ tier, tools });

const ALL = mergeTiers([
  answer("fast", toolEntry("slow", "tier"), toolEntry("quick"), toolEntry("hidden", "agent")),
  answer("standard", toolEntry("slow", "tier"), toolEntry("quick"), toolEntry("hidden", "agent")),
  answer("deep", toolEntry("slow"), toolEntry("quick"), toolEntry("hidden", "agent")),
]);

describe("tool visibility of an agent", () => {
  it("has one row per tool with its three tiers", () => {
    expect(ALL.map((it) => it.tool)).toEqual(["hidden", "quick", "slow"]);
    expect(ALL[2]?.tiers.fast?.reason).toBe("because of tier");
    expect(ALL[2]?.tiers.deep?.visible).toBe(true);
  });

  it("is counted by tier", () => {
    expect([
      countVisible(ALL, "fast"),
      countVisible(ALL, "standard"),
      countVisible(ALL, "deep"),
    ]).toEqual([1, 1, 2]);
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
      filterTools(ALL, text, level, only)
        .map((it) => it.tool)
        .join(" "),
    ).toBe(expected);
  });

  it("lists the levels that hide a tool", () => {
    expect(hidingLevels(ALL)).toEqual(["agent", "tier"]);
  });
});
