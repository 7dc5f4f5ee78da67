// Open live sessions, with controls for their tier and for closing them.
import { useState } from "react";
import { call, path, post } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import type { Session, Tier } from "../../api/types";
import { TIERS } from "../../api/types";
import { Ago, Panel, QueryView, TierBadge } from "../../kit/basics";
import { Confirm } from "../../kit/dialog";
import { count } from "../../kit/format";
import { type Column, Table } from "../../kit/table";
import { showError, showToast } from "../../kit/toast";
import { to } from "../../route";
import { useHasRight } from "../../session";
import { costText } from "../usage/sums";
import { SessionDetail } from "./session-detail";

export function Sessions() {
  const sessions = useRead<{ sessions: Session[] }>("/api/sessions", 5000);
  const [shown, setShown] = useState<Session>();
  const [closing, setClosing] = useState<Session>();
  const mayEdit = useHasRight("admin");
  return (
    <Panel className="sessions">
      <QueryView of={sessions}>
        {(data) => (
          <Table
            label="Live sessions"
            rows={data.sessions}
            id={(session) => session.id}
            columns={columns(mayEdit, setShown, setClosing)}
            empty={
              <>
                No live sessions. Voice clients connect to <code>/v1/realtime</code>; see{" "}
                <a href={to("connect")}>Connect</a> for the setup.
              </>
            }
          />
        )}
      </QueryView>
      {shown && <SessionDetail id={shown.id} close={() => setShown(undefined)} />}
      {closing && <CloseSession session={closing} close={() => setClosing(undefined)} />}
    </Panel>
  );
}

const columns = (
  mayEdit: boolean,
  show: (session: Session) => void,
  close: (session: Session) => void,
): Column<Session>[] => [
  {
    id: "id",
    title: "Session",
    cell: (it) => (
      <button type="button" className="plain" title={it.id} onClick={() => show(it)}>
        <code className="clip">{it.id}</code>
      </button>
    ),
  },
  { id: "agent", title: "Agent", cell: (it) => <a href={to("agents", it.agent)}>{it.agent}</a> },
  { id: "principal", title: "Key", cell: (it) => it.principal },
  {
    id: "model",
    title: "Model",
    cell: (it) => (
      <>
        {it.model} <span className="quiet">{it.dialect}</span>
      </>
    ),
  },
  { id: "since", title: "Started", cell: (it) => <Ago time={it.since} /> },
  { id: "tier", title: "Tier", cell: (it) => <TierControl session={it} mayEdit={mayEdit} /> },
  { id: "tools", title: "Tools", className: "number", cell: (it) => it.tools },
  { id: "turns", title: "Turns", className: "number", cell: (it) => it.turns },
  { id: "calls", title: "Calls", className: "number", cell: (it) => it.calls },
  { id: "cost", title: "Cost", className: "number", cell: (it) => costText(it.usage) },
  {
    id: "close",
    title: <span className="hidden">Close</span>,
    cell: (it) =>
      mayEdit && (
        <button type="button" className="small danger" onClick={() => close(it)}>
          Close
        </button>
      ),
  },
];

/** Removes the override: the tier is chosen per turn again. */
const AUTOMATIC = "automatic";

/** Shows the current tier and sets an override. The API does not return the override itself. */
function TierControl(props: { session: Session; mayEdit: boolean }) {
  const { session, mayEdit } = props;
  const change = async (choice: string) => {
    const tier = choice === AUTOMATIC ? null : (choice as Tier);
    try {
      await post(`${path("api", "sessions", session.id)}/tier`, { tier });
      showToast(`Session tier set to ${tier ?? "automatic"}`);
    } catch (error) {
      showError(error);
    }
    invalidate("api/sessions");
  };
  return (
    <div className="session-tier">
      <TierBadge tier={session.tier} />
      <select
        aria-label={`Set tier of session ${session.id}`}
        value=""
        disabled={!mayEdit}
        onChange={(event) => void change(event.target.value)}
      >
        <option value="" disabled>
          Set…
        </option>
        <option>{AUTOMATIC}</option>
        {TIERS.map((tier) => (
          <option key={tier}>{tier}</option>
        ))}
      </select>
      <span className="quiet clip" title={session.tier_reason}>
        {session.tier_reason}
      </span>
    </div>
  );
}

function CloseSession(props: { session: Session; close: () => void }) {
  const { session } = props;
  const confirm = async () => {
    props.close();
    try {
      await call("DELETE", path("api", "sessions", session.id));
      showToast("Session closed");
    } catch (error) {
      showError(error);
    }
    invalidate("api/sessions");
  };
  return (
    <Confirm
      title="Close this session?"
      action="Close session"
      confirm={() => void confirm()}
      close={props.close}
    >
      <p>
        Agent {session.agent} with {session.principal}, {count(session.turns, "turn")} so far. The
        client is disconnected and running calls are cancelled.
      </p>
    </Confirm>
  );
}
