// Light or dark theme: the user's choice, or else the system setting.
export type Theme = "system" | "light" | "dark";

const PLACE = "tollgate-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => applyTheme());

export function theme(): Theme {
  const kept = localStorage.getItem(PLACE);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(chosen: Theme = theme()) {
  if (chosen === "system") localStorage.removeItem(PLACE);
  else localStorage.setItem(PLACE, chosen);
  const shown = chosen === "system" ? (system.matches ? "dark" : "light") : chosen;
  document.documentElement.dataset.theme = shown;
  dispatchEvent(new Event("tollgate-theme"));
}
