// Runs the tool as an agent would, and shows the outcome.
import { useEffect, useRef, useState } from "react";
import { useRead } from "../../api/queries";
import { type Agent, type Definition, TIERS, type Tier, type ToolDetail } from "../../api/types";
import { Empty, Field, Panel } from "../../kit/basics";
import { ShowAsCli } from "../../kit/code";
import { Confirm } from "../../kit/dialog";
import { ms } from "../../kit/format";
import { escapeHidden } from "../../kit/untrusted";
import { initialEdit, payloadOf, SchemaForm } from "../../schema-form/form";
import { parseRejection } from "../../schema-form/paths";
import { OutcomeView } from "./outcome";
import { bodyOf, commandOf, type Run, runTool } from "./run";

const NO_AGENTS: readonly Agent[] = [];

export function TryTab(props: { tool: ToolDetail }) {
  const { offered, hash } = props.tool;
  // Keep the definition until its hash changes, even while the server is briefly unavailable. The
  // input survives a change as well.
  const [definition, setDefinition] = useState({ offered, hash });
  if (offered && (!definition.offered || definition.hash !== hash))
    setDefinition({ offered, hash });
  if (!definition.offered) return <Empty>Server unavailable.</Empty>;
  return <TryForm tool={props.tool} definition={definition.offered} />;
}

function TryForm(props: { tool: ToolDetail; definition: Definition }) {
  const { tool, definition } = props;
  const schema = definition.inputSchema ?? true;
  const [edit, setEdit] = useState(() => initialEdit(schema));
  const [agent, setAgent] = useState("");
  const [tier, setTier] = useState<Tier | "">("");
  const [bypassCache, setBypassCache] = useState(false);
  const [run, setRun] = useState<Run>();
  const [confirming, setConfirming] = useState(false);
  const abort = useRef<AbortController>(undefined);
  // Cancel the call when the page is left.
  useEffect(() => () => abort.current?.abort(), []);
  const { text } = payloadOf(edit);
  const running = run !== undefined && !run.ended;
  const ready = text !== undefined && !running && tool.offered !== null;
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? NO_AGENTS;
  const agentConfig = agents.find((it) => (agent ? it.name === agent : it.default));
  const effectiveTier = tier || agentConfig?.budget_tier || undefined;
  const order = { name: tool.name, text: text ?? "{}", agent, tier, bypassCache };
  const start = async () => {
    setConfirming(false);
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    await runTool({ ...order, effectiveTier }, controller.signal, setRun);
  };
  // Confirm only if the server itself marks the tool as destructive; the default would ask every time.
  const markedDestructive = (tool.offered ?? definition).annotations?.destructiveHint === true;
  const submit = () => (tool.destructive && markedDestructive ? setConfirming(true) : void start());
  const errors =
    run?.outcome?.status === "invalid_arguments" ? parseRejection(run.outcome.message) : undefined;
  return (
    <div className="columns try">
      <Panel title="Arguments">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (ready) submit();
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && event.ctrlKey) event.currentTarget.requestSubmit();
          }}
        >
          <SchemaForm
            schema={schema}
            edit={edit}
            change={setEdit}
            gatewayErrors={errors}
            label="Arguments"
          />
          <RunAs
            tool={tool}
            agents={agents}
            agentConfig={agentConfig}
            agent={agent}
            setAgent={setAgent}
            tier={tier}
            setTier={setTier}
          />
          <label className="check">
            <input
              type="checkbox"
              checked={bypassCache}
              onChange={(event) => setBypassCache(event.target.checked)}
            />{" "}
            Bypass cache
          </label>
          <div className="try-foot">
            <button type="submit" className="primary" disabled={!ready}>
              {running ? "Running…" : "Run"}
            </button>
            {running && (
              <button type="button" onClick={() => abort.current?.abort()}>
                Cancel
              </button>
            )}
            <ShowAsCli cli={commandOf(order)} path="/v1/tools/execute" text={bodyOf(order)} />
          </div>
        </form>
      </Panel>
      <Panel title="Outcome">
        {run ? (
          <OutcomeView run={run} ceiling={run.tier && tool.ceilings[`${run.tier}_ms`]} />
        ) : (
          <Empty>Run the tool to see its outcome.</Empty>
        )}
      </Panel>
      {confirming && (
        <Confirm
          title={`Run ${escapeHidden(tool.name)}?`}
          action="Run"
          confirm={() => void start()}
          close={() => setConfirming(false)}
        >
          <p>The server marks this tool as destructive. This is a real call.</p>
        </Confirm>
      )}
    </div>
  );
}

function RunAs(props: {
  tool: ToolDetail;
  agents: readonly Agent[];
  /** The selected agent, or the default one. */
  agentConfig: Agent | undefined;
  agent: string;
  setAgent: (agent: string) => void;
  tier: Tier | "";
  setTier: (tier: Tier | "") => void;
}) {
  const { tool, agents, agentConfig: chosen } = props;
  const defaultTier = chosen?.budget_tier
    ? `${chosen.budget_tier} (agent default)`
    : "no budget (agent default)";
  const sees = tool.agents.find((it) => it.agent === chosen?.name)?.tiers;
  const tier = props.tier || chosen?.budget_tier;
  const why = sees && tier ? sees[tier] : true;
  return (
    <div className="try-as">
      <Field label="Run as agent">
        {(id) => (
          <select
            id={id}
            value={props.agent}
            onChange={(event) => props.setAgent(event.target.value)}
          >
            <option value="">
              {chosen && !props.agent ? `${chosen.name} (default)` : "default"}
            </option>
            {agents.map((it) => (
              <option key={it.name} value={it.name}>
                {escapeHidden(it.name)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Tier">
        {(id) => (
          <select
            id={id}
            value={props.tier}
            onChange={(event) => props.setTier(event.target.value as Tier | "")}
          >
            <option value="">{defaultTier}</option>
            {TIERS.map((it) => (
              <option key={it} value={it}>
                {it}, {ms(tool.ceilings[`${it}_ms`])}
              </option>
            ))}
          </select>
        )}
      </Field>
      {why !== true && (
        <p className="help try-why">
          Hidden from this agent in {tier}: {typeof why === "string" ? escapeHidden(why) : ""}
        </p>
      )}
    </div>
  );
}
