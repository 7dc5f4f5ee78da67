// Filters tools and groups them by server. Pure functions.
import type { Tier, Tool } from "../../api/types";

export interface Wanted {
  q: string;
  server: string;
  tier: string;
  health: string;
  verdict: string;
  online: string;
}

export const FILTERS: readonly (keyof Wanted)[] = [
  "q",
  "server",
  "tier",
  "health",
  "verdict",
  "online",
];

export function wantedOf(query: URLSearchParams): Wanted {
  const of = (name: string) => query.get(name) ?? "";
  return {
    q: of("q"),
    server: of("server"),
    tier: of("tier"),
    health: of("health"),
    verdict: of("verdict"),
    online: of("online"),
  };
}

export function isNarrowed(wanted: Wanted): boolean {
  return FILTERS.some((name) => wanted[name] !== "");
}

/** Every word has to occur in the name, the title, the category or the description. */
export function matching(tools: readonly Tool[], wanted: Wanted): Tool[] {
  const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter((tool) => {
    if (wanted.server && tool.server !== wanted.server) return false;
    if (wanted.tier && tool.tier !== wanted.tier) return false;
    if (wanted.health && tool.health !== wanted.health) return false;
    if (wanted.verdict && tool.verdict !== wanted.verdict) return false;
    if (wanted.online && String(tool.online) !== wanted.online) return false;
    if (words.length === 0) return true;
    const text = [tool.name, tool.tool, tool.server, tool.title, tool.category, tool.description]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export interface ServerRow {
  server: string;
  tools: number;
  online: boolean;
  open: boolean;
  /** How many of its tools need review. */
  doubtful: number;
  tiers: Record<Tier, number>;
}

export type Row = { id: string; tool: Tool; group?: undefined } | { id: string; group: ServerRow };

/** Groups tools by server, sorted by name; collapsed servers have only their own row. */
export function grouped(tools: readonly Tool[], isOpen: (server: string) => boolean): Row[] {
  const servers = new Map<string, Tool[]>();
  for (const tool of tools) {
    const known = servers.get(tool.server);
    if (known) known.push(tool);
    else servers.set(tool.server, [tool]);
  }
  const names = [...servers.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return names.flatMap((server): Row[] => {
    const its = servers.get(server) ?? [];
    const open = isOpen(server);
    const group: ServerRow = {
      server,
      tools: its.length,
      online: its.some((tool) => tool.online),
      open,
      doubtful: its.filter((tool) => isDoubtful(tool)).length,
      tiers: tiersOf(its),
    };
    return [{ id: `server ${server}`, group }, ...(open ? its.map(rowOf) : [])];
  });
}

export function rowOf(tool: Tool): Row {
  return { id: `tool ${tool.server} ${tool.tool}`, tool };
}

function tiersOf(tools: readonly Tool[]): Record<Tier, number> {
  const tiers = { fast: 0, standard: 0, deep: 0 };
  for (const tool of tools) tiers[tool.tier] += 1;
  return tiers;
}

function isDoubtful(tool: Tool): boolean {
  return tool.verdict === "flagged" || tool.verdict === "withheld" || tool.health !== "healthy";
}
