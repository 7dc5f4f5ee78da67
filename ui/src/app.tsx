// The shell around every page: menu, search, shortcuts and toasts.
import { Suspense, useEffect, useState } from "react";
import { useConnected } from "./api/events";
import { useLiveUpdates, useRead } from "./api/queries";
import type { Overview } from "./api/types";
import { ErrorBoundary } from "./error-boundary";
import { Loading } from "./kit/basics";
import { Dialog } from "./kit/dialog";
import { applyTheme, storedTheme, type Theme } from "./kit/theme";
import { Toasts } from "./kit/toast";
import { GROUPS, PAGES } from "./pages";
import { navigate, to, useRoute } from "./route";
import { Search } from "./search";
import { logOut, Session, useLogin } from "./session";

export function App() {
  return (
    <Session>
      <Shell />
      <Toasts />
    </Session>
  );
}

function Shell() {
  useLiveUpdates();
  const route = useRoute();
  const [help, setHelp] = useState(false);
  useShortcuts(() => setHelp(true));
  const page = PAGES.find((page) => page.id === route.page);
  // Start at the top of a newly opened page. The braces matter: `scrollTo` may return a promise, and
  // an effect must not return one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the page changes
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [route.page]);
  return (
    <div className="shell">
      <button
        type="button"
        className="skip"
        onClick={() => document.getElementById("content")?.focus()}
      >
        Skip to content
      </button>
      <Menu chosen={route.page} help={() => setHelp(true)} />
      <div className="stage">
        <ConnectionLost />
        <ErrorBoundary key={route.page}>
          <Suspense fallback={<Loading />}>{page ? <page.view /> : <NotFound />}</Suspense>
        </ErrorBoundary>
      </div>
      {help && <ShortcutsDialog close={() => setHelp(false)} />}
    </div>
  );
}

function Menu(props: { chosen: string; help: () => void }) {
  const overview = useRead<Overview>("/api/overview", 30_000).data;
  const waiting: Record<string, number | undefined> = { approvals: overview?.approvals };
  return (
    <aside className="menu">
      <a className="brand" href={to("")}>
        <img src="./icon.svg" alt="" width={24} height={24} /> Tollgate
      </a>
      <Search />
      <nav aria-label="Pages">
        {GROUPS.map((group) => (
          <div key={group.title} className="menu-group">
            <h2>{group.title}</h2>
            <ul>
              {group.pages.map((page) => (
                <li key={page.id}>
                  <a
                    href={to(page.id)}
                    aria-current={page.id === props.chosen ? "page" : undefined}
                  >
                    {page.title}
                    {waiting[page.id] ? <span className="count">{waiting[page.id]}</span> : null}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <MenuFooter version={overview?.version} help={props.help} />
    </aside>
  );
}

function MenuFooter(props: { version?: string; help: () => void }) {
  const login = useLogin();
  const [chosen, choose] = useState<Theme>(storedTheme());
  return (
    <footer className="menu-foot">
      <label>
        <span className="hidden">Theme</span>
        <select
          value={chosen}
          onChange={(event) => {
            const next = event.target.value as Theme;
            choose(next);
            applyTheme(next);
          }}
        >
          <option value="system">Match system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      <div>
        <span title="Logged in as">{login.principal}</span>{" "}
        {login.csrf && (
          <button type="button" className="plain" onClick={() => void logOut()}>
            Log out
          </button>
        )}
      </div>
      <div className="quiet">
        {props.version}{" "}
        <button type="button" className="plain" onClick={props.help}>
          Shortcuts
        </button>
      </div>
    </footer>
  );
}

/** Without the event stream the figures on the page are out of date. */
function ConnectionLost() {
  if (useConnected()) return null;
  return (
    <div className="note warn" role="status">
      Connection lost. Showing the last known state; reconnecting.
    </div>
  );
}

function NotFound() {
  return (
    <main className="page" id="content">
      <h1>Page not found</h1>
      <p>
        <a href={to("")}>Go to overview</a>
      </p>
    </main>
  );
}

function ShortcutsDialog(props: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={props.close}>
      <table className="keys">
        <tbody>
          <tr>
            <td>
              <kbd>/</kbd>
            </td>
            <td>Search servers, tools, agents and pages</td>
          </tr>
          <tr>
            <td>
              <kbd>?</kbd>
            </td>
            <td>Show keyboard shortcuts</td>
          </tr>
          {PAGES.map((page) => (
            <tr key={page.id}>
              <td>
                <kbd>g</kbd> <kbd>{page.key}</kbd>
              </td>
              <td>{page.title}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}

function useShortcuts(showHelp: () => void) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `help` only opens a dialog
  useEffect(() => {
    let prefixAt = 0;
    const handleKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = target.matches("input, textarea, select, [contenteditable]");
      if (
        typing ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        document.querySelector("dialog[open]")
      ) {
        return;
      }
      if (event.key === "/") {
        event.preventDefault();
        document.getElementById("search")?.focus();
      } else if (event.key === "?") {
        showHelp();
      } else if (event.key === "g") {
        prefixAt = Date.now();
      } else if (Date.now() - prefixAt < 1500) {
        prefixAt = 0;
        const page = PAGES.find((it) => it.key === event.key);
        if (page) navigate(to(page.id));
      }
    };
    addEventListener("keydown", handleKey);
    return () => removeEventListener("keydown", handleKey);
  }, []);
}
