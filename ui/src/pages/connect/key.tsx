// Creates a key for one client.
import { type FormEvent, useState } from "react";
import { ApiError, post } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import type { Key } from "../../api/types";
import { Failure, Field } from "../../kit/basics";
import { Code } from "../../kit/code";
import type { CreatedKey } from "../keys/secret";
import { freeName } from "../servers/add/draft";

export function ClientKey(props: {
  /** The id of the client. */
  client: string;
  agent: string;
  needed: boolean;
  created: CreatedKey | undefined;
  onCreated: (created: CreatedKey) => void;
}) {
  const { created, needed } = props;
  const keys = useRead<{ keys: Key[] }>("/api/keys").data?.keys;
  if (created) {
    return (
      <>
        <div className="note good">
          <span>
            Key <strong>{created.name}</strong> is filled in below. It is shown only until you leave
            this page.
          </span>
        </div>
        <Code text={created.key} label="secret" wrap />
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
      {keys && <CreateClientKey {...props} taken={keys.map((it) => it.name)} />}
    </>
  );
}

function CreateClientKey(props: {
  client: string;
  agent: string;
  taken: readonly string[];
  onCreated: (created: CreatedKey) => void;
}) {
  const [typedName, setTypedName] = useState<string>();
  const [problem, setProblem] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const name = typedName ?? freeName(props.client, props.taken);
  const create = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const agents = props.agent ? [props.agent] : undefined;
      props.onCreated(
        await post<CreatedKey>("/api/keys", { name: name.trim(), role: "caller", agents }),
      );
      invalidate("api/keys", "api/connect");
    } catch (error) {
      setProblem(ApiError.from(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void create(event)}>
      {problem && <Failure error={problem} />}
      <div className="bar key-line">
        <Field label="Key name">
          {(id) => (
            <input
              id={id}
              value={name}
              autoComplete="off"
              onChange={(event) => setTypedName(event.target.value)}
            />
          )}
        </Field>
        <button type="submit" disabled={busy || !name.trim()}>
          Create key for this client
        </button>
      </div>
      <p className="help">
        It can call the tools of {props.agent ? `agent ${props.agent}` : "all agents"}, and nothing
        else. The Keys page has more options.
      </p>
    </form>
  );
}
