// Runs the tool as an agent would, and shows the outcome.
import { useEffect, useRef, useState } from "react";
import { useRead } from "../../api/queries";
import { type Agent, type Definition, TIERS, type Tier, type ToolDetail } from "../../api/types";
import { Empty, Field, Panel } from "../../kit/basics";
import { AsCommand } from "../../kit/code";
import { Confirm } from "../../kit/dialog";
import { visible } from "../../kit/foreign";
import { ms } from "../../kit/words";
import { beginEdit, SchemaForm, sendable } from "../../schema-form/form";
import { refused } from "../../schema-form/places";
import { OutcomeView } from "./outcome";
import { bodyOf, commandOf, type Run, runTool } from "./run";

const NOBODY: readonly Agent[] = [];

export function TryTab(props: { tool: ToolDetail }) {
  const { offered, hash } = props.tool;
  // Keep the definition until its hash changes, even while the server is briefly unavailable. The
  // input survives a change as well.
  const [kept, setKept] = useState({ offered, hash });
  if (offered && (!kept.offered || kept.hash !== hash)) setKept({ offered, hash });
  if (!kept.offered) return <Empty>Server unavailable.</Empty>;
  return <Bench tool={props.tool} definition={kept.offered} />;
}

function Bench(props: { tool: ToolDetail; definition: Definition }) {
  const { tool, definition } = props;
  const schema = definition.inputSchema ?? true;
  const [edit, setEdit] = useState(() => beginEdit(schema));
  const [agent, setAgent] = useState("");
  const [tier, setTier] = useState<Tier | "">("");
  const [fresh, setFresh] = useState(false);
  const [run, setRun] = useState<Run>();
  const [asked, setAsked] = useState(false);
  const abort = useRef<AbortController>(undefined);
  // Cancel the call when the page is left.
  useEffect(() => () => abort.current?.abort(), []);
  const { text } = sendable(edit);
  const running = run !== undefined && !run.ended;
  const ready = text !== undefined && !running && tool.offered !== null;
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? NOBODY;
  const asks = agents.find((it) => (agent ? it.name === agent : it.default));
  const counts = tier || asks?.budget_tier || undefined;
  const order = { name: tool.name, text: text ?? "{}", agent, tier, fresh };
  const start = async () => {
    setAsked(false);
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    await runTool({ ...order, counts }, controller.signal, setRun);
  };
  // Confirm only if the server itself marks the tool as destructive; the default would ask every time.
  const warns = (tool.offered ?? definition).annotations?.destructiveHint === true;
  const ask = () => (tool.destructive && warns ? setAsked(true) : void start());
  const said =
    run?.outcome?.status === "invalid_arguments" ? refused(run.outcome.message) : undefined;
  return (
    <div className="columns try">
      <Panel title="Arguments">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (ready) ask();
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && event.ctrlKey) event.currentTarget.requestSubmit();
          }}
        >
          <SchemaForm schema={schema} edit={edit} change={setEdit} said={said} label="Arguments" />
          <As
            tool={tool}
            agents={agents}
            asks={asks}
            agent={agent}
            setAgent={setAgent}
            tier={tier}
            setTier={setTier}
          />
          <label className="check">
            <input
              type="checkbox"
              checked={fresh}
              onChange={(event) => setFresh(event.target.checked)}
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
            <AsCommand cli={commandOf(order)} path="/v1/tools/execute" text={bodyOf(order)} />
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
      {asked && (
        <Confirm
          title={`Run ${visible(tool.name)}?`}
          action="Run"
          confirm={() => void start()}
          close={() => setAsked(false)}
        >
          <p>The server marks this tool as destructive. This is a real call.</p>
        </Confirm>
      )}
    </div>
  );
}

function As(props: {
  tool: ToolDetail;
  agents: readonly Agent[];
  /** The selected agent, or the default one. */
  asks: Agent | undefined;
  agent: string;
  setAgent: (agent: string) => void;
  tier: Tier | "";
  setTier: (tier: Tier | "") => void;
}) {
  const { tool, agents, asks: chosen } = props;
  const usual = chosen?.budget_tier
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
                {visible(it.name)}
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
            <option value="">{usual}</option>
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
          Hidden from this agent in {tier}: {typeof why === "string" ? visible(why) : ""}
        </p>
      )}
    </div>
  );
}
