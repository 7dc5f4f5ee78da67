import { isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { ODD } from "./kinds";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(ODD);
  await isUp(gateway, "odd");
});
test.afterAll(() => gateway.stop());

const chosen = (page: import("@playwright/test").Page) => page.locator(".chosen-tier");

test("the tier follows what is typed, with the rule and the tools", async ({ page }) => {
  await gateway.open(page, "tiers");
  await expect(chosen(page)).toContainText("no reason for a higher tier");
  await page.getByLabel("Utterance").pressSequentially("tell me everything about it");
  await expect(chosen(page)).toContainText("deep");
  await expect(chosen(page)).toContainText('"tell me everything" was said');
  await expect(page.getByRole("region", { name: /visible tools?$/ })).toContainText("odd_slow");
  await page.getByLabel("Agent", { exact: true }).selectOption("hasty");
  await expect(chosen(page)).toContainText("the agent's ceiling is fast");
  const hidden = page.getByRole("region", { name: /hidden tools?$/ });
  await expect(hidden.getByRole("listitem").filter({ hasText: "odd_slow" })).toContainText(
    "requires tier `standard`",
  );
  await expect(page).toHaveURL(/agent=hasty/);
});

test("a queue, an override and a conversation count", async ({ page }) => {
  await gateway.open(page, "tiers?text=do%20you%20remember%20me%20now");
  await expect(chosen(page)).toContainText("standard");
  await page.getByLabel("Queued turns").fill("4");
  await expect(chosen(page)).toContainText("4 turns are waiting");
  await page.getByLabel("Override").selectOption("deep");
  await expect(chosen(page)).toContainText("deep");
  await page.getByLabel("Override").selectOption("");
  await page.getByLabel("Queued turns").fill("");
  await page.getByLabel("Conversation").fill("one");
  await page.getByLabel("Utterance").fill("hello there friend");
  await expect(chosen(page)).toContainText("standard");
  await page.getByRole("button", { name: "Submit turn" }).click();
  await expect(page.getByRole("region", { name: "Turn history" })).toContainText(
    "hello there friend",
  );
  // The next turn is no longer the first one.
  await page.getByLabel("Utterance").fill("and now this one");
  await expect(chosen(page)).toContainText("fast");
});

test("agents are compared by the same words", async ({ page }) => {
  await gateway.open(page, "tiers?text=tell%20me%20everything%20now");
  const table = page.getByRole("table", { name: "Comparison by agent" });
  await expect(table.getByRole("row", { name: /clerk/ })).toContainText("deep");
  await expect(table.getByRole("row", { name: /hasty/ })).toContainText(
    "the agent's ceiling is fast",
  );
  await table.getByRole("button", { name: "hasty" }).click();
  await expect(page.getByLabel("Agent", { exact: true })).toHaveValue("hasty");
});

test("an agent that is not there is said to be so", async ({ page }) => {
  await gateway.open(page, "tiers?agent=nobody");
  await expect(page.getByRole("alert")).toContainText("there is no agent `nobody`");
});

test("tiers can be used by everybody", async ({ page }) => {
  await gateway.open(page, "tiers?text=tell%20me%20everything%20now");
  await expect(page.getByRole("table", { name: "Comparison by agent" })).toContainText("deep");
  await isAccessible(page);
});
