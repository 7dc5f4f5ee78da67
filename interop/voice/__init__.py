"""A spoken conversation through Tollgate, with real speech on both sides and nobody's cloud: `make demo-voice`."""
