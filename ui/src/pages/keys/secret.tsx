// Shows a new secret. No other response contains it, so the dialog stays until the user confirms
// having saved it.
import type { Key } from "../../api/types";
import { Code } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { dateTime } from "../../kit/format";
import { to } from "../../route";

export type CreatedKey = Key & { key: string };

export function SecretDialog(props: { created: CreatedKey; close: () => void }) {
  const { created } = props;
  return (
    <Dialog
      title={`Key ${created.name}`}
      persistent
      actions={
        <button type="button" className="primary" onClick={props.close}>
          I have saved it
        </button>
      }
    >
      <div className="note warn">
        This secret is shown only once. Store it where the client can read it.
      </div>
      <Code text={created.key} label="secret" wrap />
      {created.former_until && (
        <p>The old secret stays valid until {dateTime(created.former_until)}.</p>
      )}
      <p className="help">
        Clients send it as <code>authorization: Bearer …</code> or <code>x-api-key</code>.{" "}
        <a href={to("connect")}>Connect</a> has ready-made configs for most clients.
      </p>
    </Dialog>
  );
}
