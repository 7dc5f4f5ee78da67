import { expect, test } from "vitest";
import { installLink } from "./links";

test("a key is inserted into plain links and into base64", () => {
  const code = "vscode:mcp/install?%7B%22k%22%3A%22TOLLGATE_KEY%22%7D";
  expect(installLink(code, "tg_a/b")).toBe("vscode:mcp/install?%7B%22k%22%3A%22tg_a%2Fb%22%7D");
  const config = btoa(`{"headers":{"Authorization":"Bearer TOLLGATE_KEY"}}`);
  const filled = installLink(
    `cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=${encodeURIComponent(config)}`,
    "tg_1",
  );
  const inner = new URL(filled ?? "").searchParams.get("config") ?? "";
  expect(atob(inner)).toBe(`{"headers":{"Authorization":"Bearer tg_1"}}`);
  expect(installLink(code, undefined)).toBe(code);
});

test("links to unknown schemes are dropped", () => {
  for (const bad of ["javascript:alert(1)", "https://example.com", "data:x", "nonsense", null]) {
    expect(installLink(bad, "k")).toBeUndefined();
  }
});
