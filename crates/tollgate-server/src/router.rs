//! Router: all HTTP routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get, post};
use http::StatusCode;

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::oidc::resource;
use crate::request_span::trace_request;
use crate::{
    admin, chat, mcp, metrics, openapi, ops, page, protected_resource, realtime, rest, telephony,
};

pub(crate) fn router(front: Arc<AppState>) -> Router {
    let router = routes();
    let router = if front.gate.tracer().is_on() {
        router.layer(from_fn_with_state(Arc::clone(&front), trace_request))
    } else {
        router
    };
    router.with_state(front)
}

fn routes() -> Router<Arc<AppState>> {
    Router::new()
        .route("/", get(page::page))
        .route("/icon.svg", get(page::icon))
        .route("/assets/{name}", get(page::asset))
        .route("/mcp", post(mcp::http::post).get(mcp::http::get).delete(mcp::http::delete))
        .route(
            "/mcp/{agent}",
            post(mcp::http::post_to_agent)
                .get(mcp::http::get_for_agent)
                .delete(mcp::http::delete_for_agent),
        )
        .route("/mcp/status", get(ops::status))
        .route("/mcp/test/{server}", post(ops::test))
        .route("/v1/tier", post(rest::tier))
        .route("/v1/tools", get(rest::tools))
        .route("/v1/tools/execute", post(rest::execute))
        .route("/v1/code", get(rest::code_files).post(rest::code))
        .route("/v1/mcp/tool/execute", post(rest::tool_calls))
        .route("/v1/results/{handle}", get(rest::results))
        .route("/v1/files/{id}", get(rest::file))
        .route("/api/servers", get(admin::servers::list).post(admin::servers::add))
        .route("/api/servers/try", post(admin::servers::trial).merge(server_named_try()))
        .route(
            "/api/servers/{id}",
            get(admin::servers::show).put(admin::servers::replace).delete(admin::servers::remove),
        )
        .route("/api/servers/{id}/disable", post(admin::servers::disable))
        .route("/api/servers/{id}/enable", post(admin::servers::enable))
        .route("/api/servers/{id}/login", post(admin::servers::login))
        .route("/api/servers/{id}/logs", get(admin::servers::logs))
        .route("/api/servers/{id}/restart", post(admin::servers::restart))
        .route("/api/agents", get(admin::agents::list))
        .route("/api/models", get(admin::models::list))
        .route("/api/agents/{name}", get(admin::agents::show))
        .route("/api/agents/{name}/render", post(admin::agents::render))
        .route("/api/approvals", get(admin::approvals::waiting))
        .route("/api/approvals/{id}", get(admin::approvals::show).post(admin::approvals::decide))
        .route("/api/audit", get(admin::audit::audit))
        .route("/api/audit/tail", get(admin::audit::tail))
        .route("/api/audit/verify", get(admin::audit::verify))
        .route("/api/calibrate", post(admin::calibrate))
        .route("/api/calls", get(admin::calls::calls))
        .route("/api/usage", get(admin::usage::usage))
        .route("/api/events", get(admin::events))
        .route("/api/keys", get(admin::keys::keys).post(admin::keys::make))
        .route("/api/keys/{name}", delete(admin::keys::revoke))
        .route("/api/keys/{name}/rotate", post(admin::keys::rotate))
        .route(
            "/api/login",
            get(admin::login::who).post(admin::login::enter).delete(admin::login::leave),
        )
        .route("/api/openapi.json", get(openapi::openapi))
        .route("/api/overview", get(admin::overview::overview))
        .route("/api/sessions", get(admin::sessions::list))
        .route("/api/sessions/{id}", get(admin::sessions::show).delete(admin::sessions::close))
        .route("/api/sessions/{id}/tier", post(admin::sessions::tier))
        .route("/api/telemetry", get(admin::telemetry))
        .route("/api/tools", get(admin::tools::list))
        .route("/api/tools/{server}/{tool}", get(admin::tools::examine))
        .route("/api/tools/{server}/{tool}/accept", post(admin::tools::accept))
        .route("/api/tools/{server}/{tool}/reject", post(admin::tools::reject))
        .route("/.well-known/oauth-protected-resource", get(protected_resource::metadata))
        .route("/.well-known/oauth-protected-resource/mcp", get(protected_resource::metadata))
        .route(
            "/.well-known/oauth-protected-resource/mcp/{agent}",
            get(protected_resource::metadata_of_agent),
        )
        .route("/healthz", get(ops::healthz))
        .route("/metrics", get(metrics::metrics))
        .route("/readyz", get(ops::readyz))
        .merge(config_routes())
        .merge(conversing())
        .merge(telephony())
        .merge(memory())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
}

