// A sortable table. Long ones are virtualized; the page scrolls, not the table.
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";

export interface Column<T> {
  id: string;
  title: ReactNode;
  cell: (row: T) => ReactNode;
  /** The sort value; without it the column is not sortable. */
  sortValue?: (row: T) => string | number;
  className?: string;
}

/** Tables with fewer rows are not virtualized. */
const VIRTUALIZE_FROM = 120;

export function Table<T>(props: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  id: (row: T) => string;
  /** Opens a row. */
  open?: (row: T) => void;
  /** The height of a row in pixels, for virtualized tables. */
  height?: number;
  empty?: ReactNode;
  initialSort?: string;
}) {
  const [order, setOrder] = useState<{ id: string; down: boolean } | undefined>(
    props.initialSort ? { id: props.initialSort, down: false } : undefined,
  );
  const rows = useMemo(() => {
    const by = props.columns.find((column) => column.id === order?.id)?.sortValue;
    if (!by || !order) return props.rows;
    const compareRows = (a: T, b: T) => compare(by(a), by(b)) * (order.down ? -1 : 1);
    return [...props.rows].sort(compareRows);
  }, [props.rows, props.columns, order]);
  if (rows.length === 0 && props.empty) return <div className="empty">{props.empty}</div>;
  return (
    <div className="table-frame">
      <table aria-label={props.label} aria-rowcount={rows.length}>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                className={column.className}
                aria-sort={
                  order?.id === column.id ? (order.down ? "descending" : "ascending") : undefined
                }
              >
                {column.sortValue ? (
                  <button
                    type="button"
                    className="plain"
                    onClick={() =>
                      setOrder({ id: column.id, down: order?.id === column.id && !order.down })
                    }
                  >
                    {column.title}
                    <span aria-hidden="true">
                      {order?.id === column.id ? (order.down ? " ↓" : " ↑") : ""}
                    </span>
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        {rows.length < VIRTUALIZE_FROM ? (
          <tbody>
            {rows.map((row) => (
              <MemoRow key={props.id(row)} row={row} columns={props.columns} open={props.open} />
            ))}
          </tbody>
        ) : (
          <VirtualRows {...props} rows={rows} />
        )}
      </table>
    </div>
  );
}

/** Memoized: hundreds of rows may arrive per second. */
const MemoRow = memo(TableRow) as typeof TableRow;

function TableRow<T>(props: {
  row: T;
  columns: readonly Column<T>[];
  open?: (row: T) => void;
  height?: number;
}) {
  const { row, open } = props;
  return (
    <tr
      className={open ? "clickable" : undefined}
      style={props.height ? { height: props.height } : undefined}
      onClick={
        open &&
        ((event) => {
          // Buttons and links in a row handle their own clicks.
          if (!(event.target as Element).closest("a, button, input, select, label")) open(row);
        })
      }
    >
      {props.columns.map((column) => (
        <td key={column.id} className={column.className}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function VirtualRows<T>(props: {
  columns: readonly Column<T>[];
  rows: readonly T[];
  id: (row: T) => string;
  open?: (row: T) => void;
  height?: number;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  const height = props.height ?? 41;
  const virtual = useWindowVirtualizer({
    count: props.rows.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: top,
  });
  const items = virtual.getVirtualItems();
  const before = (items[0]?.start ?? top) - top;
  const after = virtual.getTotalSize() - ((items.at(-1)?.end ?? top) - top);
  return (
    <tbody ref={body}>
      {before > 0 && <SpacerRow height={before} span={props.columns.length} />}
      {items.map((item) => {
        const row = props.rows[item.index];
        if (row === undefined) return null;
        return (
          <MemoRow
            key={props.id(row)}
            row={row}
            columns={props.columns}
            open={props.open}
            height={height}
          />
        );
      })}
      {after > 0 && <SpacerRow height={after} span={props.columns.length} />}
    </tbody>
  );
}

function SpacerRow(props: { height: number; span: number }) {
  return (
    <tr className="gap" aria-hidden="true">
      <td colSpan={props.span} style={{ height: props.height }} />
    </tr>
  );
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
