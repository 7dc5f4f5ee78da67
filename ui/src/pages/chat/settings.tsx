// Agent, model, tier and variables of the chat.
import { useRead } from "../../api/queries";
import { TIERS, type Tier } from "../../api/types";
import { Failure, Field, Panel } from "../../kit/basics";
import { type Settings, VARIABLE_NAME } from "./conversation";

interface Models {
  data: { id: string; display_name: string; owned_by: string }[];
}

export function useModels() {
  const models = useRead<Models>("/v1/models");
  const all = models.data?.data ?? [];
  return {
    agents: all.filter((it) => it.owned_by === "tollgate-agent"),
    models: all.filter((it) => it.owned_by !== "tollgate-agent"),
    /** While loading: a selection made now would change once the options arrive. */
    pending: models.isPending,
    error: models.error,
  };
}

export type ModelChoices = ReturnType<typeof useModels>;

export function ChatSettings(props: {
  settings: Settings;
  change: (settings: Settings) => void;
  choices: ModelChoices;
}) {
  const { settings, change, choices } = props;
  const isAgent = settings.agent !== undefined;
  const displayName = choices.agents.find((it) => it.id === settings.agent)?.display_name;
  const description = displayName === settings.agent ? undefined : displayName;
  return (
    <Panel title="Chat settings">
      {choices.error && <Failure error={choices.error} />}
      <Field label="Agent" help={isAgent ? description : "No prompt, no tools, no loop."}>
        {(id) => (
          <select
            id={id}
            value={settings.agent ?? ""}
            disabled={choices.pending}
            onChange={(event) => {
              const agent = event.target.value || undefined;
              const model = agent ? undefined : (settings.model ?? choices.models[0]?.id);
              change({ ...settings, agent, model });
            }}
          >
            {choices.agents.map((it) => (
              <option key={it.id}>{it.id}</option>
            ))}
            <option value="">None (model only)</option>
          </select>
        )}
      </Field>
      <Field label="Model">
        {(id) => (
          <select
            id={id}
            value={settings.model ?? ""}
            disabled={choices.pending}
            onChange={(event) => change({ ...settings, model: event.target.value || undefined })}
          >
            {isAgent && <option value="">Agent default</option>}
            {choices.models.map((it) => (
              <option key={it.id}>{it.id}</option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Tier" help="A tier above the agent's ceiling requires the override_tier right.">
        {(id) => (
          <select
            id={id}
            value={settings.tier ?? ""}
            disabled={!isAgent}
            onChange={(event) =>
              change({ ...settings, tier: (event.target.value || undefined) as Tier | undefined })
            }
          >
            <option value="">Automatic</option>
            {TIERS.map((tier) => (
              <option key={tier}>{tier}</option>
            ))}
          </select>
        )}
      </Field>
      {isAgent && <Variables settings={settings} change={change} />}
    </Panel>
  );
}

/** For placeholders in the agent's prompt. */
function Variables(props: { settings: Settings; change: (settings: Settings) => void }) {
  const { settings, change } = props;
  const { variables } = settings;
  const update = (at: number, more: Partial<{ name: string; value: string }>) =>
    change({
      ...settings,
      variables: variables.map((it, index) => (index === at ? { ...it, ...more } : it)),
    });
  return (
    <fieldset className="variables">
      <legend>Variables</legend>
      {variables.map((it, at) => (
        <div key={at} className="variable">
          <input
            aria-label={`Name of variable ${at + 1}`}
            aria-invalid={it.name !== "" && !VARIABLE_NAME.test(it.name)}
            placeholder="caller_name"
            spellCheck={false}
            value={it.name}
            onChange={(event) => update(at, { name: event.target.value.trim() })}
          />
          <input
            aria-label={`Value of variable ${at + 1}`}
            placeholder="value"
            value={it.value}
            onChange={(event) => update(at, { value: event.target.value })}
          />
          <button
            type="button"
            className="small"
            aria-label={`Remove variable ${at + 1}`}
            onClick={() =>
              change({ ...settings, variables: variables.filter((_, index) => index !== at) })
            }
          >
            ✕
          </button>
        </div>
      ))}
      {variables.some((it) => it.name !== "" && !VARIABLE_NAME.test(it.name)) && (
        <p className="error" role="alert">
          Use only letters, digits and _ in names.
        </p>
      )}
      <button
        type="button"
        className="small"
        onClick={() => change({ ...settings, variables: [...variables, { name: "", value: "" }] })}
      >
        Add variable
      </button>
    </fieldset>
  );
}
