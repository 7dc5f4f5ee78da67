// What the server says of its tool, word by word.
import type { ToolDetail } from "../../api/types";
import { Empty, Panel } from "../../kit/basics";
import { Json } from "../../kit/code";
import { Fact, Facts } from "../../kit/facts";
import { Foreign } from "../../kit/foreign";
import { ms } from "../../kit/words";
import { SchemaView } from "../../schema-form/view";

export function DefinitionTab(props: { tool: ToolDetail }) {
  const { offered, trusted, read_only, destructive, declared } = props.tool;
  const definition = offered ?? trusted;
  if (!definition) {
    return <Empty>Its server is away, and nobody kept what it said of this tool.</Empty>;
  }
  const effect = destructive ? "may destroy" : read_only ? "only reads" : "may change things";
  return (
    <>
      <Panel title="What it is">
        <Facts>
          <Fact name="Title">{definition.title ? <Foreign text={definition.title} /> : "–"}</Fact>
          <Fact name="Description">
            {definition.description ? <Foreign text={definition.description} clip={2000} /> : "–"}
          </Fact>
          <Fact name="Effect">{effect}</Fact>
          <Fact name="Repeatable">
            {declared?.idempotent ? "yes: it may be retried and kept" : "no"}
          </Fact>
          <Fact name="Kept for">
            {declared?.cacheable_seconds ? `${declared.cacheable_seconds} s` : "not kept"}
          </Fact>
          <Fact name="Limit of a call">{ms(declared?.max_duration_ms)}</Fact>
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
      <Panel title="As the server says it">
        <Json value={definition} label="definition" />
      </Panel>
    </>
  );
}
