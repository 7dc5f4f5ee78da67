import { defineConfig } from "@playwright/test";

// Debian's own browser; nothing is downloaded.
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "tests",
  timeout: 45_000,
  expect: { timeout: 15_000 },
  // On two cores: most of the time a test waits for a page to settle.
  workers: 3,
  fullyParallel: false,
  forbidOnly: true,
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    viewport: { width: 1280, height: 860 },
    launchOptions: { executablePath, args: ["--no-sandbox"] },
    trace: { mode: "retain-on-failure", screenshots: false },
  },
});
