//! A gate in this process, for figures without any network in them.

use std::sync::Arc;

use tollgate_core::call::{CallStatus, GateRequest, RequestKind};
use tollgate_core::catalog::Catalog;
use tollgate_core::json::Object;
use tollgate_core::turn::{Actor, Principal, Turn};
use tollgate_engine::caller::{Caller, Reply};
use tollgate_engine::gate::{Gate, TurnRequest};
use tollgate_engine::settings::EngineSettings;
use tollgate_engine::{Parts, RunningEngine, start};
use tollgate_mcp::meta::ClientFacts;

use crate::config::ScratchDirectory;
use crate::error::{BenchError, within};

pub(super) struct InProcessGate {
    gate: Arc<Gate>,
    principal: Principal,
    client: ClientFacts,
    /// The gate serves for as long as this is held.
    _running: RunningEngine,
}

impl InProcessGate {
    /// Opens when so many tools are there.
    pub(super) async fn open(
        scratch: &ScratchDirectory,
        parts: Parts,
        tools: usize,
    ) -> Result<Self, BenchError> {
        let data = scratch.path().join(format!("door-{tools}"));
        std::fs::create_dir_all(data.join("files"))?;
        Self::open_by(&EngineSettings::new(data), parts, tools).await
    }

    pub(super) async fn open_by(
        settings: &EngineSettings,
        parts: Parts,
        tools: usize,
    ) -> Result<Self, BenchError> {
        let running =
            start(settings, parts).map_err(|error| BenchError::Process(error.to_string()))?;
        let gate = Arc::clone(&running.gate);
        let mut changes = gate.changes();
        let patience = std::time::Duration::from_secs(30);
        within(patience, "the catalogue in process", async {
            while gate.catalog().tools.len() < tools {
                let gone = |_| BenchError::Process("the catalogue is not kept".to_owned());
                changes.changed().await.map_err(gone)?;
            }
            Ok(())
        })
        .await?;
        let client = ClientFacts::default();
        Ok(Self { gate, principal: Principal::local(), client, _running: running })
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.gate.catalog()
    }

    pub(super) fn turn(&self) -> Result<Turn, BenchError> {
        let turn_request = TurnRequest::by(Actor::endless(self.principal.clone()));
        self.gate.turn(turn_request).map_err(|error| BenchError::Process(error.to_string()))
    }

    /// A program as a front runs it. It must come to its end.
    pub(super) async fn code(&self, source: &str) -> Result<(), BenchError> {
        let turn = self.turn()?;
        let ended = self.gate.code(&turn, source, Caller::silent(&self.client)).await;
        match ended.map_err(|error| BenchError::Process(error.to_string()))?.result {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(BenchError::wrong("a program", "no result", b"")),
            Err(failed) => {
                Err(BenchError::wrong("a program", "it failed", failed.message.as_bytes()))
            }
        }
    }

    /// One call as a front makes it: a turn, the parameters read, the gate. The answer must have
    /// `expected` in it.
    pub(super) async fn call(&self, params: &str, expected: &str) -> Result<(), BenchError> {
        let turn = self.turn()?;
        let params =
            Object::parse(params).map_err(|error| BenchError::Process(error.to_string()))?;
        let request = GateRequest { kind: RequestKind::CallTool, params };
        let caller = Caller::silent(&self.client);
        let reply = self.gate.call(&turn, request, caller).await;
        match reply.map_err(|error| BenchError::Process(error.to_string()))? {
            Reply::Tool(outcome)
                if outcome.status == CallStatus::Ok && outcome.result.get().contains(expected) =>
            {
                Ok(())
            }
            Reply::Tool(outcome) => {
                let shown = outcome.result.get().as_bytes();
                Err(BenchError::wrong("the gate", "not the outcome of this call", shown))
            }
            _ => Err(BenchError::wrong("the gate", "no outcome of a tool", b"")),
        }
    }
}
