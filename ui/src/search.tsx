// Search over pages, servers, agents and tools. The lists are loaded when typing starts.
import { useMemo, useState } from "react";
import { useRead } from "./api/queries";
import type { Agent, Server, Tool } from "./api/types";
import { PAGES } from "./pages";
import { go, to } from "./route";

interface Hit {
  kind: string;
  name: string;
  note: string;
  href: string;
}

const MOST = 12;

export function Search() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const hits = useHits(open ? text : "");
  const leave = () => {
    setOpen(false);
    setText("");
    setChosen(0);
  };
  const follow = (hit: Hit | undefined) => {
    if (!hit) return;
    go(hit.href);
    leave();
    document.getElementById("search")?.blur();
  };
  const expanded = open && text.trim() !== "";
  return (
    <div className="search">
      <input
        id="search"
        type="search"
        role="combobox"
        aria-label="Search"
        aria-expanded={expanded}
        aria-controls="search-hits"
        aria-activedescendant={expanded && hits[chosen] ? `hit-${chosen}` : undefined}
        placeholder="Search  /"
        autoComplete="off"
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setChosen((at) => Math.min(at + 1, hits.length - 1));
          else if (event.key === "ArrowUp") setChosen((at) => Math.max(at - 1, 0));
          else if (event.key === "Enter") follow(hits[chosen]);
          else if (event.key === "Escape") leave();
          else return;
          event.preventDefault();
        }}
      />
      {expanded && (
        <div id="search-hits" className="hits" role="listbox" aria-label="Search results">
          {hits.map((hit, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
            <div
              key={hit.href}
              id={`hit-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === chosen}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => follow(hit)}
            >
              <span className="hit-kind">{hit.kind}</span>
              <span className="hit-name">{hit.name}</span>
              <span className="hit-note">{hit.note}</span>
            </div>
          ))}
          {hits.length === 0 && <div className="quiet">No results.</div>}
        </div>
      )}
    </div>
  );
}

function useHits(text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  const asked = wanted !== "";
  const servers = useRead<{ servers: Server[] }>(asked ? "/api/servers" : undefined).data;
  const tools = useRead<{ tools: Tool[] }>(asked ? "/api/tools" : undefined).data;
  const agents = useRead<{ agents: Agent[] }>(asked ? "/api/agents" : undefined).data;
  return useMemo(() => {
    if (!wanted) return [];
    const all: Hit[] = [
      ...PAGES.map((it) => ({ kind: "page", name: it.title, note: "", href: to(it.id) })),
      ...(servers?.servers ?? []).map((it) => ({
        kind: "server",
        name: it.id,
        note: it.state,
        href: to("servers", it.id),
      })),
      ...(agents?.agents ?? []).map((it) => ({
        kind: "agent",
        name: it.name,
        note: it.description ?? "",
        href: to("agents", it.name),
      })),
      ...(tools?.tools ?? []).map((it) => ({
        kind: "tool",
        name: it.name,
        note: it.server,
        href: to("tools", it.server, it.tool),
      })),
    ];
    const found = all.filter((hit) => hit.name.toLowerCase().includes(wanted));
    const first = (hit: Hit) => (hit.name.toLowerCase().startsWith(wanted) ? 0 : 1);
    return found.sort((a, b) => first(a) - first(b)).slice(0, MOST);
  }, [wanted, servers, tools, agents]);
}
