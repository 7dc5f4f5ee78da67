import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/queries";
import { App } from "./app";
import { applyTheme } from "./kit/theme";
import "./style/base.css";
import "./style/kit.css";
import "./style/shell.css";

applyTheme();
const root = document.getElementById("page");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
