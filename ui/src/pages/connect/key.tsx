// A key for one client, made where it is needed.
import { type FormEvent, useState } from "react";
import { Problem, post } from "../../api/client";
import { stale, useRead } from "../../api/queries";
import type { Key } from "../../api/types";
import { Failure, Field } from "../../kit/basics";
import { Code } from "../../kit/code";
import type { MadeKey } from "../keys/secret";
import { free } from "../servers/add/draft";

export function ClientKey(props: {
  /** What the key is for: the id of a client. */
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
            The key <strong>{made.name}</strong> is in the text below. It is shown this once: when
            you leave this page, it is gone.
          </span>
        </div>
        <Code text={made.key} label="the key" wrap />
      </>
    );
  }
  return (
    <>
      <p>
        {needed
          ? "This gateway lets nobody in without a key."
          : "On this machine no key is needed. With one you can tell clients apart and take it away from one of them."}
      </p>
      {!needed && keys?.length === 0 && (
        <p className="help">
          It would be the first key: from then on every client needs one, also on this machine.
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
        <Field label="Name of the key">
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
          Make a key for this client
        </button>
      </div>
      <p className="help">
        It may call the tools of {props.agent ? `the agent ${props.agent}` : "every agent"}, and
        nothing else. More choices: on the page Keys.
      </p>
    </form>
  );
}
