import { isAccessible } from "./desk";
import { expect, Gateway, test } from "./gateway";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start("limits: { model_limits: [1000 requests/day] }\n");
});
test.afterAll(() => gateway.stop());

test("what a model was used for is summed up by key, agent and model", async ({ page }) => {
  await gateway.open(page, "usage");
  await expect(page.getByText("No model was asked in these days.")).toBeVisible();
  for (let at = 0; at < 3; at += 1) {
    const body = { model: "offline", messages: [{ role: "user", content: "hello" }] };
    await gateway.ask("POST", "/v1/chat/completions", body);
  }
  await page.reload();
  const table = page.getByRole("table", { name: "Usage" });
  await expect(table.getByRole("row").nth(1)).toContainText("admin");
  await expect(table.getByRole("row").nth(1)).toContainText("$0.0000");
  await page.getByLabel("Group by").selectOption("model");
  await expect(page).toHaveURL(/by=model/);
  await expect(table.getByRole("row").nth(1)).toContainText("offline");
  await expect(table.getByRole("row").nth(1).getByRole("cell").nth(1)).toHaveText("3");
  await expect(page.getByRole("img", { name: "Tokens and requests by day" })).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export CSV" }).click();
  expect((await download).suggestedFilename()).toBe("usage.csv");
  await isAccessible(page);
});
