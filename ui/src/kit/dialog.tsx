// Modal dialogs. The native <dialog> traps the focus and closes on Escape.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

type Props = {
  title: ReactNode;
  children: ReactNode;
  /** `side`: a drawer at the right edge, for details of a row. */
  place?: "middle" | "side";
  actions?: ReactNode;
} & ({ firm?: false; close: () => void } | { /** Only its own buttons close it. */ firm: true });

export function Dialog(props: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Close before unmounting: only then the browser restores the focus.
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown && !shown.open) shown.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={props.place === "side" ? "side" : "middle"}
      aria-labelledby={id}
      closedby={props.firm ? "none" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        if (!props.firm) props.close();
      }}
      onClose={({ currentTarget }) => {
        // Without support for `closedby`, a second Escape closes the dialog anyway.
        if (props.firm && currentTarget.isConnected && !currentTarget.open) {
          currentTarget.showModal();
        }
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{props.title}</h2>
        {!props.firm && (
          <button type="button" className="plain" aria-label="Close" onClick={props.close}>
            ✕
          </button>
        )}
      </header>
      <div className="dialog-body">{props.children}</div>
      {props.actions && <footer className="dialog-foot">{props.actions}</footer>}
    </dialog>
  );
}

/** Asks for confirmation before something irreversible. */
export function Confirm(props: {
  title: string;
  action: string;
  children: ReactNode;
  confirm: () => void;
  close: () => void;
  /** The action is running. */
  busy?: boolean;
}) {
  return (
    <Dialog
      title={props.title}
      close={props.close}
      actions={
        <>
          <button type="button" onClick={props.close}>
            Cancel
          </button>
          <button type="button" className="danger" disabled={props.busy} onClick={props.confirm}>
            {props.action}
          </button>
        </>
      }
    >
      {props.children}
    </Dialog>
  );
}
