// Link to the calls of a tool.
import { query } from "../../api/client";
import type { Tool } from "../../api/types";
import { to } from "../../route";

export function callsOf(of: Pick<Tool, "server" | "tool">, outcome?: string): string {
  return to("calls") + query({ server: of.server, tool: of.tool, outcome });
}