/// Chat and realtime routes, in the protocols of the providers.
fn conversing() -> Router<Arc<AppState>> {
    Router::new()
        .route("/v1/chat/completions", post(chat::completions))
        .route("/v1/responses", post(chat::responses))
        .route("/v1/responses/{id}", get(chat::stored_response).delete(chat::delete_response))
        .route("/v1/responses/{id}/input_items", get(chat::response_items))
        .route("/v1/messages", post(chat::messages))
        .route("/v1/messages/count_tokens", post(chat::count_tokens))
        .route("/v1/embeddings", post(chat::embeddings))
        .route("/v1/audio/speech", post(chat::speech))
        .route("/v1/audio/transcriptions", post(chat::transcriptions))
        .route("/v1/models", get(chat::list))
        .route("/v1/models/{*call}", get(chat::show).post(chat::generate))
        .route("/v1beta/models", get(chat::list_gemini))
        .route("/v1beta/models/{*call}", get(chat::show_gemini).post(chat::generate))
        .route("/v1alpha/models", get(chat::list_gemini))
        .route("/v1alpha/models/{*call}", get(chat::show_gemini).post(chat::generate))
        .route("/v1/realtime", get(realtime::openai))
        .route("/v1/realtime/calls", post(realtime::calls::create))
        .route("/v1/realtime/calls/{id}/accept", post(realtime::calls::accept))
        .route("/v1/realtime/calls/{id}/hangup", post(realtime::calls::hangup))
        .route("/v1/realtime/calls/{id}/refer", post(realtime::calls::refer))
        .route("/v1/realtime/calls/{id}/reject", post(realtime::calls::reject))
        .route("/v1/realtime/incoming/{name}", post(realtime::calls::receive))
        .route("/v1/realtime/client_secrets", post(realtime::client_secrets::issue))
        .route("/v1/realtime/sessions", post(realtime::client_secrets::issue_session))
        .route("/v1/live/sessions", get(realtime::gpt_live))
        .route("/v1/live/sessions/{id}/attach", get(realtime::attach))
        .route("/v1/agent/converse", get(realtime::deepgram))
        .route("/ws/{service}", get(realtime::gemini))
        .route("//ws/{service}", get(realtime::gemini))
}

/// Routes of telephone platforms, which send a signature instead of a key.
fn telephony() -> Router<Arc<AppState>> {
    Router::new()
        .route("/v1/telephony/twilio", get(telephony::stream))
        .route("/v1/telephony/twilio/voice", post(telephony::voice))
        .route("/v1/telephony/twilio/{line}", get(telephony::stream_of_line))
        .route("/v1/telephony/twilio/{line}/voice", post(telephony::voice_of_line))
        .route("/v1/telephony/vapi", post(telephony::vapi))
        .route("/v1/telephony/vapi/{line}", post(telephony::vapi_line))
        .route("/v1/telephony/retell", post(telephony::retell))
        .route("/v1/telephony/retell/{line}", post(telephony::retell_line))
        .route("/v1/telephony/retell/{line}/{tool}", post(telephony::retell_tool))
}

/// A server may have the same name as the route that tries one.
fn server_named_try() -> MethodRouter<Arc<AppState>> {
    use admin::servers::{remove, replace, show};
    let name = || Path("try".to_owned());
    get(move |front, request| show(front, name(), request))
        .put(move |front, request| replace(front, name(), request))
        .delete(move |front, request| remove(front, name(), request))
}

/// Routes for the config file and its entries.
fn config_routes() -> Router<Arc<AppState>> {
    Router::new()
        .route("/api/config", get(admin::config::read).put(admin::config::write))
        .route("/api/config/check", post(admin::config::check))
        .route("/api/registry", get(admin::registry))
        .route("/api/reload", get(admin::config::reload_status).post(admin::config::reload))
        .route("/api/connect", get(admin::connect))
        .route("/api/import", post(admin::import))
}

/// Routes for the memory of agents.
fn memory() -> Router<Arc<AppState>> {
    use admin::memory::{self, entities, facts, relations, sessions};
    Router::new()
        .route("/api/memory", get(memory::overview).delete(memory::forget))
        .route("/api/memory/entities", get(entities::list).post(entities::add))
        .route(
            "/api/memory/entities/{id}",
            get(entities::show).put(entities::put).delete(entities::forget),
        )
        .route("/api/memory/export", get(memory::export))
        .route("/api/memory/facts", get(facts::list).post(facts::add))
        .route("/api/memory/facts/{id}", delete(facts::forget))
        .route("/api/memory/import", post(memory::import))
        .route(
            "/api/memory/relations",
            get(relations::list).post(relations::add).delete(relations::forget),
        )
        .route("/api/memory/sessions", get(sessions::list).post(sessions::append))
        .route(
            "/api/memory/sessions/{id}",
            get(sessions::show).put(sessions::summarise).delete(sessions::forget),
        )
}

/// Routes that need no key: they return nothing confidential, or what the id in their path opens, or
/// check a signature.
pub(crate) fn is_open(path: &str) -> bool {
    matches!(path, "/" | "/api/login" | "/healthz" | "/readyz")
        || path.starts_with("/v1/files/")
        || path.starts_with(telephony::PATH)
        // Signed with the secret of the webhook.
        || path.starts_with("/v1/realtime/incoming/")
        || page::is_file(path)
        || path.starts_with(resource::WELL_KNOWN)
}

async fn not_found(request: Request) -> Response {
    let detail = "there is nothing at this path";
    ApiError::new(StatusCode::NOT_FOUND, "not_found", detail)
        .response(ApiErrorFormat::of(request.uri().path()))
}

async fn method_not_allowed(request: Request) -> Response {
    let detail = "this path does not support this method";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        .response(ApiErrorFormat::of(request.uri().path()))
}
