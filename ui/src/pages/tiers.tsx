// Tier playground: shows the tier of an utterance while it is typed.
import { useState } from "react";
import { useRead } from "../api/queries";
import { type Agent, TIERS, type Tier } from "../api/types";
import { Failure, Field, Page, Panel, Shown, TierBadge } from "../kit/basics";
import { AsCommand, quoted } from "../kit/code";
import { visible } from "../kit/foreign";
import { count } from "../kit/words";
import { narrow, useRoute } from "../route";
import { type Asked, bodyOf, type Chosen, useTier } from "./tiers/ask";
import { Compared } from "./tiers/compared";
import { Hidden } from "./tiers/hidden";
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
      <Shown of={read}>{({ agents }) => <Playground agents={agents} />}</Shown>
    </Page>
  );
}

function Playground(props: { agents: Agent[] }) {
  const { query } = useRoute();
  const usual = props.agents.find((it) => it.default)?.name ?? "";
  const asked: Asked = {
    text: query.get("text") ?? "",
    agent: query.get("agent") || usual,
    queue: query.get("queue") ?? "",
    override: (query.get("override") ?? "") as Tier | "",
    conversation: query.get("conversation") ?? "",
  };
  const { chosen, problem, say } = useTier(asked);
  const [said, setSaid] = useState<{ text: string; chosen: Chosen }[]>([]);
  const turn = async () => {
    const answer = await say();
    if (answer) setSaid((before) => [{ text: asked.text, chosen: answer }, ...before].slice(0, 10));
  };
  return (
    <>
      <Panel
        title="Input"
        actions={
          <AsCommand
            cli={`tollgate tier ${quoted(asked.text || "…")}`}
            path="/v1/tier"
            body={bodyOf(asked, "partial")}
          />
        }
      >
        <Inputs asked={asked} agents={props.agents} turn={() => void turn()} />
      </Panel>
      {problem && <Failure error={problem} />}
      {chosen && <Answer chosen={chosen} />}
      {said.length > 0 && <Said said={said} />}
      {chosen && (
        <div className="columns">
          <Panel title={count(chosen.tools.length, "visible tool")}>
            <ul className="names" tabIndex={0} aria-label="Visible tools">
              {chosen.tools.slice(0, 200).map((name) => (
                <li key={name}>
                  <code>{visible(name)}</code>
                </li>
              ))}
            </ul>
            {chosen.tools.length > 200 && (
              <p className="quiet">and {chosen.tools.length - 200} more</p>
            )}
          </Panel>
          <Hidden agent={chosen.agent} tier={chosen.tier} />
        </div>
      )}
      <Compared agents={props.agents} asked={asked} />
    </>
  );
}

function Inputs(props: { asked: Asked; agents: Agent[]; turn: () => void }) {
  const { asked } = props;
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
            value={asked.text}
            onChange={(event) => narrow({ text: event.target.value })}
          />
        )}
      </Field>
      <p className="help examples">
        Examples:{" "}
        {EXAMPLES.map((text) => (
          <button key={text} type="button" className="plain" onClick={() => narrow({ text })}>
            {text}
          </button>
        ))}
      </p>
      <div className="tier-inputs">
        <Field label="Agent">
          {(id) => (
            <select
              id={id}
              value={asked.agent}
              onChange={(event) => narrow({ agent: event.target.value })}
            >
              {props.agents.map((it) => (
                <option key={it.name} value={it.name}>
                  {visible(it.name)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Queued turns" help="3 or more force the fast tier.">
          {(id) => (
            <input
              id={id}
              type="number"
              min={0}
              placeholder="0"
              value={asked.queue}
              onChange={(event) => narrow({ queue: event.target.value })}
            />
          )}
        </Field>
        <Field label="Override">
          {(id) => (
            <select
              id={id}
              value={asked.override}
              onChange={(event) => narrow({ override: event.target.value })}
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
              value={asked.conversation}
              onChange={(event) => narrow({ conversation: event.target.value })}
            />
          )}
        </Field>
      </div>
      <button type="submit" disabled={asked.text.trim() === ""}>
        Submit turn
      </button>{" "}
      <span className="help">Counts as a turn of the conversation. Typing does not.</span>
    </form>
  );
}

function Answer(props: { chosen: Chosen }) {
  const { tier, reason } = props.chosen;
  return (
    <p className="chosen-tier" role="status">
      <TierBadge tier={tier} />
      <span>{visible(reason)}</span>
    </p>
  );
}

function Said(props: { said: { text: string; chosen: Chosen }[] }) {
  return (
    <Panel title="Turn history">
      <ol className="said">
        {props.said.map((it, at) => (
          <li key={at}>
            <TierBadge tier={it.chosen.tier} /> <span>{visible(it.text)}</span>{" "}
            <span className="quiet">{visible(it.chosen.reason)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
