// Servers: the list, one server, or the wizard for a new one.
import { useRoute } from "../route";
import { AddServer } from "./servers/add";
import { ServerPage } from "./servers/detail";
import { ServerList } from "./servers/list";
import "../style/servers.css";

export default function ServersPage() {
  const route = useRoute();
  const [id] = route.parts;
  if (route.query.has("add")) return <AddServer />;
  return id ? <ServerPage key={id} id={id} /> : <ServerList />;
}
