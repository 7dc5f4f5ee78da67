// Filters tools and groups them by server. Pure functions.
import type { Tier, Tool } from "../../api/types";

export interface ToolFilter {
  q: string;
  server: string;
  tier: string;
  health: string;
  verdict: string;
  online: string;
}

export const FILTERS: readonly (keyof ToolFilter)[] = [
  "q",
  "server",
  "tier",
  "health",
  "verdict",
  "online",
];

export function filterOf(query: URLSearchParams): ToolFilter {
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

export function isFiltered(filter: ToolFilter): boolean {
  return FILTERS.some((name) => filter[name] !== "");
}

/** Every word has to occur in the name, the title, the category or the description. */
export function filterTools(tools: readonly Tool[], filter: ToolFilter): Tool[] {
  const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter((tool) => {
    if (filter.server && tool.server !== filter.server) return false;
    if (filter.tier && tool.tier !== filter.tier) return false;
    if (filter.health && tool.health !== filter.health) return false;
    if (filter.verdict && tool.verdict !== filter.verdict) return false;
    if (filter.online && String(tool.online) !== filter.online) return false;
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
  toReview: number;
  tiers: Record<Tier, number>;
}

export type Row = { id: string; tool: Tool; group?: undefined } | { id: string; group: ServerRow };

/** Groups tools by server, sorted by name; collapsed servers have only their own row. */
export function groupByServer(tools: readonly Tool[], isOpen: (server: string) => boolean): Row[] {
  const servers = new Map<string, Tool[]>();
  for (const tool of tools) {
    const known = servers.get(tool.server);
    if (known) known.push(tool);
    else servers.set(tool.server, [tool]);
  }
  const names = [...servers.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return names.flatMap((server): Row[] => {
    const ownTools = servers.get(server) ?? [];
    const open = isOpen(server);
    const group: ServerRow = {
      server,
      tools: ownTools.length,
      online: ownTools.some((tool) => tool.online),
      open,
      toReview: ownTools.filter((tool) => needsReview(tool)).length,
      tiers: tiersOf(ownTools),
    };
    return [{ id: `server ${server}`, group }, ...(open ? ownTools.map(rowOf) : [])];
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

function needsReview(tool: Tool): boolean {
  return tool.verdict === "flagged" || tool.verdict === "withheld" || tool.health !== "healthy";
}
