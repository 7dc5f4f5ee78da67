// Creates a key for one client.
import { type FormEvent, useState } from "react";
import { Problem, post } from "../../api/client";
import { stale, useRead } from "../../api/queries";
import type { Key } from "../../api/types";
import { Failure, Field } from "../../kit/basics";
import { Code } from "../../kit/code";
import type { MadeKey } from "../keys/secret";
import { free } from "../servers/add/draft";

export function ClientKey(props: {
  /** The id of the client. */
  client: string;
  agent: string;
  needed: boolean;
  made: MadeKey | undefined;
  make: (made: MadeKey) => void;
}) {
  const { made, needed } = props;
  const keys = useRead<{ keys: Key[] }>("/api/keys").data?.keys;
  if (made) {
    return (
      <>
        <div className="note good">
          <span>
            Key <strong>{made.name}</strong> is filled in below. It is shown only until you leave
            this page.
          </span>
        </div>
        <Code text={made.key} label="secret" wrap />
      </>
    );
  }
  return (
    <>
      <p>
        {needed
          ? "This gateway requires a key."
          : "No key is needed on this machine. A key identifies the client and can be revoked."}
      </p>
      {!needed && keys?.length === 0 && (
        <p className="help">
          This would be the first key. Every client will then need one, even on this machine.
        </p>
      )}
      {keys && <Make {...props} taken={keys.map((it) => it.name)} />}
    </>
  );
}

function Make(props: {
  client: string;
  agent: string;
  taken: readonly string[];
  make: (made: MadeKey) => void;
}) {
  const [typed, setTyped] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const name = typed ?? free(props.client, props.taken);
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const agents = props.agent ? [props.agent] : undefined;
      props.make(await post<MadeKey>("/api/keys", { name: name.trim(), role: "caller", agents }));
      stale("api/keys", "api/connect");
    } catch (error) {
      setProblem(Problem.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void make(event)}>
      {problem && <Failure error={problem} />}
      <div className="bar key-line">
        <Field label="Key name">
          {(id) => (
            <input
              id={id}
              value={name}
              autoComplete="off"
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <button type="submit" disabled={busy || !name.trim()}>
          Create key for this client
        </button>
      </div>
      <p className="help">
        It can only call tools of {props.agent ? `agent ${props.agent}` : "all agents"}. The Keys
        page has more options.
      </p>
    </form>
  );
}
