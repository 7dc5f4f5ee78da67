//! Sampling, effort, limits and stop sequences.

use serde_json::{Map, Number, Value};

use super::RequestFitting;
use crate::conversation::ChatTool;
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::model_capabilities::{Effort, EffortLevels, Feature, Sampling};

const OPENAI: [Dialect; 2] = [Dialect::OpenAiChat, Dialect::OpenAiResponses];

/// Values that the vendors take for "not set".
const DEFAULT_TEMPERATURE: f64 = 1.0;
const MIN_DEFAULT_TOP_P: f64 = 0.99;
/// While a Claude thinks, it takes `top_p` from here on.
const MIN_THINKING_TOP_P: f64 = 0.95;
/// The value of Responses' `include` for log probabilities.
const INCLUDE_LOGPROBS: &str = "message.output_text.logprobs";
const INCLUDE_ENCRYPTED: &str = "reasoning.encrypted_content";

impl RequestFitting<'_> {
    pub(super) fn fit_options(&mut self) {
        self.fit_effort();
        self.fit_sampling();
        self.fit_limits();
        self.fit_reasoning_fields();
    }

    fn fit_effort(&mut self) {
        let Some(requested) = self.request.options.effort.clone() else { return };
        if self.switches_thinking_off() {
            return;
        }
        let effort = match Effort::parse(&requested) {
            Some(effort) => self.takes.efforts.nearest(effort),
            None if self.takes.efforts == EffortLevels::Any => return,
            None => None,
        };
        let Some(effort) = effort else {
            self.edit().options.effort = None;
            self.report(format!("effort `{requested}`: the model does not have it"));
            return;
        };
        if self.refuses_effort_with_tools() && effort != Effort::None {
            self.edit().options.effort = None;
            self.report(format!(
                "effort `{requested}`: the model does not take it beside tools in Chat Completions; \
                 `api: responses` does"
            ));
            return;
        }
        if effort.as_str() != requested {
            self.report(format!("effort `{requested}`: sent as `{}`", effort.as_str()));
            self.edit().options.effort = Some(effort.as_str().to_owned());
        }
    }

    fn refuses_effort_with_tools(&self) -> bool {
        let functions = || self.request.tools.iter().any(|it| matches!(it, ChatTool::Function(_)));
        self.dialect == Dialect::OpenAiChat
            && !self.takes.takes(Feature::ChatEffortWithTools)
            && functions()
    }

    fn fit_sampling(&mut self) {
        let effort = self.request.options.effort.as_deref().and_then(Effort::parse);
        let fixed = match self.takes.sampling {
            Sampling::All => false,
            Sampling::OneOf => {
                if self.thinks() {
                    self.fix_sampling(MIN_THINKING_TOP_P);
                } else if self.request.options.temperature.is_some()
                    && self.request.options.top_p.is_some()
                {
                    self.edit().options.top_p = None;
                    self.report("`top_p`: the model takes either it or `temperature`");
                }
                false
            }
            Sampling::WithoutReasoning => self.takes.reasons_at(effort),
            Sampling::Fixed => true,
        };
        if fixed {
            self.fix_sampling(MIN_DEFAULT_TOP_P);
        }
    }

    /// Removes sampling options. Defaults are removed without a report: they ask for nothing.
    fn fix_sampling(&mut self, min_top_p: f64) {
        let is_openai = OPENAI.contains(&self.dialect);
        let options = &self.request.options;
        let set = |option: &Option<Number>, asks: &dyn Fn(f64) -> bool| {
            option.as_ref().map(|it| it.as_f64().is_some_and(asks))
        };
        // `Some`: it is set; `true`: to something other than the default.
        let mut sampling = vec![
            ("temperature", set(&options.temperature, &|it| it != DEFAULT_TEMPERATURE)),
            ("top_p", set(&options.top_p, &|it| it < min_top_p)),
            ("top_k", set(&options.top_k, &|_| true)),
        ];
        if is_openai {
            sampling.extend([
                ("presence_penalty", set(&options.presence_penalty, &|it| it != 0.0)),
                ("frequency_penalty", set(&options.frequency_penalty, &|it| it != 0.0)),
            ]);
        }
        if sampling.iter().any(|(_, asks)| asks.is_some()) {
            let options = &mut self.edit().options;
            options.temperature = None;
            options.top_p = None;
            options.top_k = None;
            if is_openai {
                options.presence_penalty = None;
                options.frequency_penalty = None;
            }
        }
        for (name, asks) in sampling {
            if asks == Some(true) {
                self.report(format!("`{name}`: the model does not take it"));
            }
        }
        if is_openai {
            self.drop_fields(&["top_k", "logprobs", "top_logprobs", "logit_bias"]);
            self.drop_include(INCLUDE_LOGPROBS, "top_logprobs");
        }
    }

    /// Removes fields that the client set in one of OpenAI's dialects.
    fn drop_fields(&mut self, names: &[&str]) {
        for name in names {
            let taken = OPENAI.into_iter().find_map(|dialect| self.take_field(dialect, name));
            let asks = |value: Value| !matches!(value, Value::Null | Value::Bool(false));
            if taken.is_some_and(asks) && *name != "top_k" {
                self.report(format!("`{name}`: the model does not take it"));
            }
        }
    }

    fn drop_include(&mut self, value: &str, name: &str) {
        let own = Dialect::OpenAiResponses;
        let include = self.request.extra.get(own, "include").and_then(Value::as_array);
        let Some(include) = include.filter(|list| list.iter().any(|it| it == value)) else {
            return;
        };
        let rest: Vec<Value> = include.iter().filter(|it| *it != value).cloned().collect();
        self.take_field(own, "include");
        if !rest.is_empty() {
            let rest = Map::from_iter([("include".to_owned(), rest.into())]);
            self.edit().extra.merge(Extra::new(own, rest));
        }
        self.report(format!("`{name}`: the model does not take it"));
    }

    /// Sets a field of the provider's own dialect.
    pub(super) fn put_field(&mut self, name: &str, value: Value) {
        let field = Map::from_iter([(name.to_owned(), value)]);
        let field = Extra::new(self.dialect, field);
        self.edit().extra.merge(field);
    }

    fn fit_limits(&mut self) {
        let takes = self.takes;
        if let Some(count) = self.request.options.max_output.filter(|it| *it < takes.min_output) {
            let least = takes.min_output;
            // 0 has a meaning of its own at Anthropic, where the minimum is 1.
            if count > 0 || least > 1 {
                self.edit().options.max_output = Some(least);
                self.report(format!("the limit of {count} output tokens: sent as {least}"));
            }
        }
        let stops = self.request.options.stop.len();
        // Responses has none for any model; its encoder reports that.
        if stops > takes.max_stops && self.dialect == Dialect::OpenAiChat {
            self.edit().options.stop.truncate(takes.max_stops);
            self.report(match takes.max_stops {
                0 => "`stop`: the model does not take it".to_owned(),
                most => format!("`stop`: only the first {most} of {stops} sequences are sent"),
            });
        }
        if !takes.takes(Feature::MaxTokens) {
            // The client's spelling of the limit.
            self.take_field(Dialect::OpenAiChat, "max_tokens");
        }
    }

    /// Fields about reasoning that a client set in the provider's own dialect.
    fn fit_reasoning_fields(&mut self) {
        let known = self.takes.efforts != EffortLevels::Any;
        if self.dialect == Dialect::OpenAiResponses && known && !self.takes.reasons {
            self.drop_fields(&["reasoning"]);
            self.drop_include(INCLUDE_ENCRYPTED, INCLUDE_ENCRYPTED);
        }
    }
}
