import { execute, isAccessible, isUp } from "./desk";
import { expect, Gateway, test } from "./gateway";
import { ODD } from "./kinds";

let gateway: Gateway;
test.beforeAll(async () => {
  gateway = await Gateway.start(ODD);
  await isUp(gateway, "odd");
});
test.afterAll(() => gateway.stop());

test("measured tools are ranked in their category", async ({ page }) => {
  for (let at = 0; at < 6; at += 1) {
    await execute(gateway, "odd_slow", { ms: 120 });
    await execute(gateway, "odd_picture", {});
  }
  await gateway.open(page, "leaderboard");
  const board = page.getByRole("table", { name: "Leaderboard of oddities" });
  await expect(board.getByRole("row").nth(1)).toContainText("odd_picture");
  await expect(board.getByRole("row").nth(1)).toContainText(/lightning|fast/);
  await expect(board.getByRole("row").nth(2)).toContainText("odd_slow");
  await page.getByLabel("Agent").selectOption("hasty");
  await expect(page).toHaveURL(/agent=hasty/);
  await expect(board.getByRole("link", { name: "odd_picture" })).toBeVisible();
  await isAccessible(page);
  await board.getByRole("link", { name: "odd_picture" }).click();
  await expect(page.getByRole("tab", { name: "Latency and tier" })).toHaveAttribute(
    "aria-selected",
    "true",
  );
});
