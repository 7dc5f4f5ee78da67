// Modal dialogs. The native <dialog> traps the focus and closes on Escape.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

type Props = {
  title: ReactNode;
  children: ReactNode;
  /** `side`: a drawer at the right edge, for details of a row. */
  placement?: "middle" | "side";
  actions?: ReactNode;
} & (
  | { persistent?: false; close: () => void }
  | { /** Only its own buttons close it. */ persistent: true }
);

export function Dialog(props: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Close before unmounting: only then the browser restores the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={props.placement === "side" ? "side" : "middle"}
      aria-labelledby={id}
      closedby={props.persistent ? "none" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        if (!props.persistent) props.close();
      }}
      onClose={({ currentTarget }) => {
        // Without support for `closedby`, a second Escape closes the dialog anyway.
        if (props.persistent && currentTarget.isConnected && !currentTarget.open) {
          currentTarget.showModal();
        }
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{props.title}</h2>
        {!props.persistent && (
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
