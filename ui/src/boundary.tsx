// A page that fails says so and leaves the others alone.
import { Component, type ReactNode } from "react";

export class Boundary extends Component<{ children: ReactNode }, { error?: Error }> {
  state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  render() {
    if (!this.state.error) return this.props.children;
    return (
      <main className="page" id="content">
        <h1>This page failed</h1>
        <div className="note bad" role="alert">
          {this.state.error.message}
        </div>
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </main>
    );
  }
}
