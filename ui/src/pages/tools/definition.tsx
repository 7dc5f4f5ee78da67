// The definition of a tool as reported by its server.
import type { ToolDetail } from "../../api/types";
import { Empty, Panel } from "../../kit/basics";
import { Json } from "../../kit/code";
import { Fact, Facts } from "../../kit/facts";
import { ms } from "../../kit/format";
import { UntrustedText } from "../../kit/untrusted";
import { SchemaView } from "../../schema-form/view";

export function DefinitionTab(props: { tool: ToolDetail }) {
  const { offered, trusted, read_only, destructive, declared } = props.tool;
  const definition = offered ?? trusted;
  if (!definition) {
    return <Empty>Server unavailable, and no definition is stored.</Empty>;
  }
  const effect = destructive ? "destructive" : read_only ? "read-only" : "may modify data";
  return (
    <>
      <Panel title="Details">
        <Facts>
          <Fact name="Title">
            {definition.title ? <UntrustedText text={definition.title} /> : "–"}
          </Fact>
          <Fact name="Description">
            {definition.description ? (
              <UntrustedText text={definition.description} clip={2000} />
            ) : (
              "–"
            )}
          </Fact>
          <Fact name="Effect">{effect}</Fact>
          <Fact name="Idempotent">
            {declared?.idempotent ? "yes: may be retried and cached" : "no"}
          </Fact>
          <Fact name="Cache TTL">
            {declared?.cacheable_seconds ? `${declared.cacheable_seconds} s` : "not cached"}
          </Fact>
          <Fact name="Max duration">{ms(declared?.max_duration_ms)}</Fact>
          <Fact name="Hash">
            <code>{props.tool.hash ?? "–"}</code>
          </Fact>
        </Facts>
      </Panel>
      <Panel title="Arguments">
        <SchemaView schema={definition.inputSchema} label="schema of the arguments" />
      </Panel>
      {definition.outputSchema !== undefined && (
        <Panel title="Result">
          <SchemaView schema={definition.outputSchema} label="schema of the result" />
        </Panel>
      )}
      <Panel title="Raw definition">
        <Json value={definition} label="definition" />
      </Panel>
    </>
  );
}
