// Agents: the list, or one agent.
import { useRoute } from "../route";
import "../style/agents.css";
import { AgentPage } from "./agents/detail";
import { AgentList } from "./agents/list";

export default function AgentsPage() {
  const [name] = useRoute().parts;
  return name === undefined ? <AgentList /> : <AgentPage key={name} name={name} />;
}
