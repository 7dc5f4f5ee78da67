// Tool visibility by tier, merged from one response per tier. Pure functions.
import { type Explained, TIERS, type Tier } from "../../api/types";

export interface Seen {
  name: string;
  server: string;
  tool: string;
  tiers: Partial<Record<Tier, Explained>>;
}

export interface Answers {
  tier: Tier;
  tools: readonly Explained[];
}

export function together(answers: readonly Answers[]): Seen[] {
  const all = new Map<string, Seen>();
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

export function isVisible(seen: Seen): boolean {
  return TIERS.some((tier) => seen.tiers[tier]?.visible);
}

export function countOf(seen: readonly Seen[], tier: Tier): number {
  return seen.reduce((sum, it) => sum + (it.tiers[tier]?.visible ? 1 : 0), 0);
}

export function narrowed(all: readonly Seen[], text: string, level: string, only: boolean): Seen[] {
  const wanted = text.trim().toLowerCase();
  return all.filter(
    (it) =>
      (!only || isVisible(it)) &&
      (!level || TIERS.some((tier) => it.tiers[tier]?.level === level)) &&
      (!wanted || `${it.name} ${it.server}/${it.tool}`.toLowerCase().includes(wanted)),
  );
}

/** The levels that hide at least one tool, in order of appearance. */
export function levels(all: readonly Seen[]): string[] {
  const found = new Set<string>();
  for (const it of all) {
    for (const tier of TIERS) {
      const level = it.tiers[tier]?.level;
      if (level) found.add(level);
    }
  }
  return [...found];
}
