// One agent: tools by tier, prompt and settings.
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import type { Agent } from "../../api/types";
import { Page, Panel, QueryView, Tabs, TierBadge } from "../../kit/basics";
import { ShowAsCli, shellQuote } from "../../kit/code";
import { Fact, Facts } from "../../kit/facts";
import { count } from "../../kit/format";
import { escapeHidden, UntrustedText } from "../../kit/untrusted";
import { setQuery, to, useRoute } from "../../route";
import { Matrix } from "./matrix";
import { Prompt } from "./prompt";

type TabId = "tools" | "prompt" | "settings";

const TABS: { id: TabId; title: string }[] = [
  { id: "tools", title: "Tools" },
  { id: "prompt", title: "Prompt" },
  { id: "settings", title: "Settings" },
];

export function AgentPage(props: { name: string }) {
  const address = `/api/agents${path(props.name)}`;
  const read = useRead<Agent>(address);
  const { query } = useRoute();
  const chosen = TABS.find((tab) => tab.id === query.get("tab"))?.id ?? "tools";
  return (
    <Page
      title={escapeHidden(props.name)}
      lead={read.data?.description && <UntrustedText text={read.data.description} clip={260} />}
      actions={
        <ShowAsCli
          cli={`tollgate tools --explain --agent ${shellQuote(props.name)}`}
          path={address}
        />
      }
    >
      <p className="crumbs">
        <a href={to("agents")}>Agents</a> › {escapeHidden(props.name)}
      </p>
      <QueryView of={read}>
        {(agent) => (
          <>
            <p className="agent-head">
              <TierBadge tier={agent.budget_tier} />
              {agent.default && <span className="badge">default</span>}
              <span className="quiet">{escapeHidden(agent.models.join(", "))}</span>
            </p>
            <Tabs
              label="About this agent"
              tabs={TABS}
              chosen={chosen}
              choose={(tab) => setQuery({ tab: tab === "tools" ? "" : tab })}
            />
            {chosen === "tools" && <Matrix agent={agent} />}
            {chosen === "prompt" && <Prompt agent={agent} />}
            {chosen === "settings" && <Settings agent={agent} />}
          </>
        )}
      </QueryView>
    </Page>
  );
}

function Settings(props: { agent: Agent }) {
  const { agent } = props;
  const { memory } = agent;
  const facts: [string, string][] = [
    ["Models", agent.models.join(", ")],
    ["Engine", agent.engine],
    ["Opener model", agent.opener_model ?? "none"],
    ["Budget", agent.budget_tier ?? "none: all tools are visible, whatever their latency"],
    ["Tools", agent.tools.join(", ") || "none"],
    ["Pinned tools", agent.pinned_tools.join(", ") || "none"],
    ["Auto-executed tools", agent.auto_execute.join(", ") || "none"],
    ["Max tools", `${agent.max_tools}, tool search ${agent.tool_search}`],
    ["Max tool rounds", String(agent.max_depth)],
    ["Max calls per turn", String(agent.max_calls)],
    ["Concurrent calls", agent.concurrent === null ? "unlimited" : String(agent.concurrent)],
    ["Code mode", agent.code_mode ? "on" : "off"],
    ["Mixed responses", agent.mixed_response],
    [
      "Memory",
      `namespace ${memory.namespace}, record ${memory.record}, recall ${memory.recall ? "on" : "off"}`,
    ],
    ["Variables", count(Object.keys(agent.variables).length, "variable")],
  ];
  return (
    <Panel title="Settings" actions={<a href={to("settings")}>Edit config</a>}>
      <Facts>
        {facts.map(([name, value]) => (
          <Fact key={name} name={name}>
            {escapeHidden(value)}
          </Fact>
        ))}
      </Facts>
    </Panel>
  );
}
