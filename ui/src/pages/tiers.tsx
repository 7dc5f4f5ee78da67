// Tier playground: shows the tier of an utterance while it is typed.
import { useState } from "react";
import { useRead } from "../api/queries";
import { type Agent, TIERS, type Tier } from "../api/types";
import { Failure, Field, Page, Panel, QueryView, TierBadge } from "../kit/basics";
import { ShowAsCli, shellQuote } from "../kit/code";
import { count } from "../kit/format";
import { escapeHidden } from "../kit/untrusted";
import { setQuery, useRoute } from "../route";
import { Comparison } from "./tiers/comparison";
import { HiddenTools } from "./tiers/hidden";
import { bodyOf, type TierInput, type TierResult, useTier } from "./tiers/use-tier";
import "../style/tiers.css";

const EXAMPLES = [
  "Roll two dice for me",
  "Do you remember what the captain said last time?",
  "Tell me everything about dragons, in detail",
];

export default function TiersPage() {
  const read = useRead<{ agents: Agent[] }>("/api/agents");
  return (
    <Page
      title="Tier playground"
      lead="Type an utterance to see its tier, the reason and the visible tools. No model is called."
    >
      <QueryView of={read}>{({ agents }) => <Playground agents={agents} />}</QueryView>
    </Page>
  );
}

function Playground(props: { agents: Agent[] }) {
  const { query } = useRoute();
  const defaultAgent = props.agents.find((it) => it.default)?.name ?? "";
  const input: TierInput = {
    text: query.get("text") ?? "",
    agent: query.get("agent") || defaultAgent,
    queue: query.get("queue") ?? "",
    override: (query.get("override") ?? "") as Tier | "",
    conversation: query.get("conversation") ?? "",
  };
  const { result: chosen, problem, submitTurn: say } = useTier(input);
  const [history, setHistory] = useState<{ text: string; chosen: TierResult }[]>([]);
  const turn = async () => {
    const answer = await say();
    if (answer)
      setHistory((before) => [{ text: input.text, chosen: answer }, ...before].slice(0, 10));
  };
  return (
    <>
      <Panel
        title="Input"
        actions={
          <ShowAsCli
            cli={`tollgate tier ${shellQuote(input.text || "…")}`}
            path="/v1/tier"
            body={bodyOf(input, "partial")}
          />
        }
      >
        <Inputs input={input} agents={props.agents} turn={() => void turn()} />
      </Panel>
      {problem && <Failure error={problem} />}
      {chosen && <TierAnswer chosen={chosen} />}
      {history.length > 0 && <TurnHistory turns={history} />}
      {chosen && (
        <div className="columns">
          <Panel title={count(chosen.tools.length, "visible tool")}>
            <ul className="names" tabIndex={0} aria-label="Visible tools">
              {chosen.tools.slice(0, 200).map((name) => (
                <li key={name}>
                  <code>{escapeHidden(name)}</code>
                </li>
              ))}
            </ul>
            {chosen.tools.length > 200 && (
              <p className="quiet">and {chosen.tools.length - 200} more</p>
            )}
          </Panel>
          <HiddenTools agent={chosen.agent} tier={chosen.tier} />
        </div>
      )}
      <Comparison agents={props.agents} input={input} />
    </>
  );
}

function Inputs(props: { input: TierInput; agents: Agent[]; turn: () => void }) {
  const { input } = props;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        props.turn();
      }}
    >
      <Field label="Utterance">
        {(id) => (
          <input
            id={id}
            type="text"
            className="utterance"
            autoComplete="off"
            placeholder="What the caller says"
            value={input.text}
            onChange={(event) => setQuery({ text: event.target.value })}
          />
        )}
      </Field>
      <p className="help examples">
        Examples:{" "}
        {EXAMPLES.map((text) => (
          <button key={text} type="button" className="plain" onClick={() => setQuery({ text })}>
            {text}
          </button>
        ))}
      </p>
      <div className="tier-inputs">
        <Field label="Agent">
          {(id) => (
            <select
              id={id}
              value={input.agent}
              onChange={(event) => setQuery({ agent: event.target.value })}
            >
              {props.agents.map((it) => (
                <option key={it.name} value={it.name}>
                  {escapeHidden(it.name)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Queued turns" help="3 or more select fast, unless a deep keyword matches.">
          {(id) => (
            <input
              id={id}
              type="number"
              min={0}
              placeholder="0"
              value={input.queue}
              onChange={(event) => setQuery({ queue: event.target.value })}
            />
          )}
        </Field>
        <Field label="Override">
          {(id) => (
            <select
              id={id}
              value={input.override}
              onChange={(event) => setQuery({ override: event.target.value })}
            >
              <option value="">None (automatic)</option>
              {TIERS.map((it) => (
                <option key={it} value={it}>
                  {it}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Conversation" help="Its first turn is standard. Deep turns have a cooldown.">
          {(id) => (
            <input
              id={id}
              type="text"
              autoComplete="off"
              placeholder="none"
              value={input.conversation}
              onChange={(event) => setQuery({ conversation: event.target.value })}
            />
          )}
        </Field>
      </div>
      <button type="submit" disabled={input.text.trim() === ""}>
        Submit turn
      </button>{" "}
      <span className="help">Counts as a turn of the conversation. Typing does not.</span>
    </form>
  );
}

function TierAnswer(props: { chosen: TierResult }) {
  const { tier, reason } = props.chosen;
  return (
    <p className="chosen-tier" role="status">
      <TierBadge tier={tier} />
      <span>{escapeHidden(reason)}</span>
    </p>
  );
}

function TurnHistory(props: { turns: { text: string; chosen: TierResult }[] }) {
  return (
    <Panel title="Turn history">
      <ol className="turn-history">
        {props.turns.map((it, at) => (
          <li key={at}>
            <TierBadge tier={it.chosen.tier} /> <span>{escapeHidden(it.text)}</span>{" "}
            <span className="quiet">{escapeHidden(it.chosen.reason)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
