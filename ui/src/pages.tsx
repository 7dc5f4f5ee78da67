// All pages in menu order. Each is loaded when it is first opened.
import { type ComponentType, type LazyExoticComponent, lazy } from "react";

export interface PageEntry {
  id: string;
  title: string;
  /** The key after `g` that opens it. */
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
    title: "Monitor",
    pages: [
      page("", "Overview", "o", () => import("./pages/overview")),
      page("calls", "Live calls", "c", () => import("./pages/calls")),
      page("approvals", "Approvals", "a", () => import("./pages/approvals")),
      page("usage", "Usage", "m", () => import("./pages/usage")),
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
    title: "Playground",
    pages: [
      page("chat", "Chat", "h", () => import("./pages/chat")),
      page("tiers", "Tier playground", "i", () => import("./pages/tiers")),
      page("api", "API", "d", () => import("./pages/api")),
    ],
  },
  {
    title: "Manage",
    pages: [
      page("connect", "Connect", "n", () => import("./pages/connect")),
      page("keys", "Keys", "k", () => import("./pages/keys")),
      page("audit", "Audit", "u", () => import("./pages/audit")),
      page("settings", "Settings", ",", () => import("./pages/settings")),
    ],
  },
];

export const PAGES: PageEntry[] = GROUPS.flatMap((group) => group.pages);
