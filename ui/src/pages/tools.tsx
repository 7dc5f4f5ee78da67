// Tools: the list, or one tool.
import { useEffect } from "react";
import { to, useRoute } from "../route";
import "../style/tools.css";
import "../style/try.css";
import { ToolPage } from "./tools/detail";
import { ToolList } from "./tools/list";

export default function ToolsPage() {
  const { parts } = useRoute();
  const [server, tool] = parts;
  useEffect(() => {
    // `tools/SERVER` redirects to the list filtered by that server.
    if (server && !tool) location.replace(`${to("tools")}?server=${encodeURIComponent(server)}`);
  }, [server, tool]);
  if (server === undefined || tool === undefined) return <ToolList />;
  return <ToolPage key={`${server}/${tool}`} server={server} tool={tool} />;
}
