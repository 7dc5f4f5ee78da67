// Every page there is, in the order of the menu. Pages are fetched when they are first opened.
import { type ComponentType, type LazyExoticComponent, lazy } from "react";

export interface PageEntry {
  id: string;
  title: string;
  /** The second key after `g` that leads to it. */
  key: string;
  view: LazyExoticComponent<ComponentType>;
}

export interface Group {
  title: string;
  pages: PageEntry[];
}

const page = (
  id: string,
  title: string,
  key: string,
  load: () => Promise<{ default: ComponentType }>,
): PageEntry => ({ id, title, key, view: lazy(load) });

export const GROUPS: Group[] = [
  {
    title: "Now",
    pages: [
      page("", "Overview", "o", () => import("./pages/overview")),
      page("calls", "Live calls", "c", () => import("./pages/calls")),
      page("approvals", "Approvals", "a", () => import("./pages/approvals")),
    ],
  },
  {
    title: "Tools",
    pages: [
      page("servers", "Servers", "s", () => import("./pages/servers")),
      page("tools", "Tools", "t", () => import("./pages/tools")),
      page("agents", "Agents", "e", () => import("./pages/agents")),
      page("leaderboard", "Leaderboard", "l", () => import("./pages/leaderboard")),
    ],
  },
  {
    title: "Try",
    pages: [
      page("chat", "Chat", "h", () => import("./pages/chat")),
      page("tiers", "Tier playground", "i", () => import("./pages/tiers")),
      page("api", "API", "d", () => import("./pages/api")),
    ],
  },
  {
    title: "Run",
    pages: [
      page("connect", "Connect", "n", () => import("./pages/connect")),
      page("keys", "Keys", "k", () => import("./pages/keys")),
      page("audit", "Audit", "u", () => import("./pages/audit")),
      page("settings", "Settings", ",", () => import("./pages/settings")),
    ],
  },
];

export const PAGES: PageEntry[] = GROUPS.flatMap((group) => group.pages);
