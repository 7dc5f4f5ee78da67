import type { Page } from "@playwright/test";
import { desk, isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(desk());
  await isUp(gateway);
});
test.afterAll(async () => gateway.stop());

/** The request that continues a turn after its calls. */
function goingOn(page: Page) {
  return page.waitForRequest(
    (asked) =>
      asked.url().endsWith("/v1/chat/completions") && asked.postDataJSON().messages.length > 1,
  );
}

/** Sends a message once the button is enabled; before that, Enter does nothing. */
async function say(page: Page, text: string) {
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill(text);
  await expect(page.getByRole("button", { name: "Send" })).toBeEnabled();
  await message.press("Enter");
}

test("an answer streams, with its call, its tier and what it cost", async ({ page }) => {
  await gateway.open(page, "chat?agent=brisk");
  await page.getByRole("button", { name: "roll 2d6+3" }).click();
  const said = page.getByRole("list", { name: "Conversation" });
  await expect(said).toContainText("makes");
  const call = said.getByRole("list", { name: "Calls" }).getByRole("listitem");
  await expect(call).toContainText("roll");
  await expect(call).toContainText('"2d6+3"');
  await expect(call).toContainText("ok");
  await expect(call).toContainText("ms");
  await expect(said).toContainText("brisk");
  await expect(said).toContainText("fast");
  await expect(said).toContainText("tokens");
  await expect(said).toContainText("visible");
  await expect(said).toContainText("tool time");
  await isAccessible(page);
  await said.getByRole("link", { name: "Call timeline" }).click();
  const turn = page.getByRole("region", { name: /Turn at/ });
  await expect(turn.getByRole("button", { name: "roll" })).toBeVisible();
});

test("the conversation goes on with what was said before, and is forgotten on demand", async ({
  page,
}) => {
  await gateway.open(page, "chat");
  await say(page, 'call desk_say {"text": "first"}');
  const said = page.getByRole("list", { name: "Conversation" });
  await expect(said).toContainText("first");
  const asked = goingOn(page);
  await say(page, "and now?");
  const { messages } = (await asked).postDataJSON();
  expect(messages.map((it: { role: string }) => it.role)).toEqual([
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  await page.getByRole("link", { name: "Approvals" }).click();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await expect(said).toContainText("first");
  await page.getByRole("button", { name: "New conversation" }).click();
  await expect(page.getByText("Send a message")).toBeVisible();
});

test("a call that comes back is run by a button, and the turn goes on", async ({ page }) => {
  await gateway.open(page, "chat");
  await say(page, 'call desk_fail {"text": "no ink"}\ncall roll {"expression": "1d1"}');
  const said = page.getByRole("list", { name: "Conversation" });
  await expect(said.getByText("awaiting your decision")).toBeVisible();
  await isAccessible(page);
  const went = goingOn(page);
  await said.getByRole("button", { name: "Run", exact: true }).click();
  const { messages } = (await went).postDataJSON();
  expect(messages.at(-1)).toMatchObject({
    role: "tool",
    content: expect.stringContaining("no ink"),
  });
  await expect(said.getByText("awaiting your decision")).toHaveCount(0);
  await expect(said.getByRole("listitem").last()).toContainText("no ink");
});

test("a call that may not run is declined, and the model is told", async ({ page }) => {
  await gateway.open(page, "chat");
  await say(page, 'call desk_fail {"text": "x"}');
  const no = page.getByRole("button", { name: "Decline" });
  await expect(no).toBeVisible();
  const went = goingOn(page);
  await no.click();
  const { messages } = (await went).postDataJSON();
  expect(messages.at(-1).content).toContain("The user declined this call.");
});

test("stop ends the answer and what runs for it", async ({ page }) => {
  await gateway.open(page, "chat");
  await say(page, 'call desk_wait {"ms": 30000}');
  const said = page.getByRole("list", { name: "Conversation" });
  await expect(said.getByText("running")).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(said).toContainText("Stopped. Running calls were cancelled.");
  await say(page, 'call desk_say {"text": "still here"}');
  await expect(said).toContainText("still here");
});

test("tier, model and variables go along", async ({ page }) => {
  await gateway.open(page, "chat?agent=brisk");
  await page.getByLabel("Tier").selectOption("deep");
  await page.getByLabel("Model").selectOption("offline");
  await page.getByRole("button", { name: "Add variable" }).click();
  await page.getByLabel("Name of variable 1").fill("caller_name");
  await page.getByLabel("Value of variable 1").fill("Łucja");
  const asked = page.waitForRequest("**/v1/chat/completions");
  await page.getByRole("button", { name: "roll 2d6+3" }).click();
  const headers = (await asked).headers();
  expect(headers["x-tollgate-tier"]).toBe("deep");
  expect(headers["x-tollgate-agent"]).toBe("brisk");
  expect(Buffer.from(headers["x-tollgate-var-caller-name"] ?? "", "latin1").toString()).toBe(
    "Łucja",
  );
  await expect(page.getByRole("list", { name: "Conversation" })).toContainText("deep");
});

test("a model alone answers without tools, and a refusal is shown as it is", async ({ page }) => {
  await gateway.open(page, "chat");
  await page.getByLabel("Agent").selectOption("");
  await say(page, "hello");
  const said = page.getByRole("list", { name: "Conversation" });
  await expect(said.getByRole("listitem")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Send" })).toBeVisible();
  await page.route("**/v1/chat/completions", (route) => {
    const error = { message: "the provider is overloaded", code: "overloaded" };
    return route.fulfill({ status: 429, json: { error } });
  });
  await say(page, "again");
  await expect(said.getByRole("alert")).toContainText("the provider is overloaded");
});

test("what is typed before it is known who answers waits for that", async ({ page }) => {
  let known = () => {};
  const until = new Promise<void>((done) => {
    known = done;
  });
  await page.route("**/v1/models", async (route) => {
    await until;
    await route.continue();
  });
  await gateway.open(page, "chat");
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill('call desk_say {"text": "early"}');
  await message.press("Enter");
  await expect(message).toHaveValue(/early/);
  await expect(page.getByLabel("Agent")).toBeDisabled();
  await expect(page.getByRole("button", { name: "roll 2d6+3" })).toBeDisabled();
  known();
  await say(page, 'call desk_say {"text": "in time"}');
  await expect(page.getByRole("list", { name: "Conversation" })).toContainText("in time");
});

test("markup in an answer is text", async ({ page }) => {
  await gateway.open(page, "chat");
  await say(page, 'call desk_say {"text": "<img src=x onerror=alert(1)> **bold**"}');
  const said = page.getByRole("list", { name: "Conversation" });
  await expect(said.getByText("<img src=x onerror=alert(1)> **bold**").first()).toBeVisible();
  await expect(said.locator("img, b, strong:has-text('bold')")).toHaveCount(0);
});
