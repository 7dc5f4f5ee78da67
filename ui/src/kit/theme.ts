// Light or dark theme: the user's choice, or else the system setting.
export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "tollgate-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => applyTheme());

export function storedTheme(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(chosen: Theme = storedTheme()) {
  if (chosen === "system") localStorage.removeItem(STORAGE_KEY);
  else localStorage.setItem(STORAGE_KEY, chosen);
  const effective = chosen === "system" ? (system.matches ? "dark" : "light") : chosen;
  document.documentElement.dataset.theme = effective;
  dispatchEvent(new Event("tollgate-theme"));
}
