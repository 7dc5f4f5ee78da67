// Error boundary: a page that throws shows its error, and the others keep working.
import { Component, type ReactNode } from "react";

export class ErrorBoundary extends Component<{ children: ReactNode }, { error?: Error }> {
  state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  render() {
    if (!this.state.error) return this.props.children;
    return (
      <main className="page" id="content">
        <h1>Something went wrong on this page</h1>
        <div className="note bad" role="alert">
          {this.state.error.message}
        </div>
        <button type="button" onClick={() => location.reload()}>
          Reload page
        </button>
      </main>
    );
  }
}
