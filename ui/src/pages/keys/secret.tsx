// Shows a new secret. No other response contains it, so the dialog stays until the user confirms
// having saved it.
import type { Key } from "../../api/types";
import { Code } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { moment } from "../../kit/words";
import { to } from "../../route";

export type MadeKey = Key & { key: string };

export function SecretDialog(props: { made: MadeKey; close: () => void }) {
  const { made } = props;
  return (
    <Dialog
      title={`Key ${made.name}`}
      firm
      actions={
        <button type="button" className="primary" onClick={props.close}>
          I have saved it
        </button>
      }
    >
      <div className="note warn">
        This secret is shown only once. Store it where the client can read it.
      </div>
      <Code text={made.key} label="secret" wrap />
      {made.former_until && <p>The old secret stays valid until {moment(made.former_until)}.</p>}
      <p className="help">
        Clients send it as <code>authorization: Bearer …</code> or <code>x-api-key</code>.{" "}
        <a href={to("connect")}>Connect</a> has ready-made configs for most clients.
      </p>
    </Dialog>
  );
}
