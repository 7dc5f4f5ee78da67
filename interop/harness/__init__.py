"""What the interop tests are made of: processes, upstreams, the gateway, clients, the conformance suite."""
