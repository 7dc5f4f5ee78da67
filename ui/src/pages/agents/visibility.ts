// Tool visibility by tier, merged from one response per tier. Pure functions.
import { TIERS, type Tier, type ToolVisibility } from "../../api/types";

export interface TierVisibility {
  name: string;
  server: string;
  tool: string;
  tiers: Partial<Record<Tier, ToolVisibility>>;
}

export interface TierTools {
  tier: Tier;
  tools: readonly ToolVisibility[];
}

export function mergeTiers(answers: readonly TierTools[]): TierVisibility[] {
  const all = new Map<string, TierVisibility>();
  for (const { tier, tools } of answers) {
    for (const it of tools) {
      const id = `${it.server}/${it.tool}`;
      const known = all.get(id);
      if (known) known.tiers[tier] = it;
      else all.set(id, { name: it.name, server: it.server, tool: it.tool, tiers: { [tier]: it } });
    }
  }
  return [...all.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

export function isVisible(tool: TierVisibility): boolean {
  return TIERS.some((tier) => tool.tiers[tier]?.visible);
}

export function countVisible(tools: readonly TierVisibility[], tier: Tier): number {
  return tools.reduce((sum, it) => sum + (it.tiers[tier]?.visible ? 1 : 0), 0);
}

export function filterTools(
  all: readonly TierVisibility[],
  text: string,
  level: string,
  only: boolean,
): TierVisibility[] {
  const needle = text.trim().toLowerCase();
  return all.filter(
    (it) =>
      (!only || isVisible(it)) &&
      (!level || TIERS.some((tier) => it.tiers[tier]?.level === level)) &&
      (!needle || `${it.name} ${it.server}/${it.tool}`.toLowerCase().includes(needle)),
  );
}

/** The levels that hide at least one tool, in order of appearance. */
export function hidingLevels(all: readonly TierVisibility[]): string[] {
  const found = new Set<string>();
  for (const it of all) {
    for (const tier of TIERS) {
      const level = it.tiers[tier]?.level;
      if (level) found.add(level);
    }
  }
  return [...found];
}
