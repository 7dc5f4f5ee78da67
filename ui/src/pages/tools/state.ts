// The state of a tool in one word.
import type { Tool } from "../../api/types";

export function stateOf(tool: Pick<Tool, "online" | "verdict" | "health">): string {
  if (!tool.online) return "offline";
  return tool.verdict === "served" ? tool.health : tool.verdict;
}
