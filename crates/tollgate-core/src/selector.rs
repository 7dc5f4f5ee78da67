//! Chooses the latency budget of a turn from what was said. No model is asked.
