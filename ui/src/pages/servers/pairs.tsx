// An editor for rows of names and values.
import { useEffect, useId, useState } from "react";
import { tableOf } from "./config";

type Row = [string, string];

export function Pairs(props: {
  label: string;
  help: string;
  /** The label of a row, such as "Variable". */
  name: string;
  of: readonly Row[];
  change: (values: Record<string, string>) => void;
}) {
  const { change } = props;
  // Incomplete rows (no name, or a duplicate one) exist only here while the user types.
  const [rows, setRows] = useState<Row[]>([...props.of]);
  const valueKey = JSON.stringify(props.of);
  useEffect(() => {
    const fresh = JSON.parse(valueKey) as Row[];
    setRows((before) =>
      JSON.stringify(Object.entries(tableOf(before))) === valueKey ? before : fresh,
    );
  }, [valueKey]);
  const id = useId();
  const update = (next: Row[]) => {
    setRows(next);
    change(tableOf(next));
  };
  const set = (at: number, row: Row) => update(rows.map((it, of) => (of === at ? row : it)));
  return (
    <fieldset className="pairs" aria-describedby={id}>
      <legend>{props.label}</legend>
      {rows.map(([name, value], at) => (
        <div key={at} className="pair">
          <input
            className="mono"
            aria-label={`${props.name} ${at + 1}, name`}
            placeholder={props.name}
            spellCheck={false}
            autoComplete="off"
            value={name}
            onChange={(event) => set(at, [event.target.value, value])}
          />
          <input
            className="mono"
            aria-label={`${props.name} ${at + 1}, value`}
            placeholder="value"
            spellCheck={false}
            autoComplete="off"
            value={value}
            onChange={(event) => set(at, [name, event.target.value])}
          />
          <button
            type="button"
            className="small"
            aria-label={`Remove ${name || `row ${at + 1}`}`}
            onClick={() => update(rows.filter((_, of) => of !== at))}
          >
            ✕
          </button>
        </div>
      ))}
      <div>
        <button type="button" className="small" onClick={() => setRows([...rows, ["", ""]])}>
          Add {props.name.toLowerCase()}
        </button>
      </div>
      <p className="help" id={id}>
        {props.help}
      </p>
    </fieldset>
  );
}
