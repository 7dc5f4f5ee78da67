// Search over pages, servers, agents and tools. The lists are loaded when typing starts.
import { useMemo, useState } from "react";
import { useRead } from "./api/queries";
import type { Agent, Server, Tool } from "./api/types";
import { PAGES } from "./pages";
import { navigate, to } from "./route";

interface Hit {
  kind: string;
  name: string;
  note: string;
  href: string;
}

const MAX_HITS = 12;

export function Search() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const hits = useHits(open ? text : "");
  const close = () => {
    setOpen(false);
    setText("");
    setChosen(0);
  };
  const follow = (hit: Hit | undefined) => {
    if (!hit) return;
    navigate(hit.href);
    close();
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
          else if (event.key === "Escape") close();
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
  const needle = text.trim().toLowerCase();
  const active = needle !== "";
  const servers = useRead<{ servers: Server[] }>(active ? "/api/servers" : undefined).data;
  const tools = useRead<{ tools: Tool[] }>(active ? "/api/tools" : undefined).data;
  const agents = useRead<{ agents: Agent[] }>(active ? "/api/agents" : undefined).data;
  return useMemo(() => {
    if (!needle) return [];
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
    const found = all.filter((hit) => hit.name.toLowerCase().includes(needle));
    const rank = (hit: Hit) => (hit.name.toLowerCase().startsWith(needle) ? 0 : 1);
    return found.sort((a, b) => rank(a) - rank(b)).slice(0, MAX_HITS);
  }, [needle, servers, tools, agents]);
}
