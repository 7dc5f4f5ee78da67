//! What the provider says about its responses: when they begin and end, what the model calls in them
//! and says. Calls are taken when they are complete, and answered when their response is over.

use std::time::Instant;

use serde_json::{Map, Value};
use tollgate_core::json::{self, Object};

use super::calls::{Due, Made};
use super::floor::{Asked, Ending, Kind, Response, Sight, Want, Whose};
use super::owed::Deep;
use super::wire::{self, MARK};
use super::{OpenAi, Question};
use crate::realtime::events::{Action, Call, Fate};
use crate::realtime::glance::{self, Glance};

/// What became of a response, and so of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Stands,
    Falls,
}

/// A call as the provider tells it.
struct Told<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
    verdict: Verdict,
}

impl OpenAi {
    pub(super) fn response_created(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Fate {
        let Some((message, response)) = response_of(text) else { return Fate::Forward };
        let Some(id) = response.get("id").and_then(Value::as_str).map(str::to_owned) else {
            return Fate::Forward;
        };
        let kind = self.kind_of(&response);
        let (whose, asked) = self.asked_by(&response, kind);
        if kind == Kind::Aside {
            self.floor.begin_aside(&id, whose);
            if whose == Whose::Ours {
                out.push(Action::Announced);
            }
            return shown(message, response, Hides::Nothing);
        }
        let missed = self.owed.unseen();
        let want = asked.as_ref().map(|asked| asked.want).unwrap_or_default();
        if whose == Whose::Ours || want == Want::Words {
            self.owed.deep = Deep::No;
        }
        if whose == Whose::Ours || missed.is_empty() {
            self.owed.told();
        }
        let must_end = self.owed.deep != Deep::No;
        let sight = match must_end && asked.is_none() {
            true => Sight::Hidden,
            false => Sight::Shown,
        };
        let missed = if whose == Whose::Ours { Default::default() } else { missed };
        if let Some(before) = self.floor.begin(Response::begun(id, sight, missed)) {
            self.post_early(before.early, now, out);
        }
        if must_end {
            self.stop_active(out);
        }
        if sight == Sight::Hidden {
            return Fate::Swallow;
        }
        if whose == Whose::Others && asked.is_none() {
            // What the client asked for meanwhile would be refused by now.
            self.owed.held = None;
        }
        out.extend(self.floor.turn_answered().map(Action::Turn));
        shown(message, response, Hides::Nothing)
    }

    pub(super) fn response_done(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Fate {
        let Some((message, mut response)) = response_of(text) else { return Fate::Forward };
        let id = response.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.floor.end_aside(&id).is_some() {
            self.settle(now, out);
            return shown(message, response, Hides::Nothing);
        }
        let mut ended = self.floor.end(&id);
        self.owed.response_ended();
        self.floor.forget_asked(Kind::Conversation);
        if let Some(hidden) = ended.as_ref().filter(|ended| ended.sight == Sight::Hidden) {
            for item in &hidden.items {
                out.push(Action::ToProvider(self.post.delete(item)));
            }
            self.settle(now, out);
            return Fate::Swallow;
        }
        let by_us = ended.as_ref().is_some_and(|ended| ended.ending == Ending::Us);
        if verdict(&response) == Verdict::Stands {
            self.asked = Question::Answered;
        }
        self.take_calls(&id, &response, out);
        let early = ended.as_mut().map(|ended| std::mem::take(&mut ended.early));
        self.post_early(early.unwrap_or_default(), now, out);
        for due in self.close_calls(&id, verdict(&response), out) {
            self.post_due(due, now, out);
        }
        if response.get("status").is_some_and(|status| status == "cancelled") && !by_us {
            self.interrupted(out);
        } else if ended.is_some_and(|ended| !ended.missed.is_empty()) {
            self.owed.wants_reply();
        }
        self.settle(now, out);
        let hides = self.hide_calls(&mut response);
        shown(message, response, hides)
    }

    /// Whether it writes the conversation.
    fn kind_of(&self, response: &Map<String, Value>) -> Kind {
        match response.get("conversation_id") {
            Some(Value::Null) => Kind::Aside,
            Some(_) => Kind::Conversation,
            None => self.floor.oldest_asked().unwrap_or(Kind::Conversation),
        }
    }

    /// Whose it is, and as what it was asked for. Those that do not give back what they were asked
    /// with are taken for ours if we asked; our mark counts whatever they made of the rest.
    fn asked_by(&mut self, response: &Map<String, Value>, kind: Kind) -> (Whose, Option<Asked>) {
        let mark = response.get("metadata").map(|metadata| metadata.get(MARK));
        let whose = match mark {
            Some(Some(Value::String(mark))) if self.post.gave(mark) => {
                return (Whose::Ours, self.floor.take_asked(mark));
            }
            None if self.floor.has_asked(Whose::Ours, kind) => Whose::Ours,
            Some(_) | None => Whose::Others,
        };
        (whose, self.floor.begun(whose, kind))
    }

    // === calls ===

    pub(super) fn item_began(&mut self, text: &str) -> Fate {
        let Ok(message) = Object::parse(text) else { return Fate::Forward };
        let Some(item) = message.object("item") else { return Fate::Forward };
        let response_id = message.string("response_id").unwrap_or_default();
        let id = item.string("id").unwrap_or_default();
        if self.floor.is_hidden(&response_id) {
            self.hide_item_of_active(&id);
            return Fate::Swallow;
        }
        if self.floor.aside(&response_id) == Some(Whose::Ours) {
            self.aside_items.insert(&id);
            return Fate::Forward;
        }
        if !self.is_ours(&item) {
            self.client_is_called(&response_id, &item);
            return Fate::Forward;
        }
        self.items.hide(&id);
        Fate::Swallow
    }

    fn client_is_called(&mut self, response_id: &str, item: &Object<'_>) {
        if item.string("type").as_deref() == Some("function_call")
            && let Some(call_id) = item.string("call_id")
            && let Some(active) = self.floor.active_mut().filter(|active| active.id == response_id)
        {
            active.calls.push(call_id.into_owned());
        }
    }

    pub(super) fn item_done(&mut self, text: &str, out: &mut Vec<Action>) -> Fate {
        let Ok(message) = Object::parse(text) else { return Fate::Forward };
        let Some(item) = message.object("item") else { return Fate::Forward };
        let response_id = message.string("response_id").unwrap_or_default();
        let id = item.string("id").unwrap_or_default();
        if self.floor.is_hidden(&response_id) {
            self.hide_item_of_active(&id);
            return Fate::Swallow;
        }
        if !self.is_ours(&item) {
            return Fate::Forward;
        }
        self.items.hide(&id);
        let is_whole = item.string("status").is_none_or(|status| status == "completed");
        let name = item.string("name").unwrap_or_default();
        let arguments = item.string("arguments").unwrap_or_default();
        if let Some(call_id) = item.string("call_id")
            && is_whole
            && self.floor.aside(&response_id).is_none()
        {
            let verdict = Verdict::Stands;
            let told = Told { id: &call_id, name: &name, arguments: &arguments, verdict };
            self.take_call(&response_id, &told, out);
        }
        Fate::Swallow
    }

    pub(super) fn arguments(&mut self, text: &str) -> Fate {
        let known = |key, is_known: &dyn Fn(&str) -> bool| match glance::string(text, key) {
            Glance::Is(id) => is_known(id),
            Glance::Missing | Glance::Unclear => false,
        };
        let is_ours = known("item_id", &|id| self.items.is_hidden(id))
            || known("call_id", &|id| self.calls.knows(id))
            || known("name", &|name| !self.config.is_clients(name));
        if is_ours { Fate::Swallow } else { self.of_response(text) }
    }

    fn hide_item_of_active(&mut self, id: &str) {
        self.items.hide(id);
        if let Some(active) = self.floor.active_mut()
            && !active.items.iter().any(|known| known == id)
        {
            active.items.push(id.to_owned());
        }
    }

    /// Runs it, once, or answers for it if it is cut off.
    fn take_call(&mut self, response: &str, told: &Told<'_>, out: &mut Vec<Action>) {
        let Told { id, name, arguments, verdict } = *told;
        let made = Made { response, name, arguments, delivery: self.config.delivery(name) };
        match verdict {
            Verdict::Stands if self.calls.make(id, &made) => out.push(Action::Run(Call {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            })),
            Verdict::Falls if self.calls.settled(id, &made) => {
                out.push(Action::ToProvider(self.post.output(id, &wire::cut_off())));
            }
            Verdict::Stands | Verdict::Falls => {}
        }
    }

    /// Calls of a response that is over and that nobody told before, and the client's own.
    fn take_calls(&mut self, id: &str, response: &Map<String, Value>, out: &mut Vec<Action>) {
        for item in calls_in(response) {
            let text = |key| item.get(key).and_then(Value::as_str).unwrap_or_default();
            let verdict = match verdict(item) {
                Verdict::Stands => verdict(response),
                Verdict::Falls => Verdict::Falls,
            };
            let (call_id, name, arguments) = (text("call_id"), text("name"), text("arguments"));
            if !self.config.is_clients(name) || self.calls.knows(call_id) {
                self.take_call(id, &Told { id: call_id, name, arguments, verdict }, out);
            } else if verdict == Verdict::Stands {
                self.owed.client_called(call_id);
            }
        }
    }

    /// Its response is over: what of it may be answered now.
    fn close_calls(&mut self, id: &str, verdict: Verdict, out: &mut Vec<Action>) -> Vec<Due> {
        match verdict {
            Verdict::Stands => {
                let (standing, due) = self.calls.stand(id);
                out.extend((!standing.is_empty()).then_some(Action::Confirm(standing)));
                due
            }
            Verdict::Falls => {
                let (running, due) = self.calls.fall(id);
                out.extend(running.into_iter().map(Action::Cancel));
                due
            }
        }
    }

    fn hide_calls(&self, response: &mut Map<String, Value>) -> Hides {
        let Some(Value::Array(output)) = response.get_mut("output") else { return Hides::Nothing };
        let before = output.len();
        output.retain(|item| {
            let call_id = item.get("call_id").and_then(Value::as_str).unwrap_or_default();
            item["type"] != "function_call" || !self.calls.knows(call_id)
        });
        if output.len() == before { Hides::Nothing } else { Hides::Something }
    }

    // === what is said ===

    pub(super) fn said(&mut self, text: &str, out: &mut Vec<Action>) -> Fate {
        let Ok(message) = Object::parse(text) else { return Fate::Forward };
        let response_id = message.string("response_id").unwrap_or_default();
        if self.floor.is_hidden(&response_id) {
            return Fate::Swallow;
        }
        let words = message.string("transcript").or_else(|| message.string("text"));
        if let Some(words) = words.filter(|words| !words.is_empty())
            && self.floor.aside(&response_id).is_none()
        {
            out.push(Action::Said(words.into_owned()));
        }
        Fate::Forward
    }

    /// Anything else of a response.
    pub(super) fn of_response(&self, text: &str) -> Fate {
        if self.floor.hidden().is_none() {
            return Fate::Forward;
        }
        match glance::string(text, "response_id") {
            Glance::Is(id) if self.floor.is_hidden(id) => Fate::Swallow,
            Glance::Is(_) | Glance::Missing | Glance::Unclear => Fate::Forward,
        }
    }
}

/// Whether something was taken out of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hides {
    Nothing,
    Something,
}

fn response_of(text: &str) -> Option<(Object<'_>, Map<String, Value>)> {
    let message = Object::parse(text).ok()?;
    let Value::Object(response) = json::value(message.get("response")?.get()).ok()? else {
        return None;
    };
    Some((message, response))
}

/// Of a response or an item; where nothing is said it is whole.
fn verdict(of: &Map<String, Value>) -> Verdict {
    match of.get("status").and_then(Value::as_str) {
        Some("completed") | None => Verdict::Stands,
        Some(_) => Verdict::Falls,
    }
}

fn calls_in(response: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    let items = response.get("output").and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_object);
    items.filter(|item| item.get("type").is_some_and(|kind| kind == "function_call")).collect()
}

/// The response as the client may see it: our mark is on none of them.
fn shown(mut message: Object<'_>, mut response: Map<String, Value>, hides: Hides) -> Fate {
    let is_marked = match response.get_mut("metadata") {
        Some(Value::Object(metadata)) => metadata.remove(MARK).is_some(),
        Some(_) | None => false,
    };
    if !is_marked && hides == Hides::Nothing {
        return Fate::Forward;
    }
    if is_marked && response.get("metadata").and_then(Value::as_object).is_some_and(Map::is_empty) {
        response.insert("metadata".to_owned(), Value::Null);
    }
    message.set("response", json::raw_value(&response.into()));
    Fate::Replace(message.to_text())
}
