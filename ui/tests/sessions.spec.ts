import { desk, isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { Voice } from "./voice";

let voice: Voice;
let gateway: Gateway;
test.beforeAll(async () => {
  voice = await Voice.start();
  const config = desk()
    .replace(
      "  demo: {",
      `  speech: { kind: openai, base_url: "${voice.url}", api_key: x }\n  demo: {`,
    )
    .replace("models:\n", "models:\n  voice: { provider: speech, api: realtime }\n")
    .replace(
      "  brisk:\n    models: [offline]",
      "  brisk:\n    engine: s2s\n    models: [voice, offline]",
    );
  gateway = await Gateway.start(config);
  await isUp(gateway);
});
test.afterAll(async () => {
  await gateway.stop();
  voice.stop();
});

test("a live session is listed, given another tier, and closed", async ({ page }) => {
  await gateway.open(page, "calls?tab=sessions");
  await expect(page.getByText("No live sessions")).toBeVisible();
  const url = `${gateway.url.replace("http", "ws")}/v1/realtime?model=voice&agent=brisk`;
  const socket = new WebSocket(url);
  const closed = new Promise<CloseEvent>((done) => {
    socket.onclose = done;
  });
  const row = page.getByRole("table", { name: "Live sessions" }).getByRole("row").nth(1);
  await expect(row).toContainText("brisk");
  await expect(page.getByRole("tab", { name: "Sessions (1)" })).toBeVisible();
  await isAccessible(page);
  const tier = row.getByRole("combobox", { name: /Set tier of session/ });
  // The select sets an override and always shows "Set…": the current tier can be set, too.
  await expect(row.locator(".badge.tier-fast")).toBeVisible();
  await expect(tier).toHaveValue("");
  const said = (words: string) => page.getByRole("status").filter({ hasText: words });
  await tier.selectOption("fast");
  await expect(said("Session tier set to fast")).toBeVisible();
  await expect(tier).toHaveValue("");
  await tier.selectOption("automatic");
  await expect(said("Session tier set to automatic")).toBeVisible();
  await expect(row.locator(".badge.tier-fast")).toBeVisible();
  await row.getByRole("button", { name: "Close" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close session" }).click();
  await closed;
  await expect(page.getByText("No live sessions")).toBeVisible();
});

test("a session shows what it used and the silence before each answer", async ({ page }) => {
  const url = `${gateway.url.replace("http", "ws")}/v1/realtime?model=voice&agent=brisk`;
  const socket = new WebSocket(url);
  const answered = new Promise<void>((done) => {
    socket.onmessage = (event) => {
      const { type } = JSON.parse(String(event.data));
      if (type === "session.created") socket.send(JSON.stringify({ type: "response.create" }));
      if (type === "response.done") done();
    };
  });
  await answered;
  await gateway.open(page, "calls?tab=sessions");
  const row = page.getByRole("table", { name: "Live sessions" }).getByRole("row").nth(1);
  await expect(row).toContainText("price unknown");
  await row.getByRole("button").first().click();
  const detail = page.getByRole("dialog", { name: "Session" });
  await expect(detail).toContainText("70, of which 40 audio");
  await expect(detail).toContainText("30, of which 20 audio");
  await expect(detail.getByRole("list", { name: "Silences" }).getByRole("listitem")).toHaveCount(1);
  await expect(detail.getByRole("listitem").last()).toContainText("turn");
  await isAccessible(page);
  await page.keyboard.press("Escape");
  await expect(detail).toBeHidden();
  await page.goto(page.url().replace("calls?tab=sessions", "usage?by=model"));
  await expect(page.getByRole("table", { name: "Usage" })).toContainText("voice");
  socket.close();
  await gateway.open(page, "calls?tab=sessions");
  await expect(page.getByText("No live sessions")).toBeVisible();
});
