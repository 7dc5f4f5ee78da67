// API explorer, built from the gateway's OpenAPI document.
import { useMemo } from "react";
import { useRead } from "../api/queries";
import { Empty, Page, QueryView } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { count } from "../kit/format";
import { setQuery, to, useRoute } from "../route";
import {
  type Document,
  filterOperations,
  groupByTag,
  listOperations,
  type Operation,
  tagDescription,
} from "./api/document";
import { OperationView } from "./api/operation";
import "../style/api.css";
import "../style/try.css";

export default function ApiPage() {
  const read = useRead<Document>("/api/openapi.json");
  return (
    <Page
      title="API"
      lead="The HTTP API behind this admin page. Requests sent from here run on this gateway with your permissions."
      actions={<ShowAsCli path="/api/openapi.json" />}
    >
      <QueryView of={read}>{(document) => <Routes document={document} />}</QueryView>
    </Page>
  );
}

function Routes(props: { document: Document }) {
  const { document } = props;
  const { parts, query } = useRoute();
  const all = useMemo(() => listOperations(document), [document]);
  const text = query.get("q") ?? "";
  const found = useMemo(() => filterOperations(all, text), [all, text]);
  const chosen = all.find((it) => it.id === parts[0]);
  return (
    <div className="api">
      <nav aria-label="Operations" className="api-list">
        <input
          type="search"
          aria-label="Search operations"
          placeholder="Path or description"
          value={text}
          onChange={(event) => setQuery({ q: event.target.value })}
        />
        <p className="quiet" role="status">
          {found.length} of {count(all.length, "operation")}
        </p>
        {groupByTag(found).map(([tag, its]) => (
          <section key={tag}>
            <h2 title={tagDescription(document, tag)}>{tag}</h2>
            <ul>
              {its.map((it) => (
                <li key={it.id}>
                  <Link operation={it} chosen={it === chosen} search={text} />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <div className="api-one">
        {chosen ? (
          <OperationView key={chosen.id} document={document} operation={chosen} />
        ) : (
          <Empty>Select an operation to view and try it.</Empty>
        )}
      </div>
    </div>
  );
}

function Link(props: { operation: Operation; chosen: boolean; search: string }) {
  const { operation } = props;
  const search = props.search ? `?q=${encodeURIComponent(props.search)}` : "";
  return (
    <a href={to("api", operation.id) + search} aria-current={props.chosen ? "true" : undefined}>
      <span className={`method ${operation.method.toLowerCase()}`}>{operation.method}</span>
      <span>
        <code>{operation.path}</code>
        <span className="quiet">{operation.summary}</span>
      </span>
    </a>
  );
}
