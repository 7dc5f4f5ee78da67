// Details of one live session: what it has used, and the silences before its answers.
import { path } from "../../api/client";
import { useRead } from "../../api/queries";
import type { SessionDetail as Detail } from "../../api/types";
import { QueryView } from "../../kit/basics";
import { Dialog } from "../../kit/dialog";
import { Fact, Facts } from "../../kit/facts";
import { dateTime, duration } from "../../kit/format";
import { costText } from "../usage/sums";
import { Silences } from "./silences";

const POLL_INTERVAL_MS = 5000;

export function SessionDetail(props: { id: string; close: () => void }) {
  const session = useRead<Detail>(path("api", "sessions", props.id), POLL_INTERVAL_MS);
  return (
    <Dialog title="Session" close={props.close} placement="side">
      <QueryView of={session}>
        {(data) => (
          <>
            <Usage of={data} />
            <h3>Silence before answers</h3>
            <p className="quiet">
              From the end of the caller's speech to the first audio of the agent.
            </p>
            <Silences of={data.silences} />
          </>
        )}
      </QueryView>
    </Dialog>
  );
}

function Usage(props: { of: Detail }) {
  const { usage, model, agent, principal, since } = props.of;
  const tokens = (of: number, audio: number, cached?: number) => {
    const parts = [
      audio > 0 && `${audio.toLocaleString("en")} audio`,
      cached && `${cached.toLocaleString("en")} cached`,
    ].filter(Boolean);
    const among = parts.length > 0 ? `, of which ${parts.join(", ")}` : "";
    return `${of.toLocaleString("en")}${among}`;
  };
  return (
    <Facts>
      <Fact name="Agent">{agent}</Fact>
      <Fact name="Key">{principal}</Fact>
      <Fact name="Model">{model}</Fact>
      <Fact name="Started">{dateTime(since)}</Fact>
      <Fact name="Responses">{usage.requests.toLocaleString("en")}</Fact>
      <Fact name="Input tokens">
        {tokens(usage.input_tokens, usage.audio_input_tokens, usage.cached_input_tokens)}
      </Fact>
      <Fact name="Output tokens">{tokens(usage.output_tokens, usage.audio_output_tokens)}</Fact>
      <Fact name="Audio">
        {duration(usage.audio_input_seconds)} heard, {duration(usage.audio_output_seconds)} spoken
      </Fact>
      <Fact name="Charged time">{duration(usage.live_seconds)}</Fact>
      <Fact name="Cost">{costText(usage)}</Fact>
    </Facts>
  );
}
