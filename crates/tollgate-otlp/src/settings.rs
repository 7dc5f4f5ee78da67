//! Telemetry settings: from the config, with the environment variables of the OpenTelemetry
//! specification as defaults.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use tollgate_core::secret::Secret;
use tollgate_core::secret_values::{self, MaskJudgement};

use super::baggage_pairs::pairs;
use super::error::OtlpStartError;
use super::histogram;
use super::sampler::Sampler;

const TIMEOUT: Duration = Duration::from_secs(10);
const SPANS_EVERY: Duration = Duration::from_secs(5);
const QUEUE: usize = 2_048;
const BATCH: usize = 512;
const SERVICE: &str = "tollgate";

/// The config section. Missing keys come from the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtlpConfig {
    pub endpoint: Option<String>,
    pub headers: Vec<(String, Secret)>,
    pub protocol: Option<OtlpProtocol>,
    pub timeout: Option<Duration>,
    pub spans_every: Option<Duration>,
    pub metrics_every: Option<Duration>,
    pub sample_percent: Option<u64>,
    pub service: Option<String>,
    pub resource: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpProtocol {
    Protobuf,
    Json,
}

impl OtlpProtocol {
    pub const NAMES: [&str; 2] = ["http/protobuf", "http/json"];

    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "http/protobuf" => Some(Self::Protobuf),
            "http/json" => Some(Self::Json),
            _ => None,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// Validated settings. At least one signal is sent.
#[derive(Debug)]
pub struct OtlpSettings {
    pub(super) traces: Option<OtlpTarget>,
    pub(super) metrics: Option<OtlpTarget>,
    pub(super) sampler: Sampler,
    pub(super) resource: Vec<(String, String)>,
    pub(super) spans_every: Duration,
    pub(super) metrics_every: Duration,
    /// Queue length.
    pub(super) queue: usize,
    /// Batch size.
    pub(super) batch: usize,
}

/// Target of one signal.
#[derive(Debug, Clone)]
pub(super) struct OtlpTarget {
    pub(super) url: Uri,
    /// Must not be shown: they may contain a key.
    pub(super) headers: HeaderMap,
    pub(super) protocol: OtlpProtocol,
    pub(super) timeout: Duration,
}

/// One of the two signals.
#[derive(Clone, Copy)]
struct OtlpSignal {
    /// Its name in environment variables.
    name: &'static str,
    path: &'static str,
}

const TRACES: OtlpSignal = OtlpSignal { name: "TRACES", path: "v1/traces" };
const METRICS: OtlpSignal = OtlpSignal { name: "METRICS", path: "v1/metrics" };

impl OtlpSettings {
    /// `None`: nothing is sent. The error names the invalid variable or key.
    pub fn of(
        configured: &OtlpConfig,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, OtlpStartError> {
        let stated = OtlpSources { configured, environment };
        if stated.variable("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let traces = stated.target(TRACES)?;
        let metrics = stated.target(METRICS)?;
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        let milliseconds = |name: &str| -> Result<Option<Duration>, OtlpStartError> {
            Ok(stated.whole_number(name)?.map(Duration::from_millis))
        };
        let spans_every = match configured.spans_every {
            Some(every) => every,
            None => milliseconds("OTEL_BSP_SCHEDULE_DELAY")?.unwrap_or(SPANS_EVERY),
        };
        let metrics_every = match configured.metrics_every {
            Some(every) => every,
            None => {
                milliseconds("OTEL_METRIC_EXPORT_INTERVAL")?.unwrap_or(histogram::USUALLY_EVERY)
            }
        };
        let least = Duration::from_millis(10);
        let many = |name: &str, usual: usize| -> Result<usize, OtlpStartError> {
            let stated = stated.whole_number(name)?.and_then(|it| usize::try_from(it).ok());
            Ok(stated.unwrap_or(usual).clamp(1, 1 << 20))
        };
        let queue = many("OTEL_BSP_MAX_QUEUE_SIZE", QUEUE)?;
        Ok(Some(Self {
            traces,
            metrics,
            sampler: stated.sampler()?,
            resource: stated.resource()?,
            spans_every: spans_every.max(least),
            metrics_every: metrics_every.max(least),
            queue,
            batch: many("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", BATCH)?.min(queue),
        }))
    }
}

/// The config takes precedence over the environment.
struct OtlpSources<'s> {
    configured: &'s OtlpConfig,
    environment: &'s dyn Fn(&str) -> Option<String>,
}

impl OtlpSources<'_> {
    /// An empty variable counts as unset, as the specification requires.
    fn variable(&self, name: &str) -> Option<String> {
        let value = (self.environment)(name)?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// `OTEL_EXPORTER_OTLP_TRACES_…` takes precedence over `OTEL_EXPORTER_OTLP_…`.
    fn exporter(&self, signal: OtlpSignal, what: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.name);
        let all = format!("OTEL_EXPORTER_OTLP_{what}");
        [own, all].into_iter().find_map(|name| Some((self.variable(&name)?, name)))
    }

    fn whole_number(&self, name: &str) -> Result<Option<u64>, OtlpStartError> {
        let Some(text) = self.variable(name) else { return Ok(None) };
        let invalid =
            |_| OtlpStartError::InvalidNumber { name: name.to_owned(), value: text.clone() };
        text.parse().map(Some).map_err(invalid)
    }

    fn target(&self, signal: OtlpSignal) -> Result<Option<OtlpTarget>, OtlpStartError> {
        let name = format!("OTEL_{}_EXPORTER", signal.name);
        match self.variable(&name) {
            None => {}
            Some(exporter) if exporter == "otlp" => {}
            Some(exporter) if exporter == "none" => return Ok(None),
            Some(value) => return Err(OtlpStartError::UnknownExporter { name, value }),
        }
        let Some((url, name)) = self.url(signal) else { return Ok(None) };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(OtlpStartError::NoScheme { name });
        }
        let parsed: Result<Uri, _> = url.parse();
        Ok(Some(OtlpTarget {
            url: parsed.map_err(|_| OtlpStartError::InvalidUrl { name, value: url })?,
            headers: self.headers(signal)?,
            protocol: self.protocol(signal)?,
            timeout: self.timeout(signal)?,
        }))
    }

    /// The URL, and the name of its source.
    fn url(&self, signal: OtlpSignal) -> Option<(String, String)> {
        let below = |base: &str| format!("{}/{}", base.trim_end_matches('/'), signal.path);
        if let Some(base) = &self.configured.endpoint {
            return Some((below(base), "telemetry.otlp.endpoint".to_owned()));
        }
        let own = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.name);
        if let Some(url) = self.variable(&own) {
            return Some((url, own));
        }
        let all = "OTEL_EXPORTER_OTLP_ENDPOINT";
        Some((below(&self.variable(all)?), all.to_owned()))
    }

    fn protocol(&self, signal: OtlpSignal) -> Result<OtlpProtocol, OtlpStartError> {
        if let Some(protocol) = self.configured.protocol {
            return Ok(protocol);
        }
        let Some((value, name)) = self.exporter(signal, "PROTOCOL") else {
            return Ok(OtlpProtocol::Protobuf);
        };
        let known = &OtlpProtocol::NAMES;
        let unsupported = OtlpStartError::UnsupportedProtocol { name, value: value.clone(), known };
        OtlpProtocol::parse(&value).ok_or(unsupported)
    }

    fn timeout(&self, signal: OtlpSignal) -> Result<Duration, OtlpStartError> {
        if let Some(timeout) = self.configured.timeout {
            return Ok(timeout);
        }
        let Some((text, name)) = self.exporter(signal, "TIMEOUT") else { return Ok(TIMEOUT) };
        let parsed = text.parse().map(Duration::from_millis);
        parsed.map_err(|_| OtlpStartError::InvalidTimeout { name })
    }

    fn headers(&self, signal: OtlpSignal) -> Result<HeaderMap, OtlpStartError> {
        let (pairs, source) = match self.exporter(signal, "HEADERS") {
            Some((text, name)) if self.configured.headers.is_empty() => match pairs(&text) {
                Some(pairs) => (pairs, name),
                None => return Err(OtlpStartError::InvalidPairs { name }),
            },
            _ => {
                let pairs = self.configured.headers.iter();
                let pairs = pairs.map(|(name, value)| (name.clone(), value.reveal().to_owned()));
                (pairs.collect(), "telemetry.otlp.headers".to_owned())
            }
        };
        let mut headers = HeaderMap::new();
        for (header, value) in pairs {
            let Ok(name) = HeaderName::try_from(header.to_lowercase()) else {
                return Err(OtlpStartError::InvalidHeaderName { name: source, header });
            };
            // Values from the environment are not known to the config's masking.
            if secret_values::judge(name.as_str(), &value) == MaskJudgement::Masked {
                secret_values::configure([&*value]);
            }
            let Ok(mut value) = HeaderValue::try_from(value) else {
                return Err(OtlpStartError::InvalidHeaderValue { name: source, header });
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn sampler(&self) -> Result<Sampler, OtlpStartError> {
        if let Some(percent) = self.configured.sample_percent {
            return Ok(Sampler::percent(percent));
        }
        let Some(value) = self.variable("OTEL_TRACES_SAMPLER") else {
            return Ok(Sampler::default());
        };
        let argument = self.variable("OTEL_TRACES_SAMPLER_ARG");
        let sampler = Sampler::parse(&value, argument.as_deref());
        let argument = argument.unwrap_or_default();
        sampler.ok_or(OtlpStartError::UnknownSampler { value, argument })
    }

    fn resource(&self) -> Result<Vec<(String, String)>, OtlpStartError> {
        let name = "OTEL_RESOURCE_ATTRIBUTES";
        let lines = pairs(&self.variable(name).unwrap_or_default())
            .ok_or_else(|| OtlpStartError::InvalidPairs { name: name.to_owned() })?;
        let own = |key: &str, value: String| (key.to_owned(), value);
        let mut all = vec![
            own("service.name", SERVICE.to_owned()),
            own("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            own("service.instance.id", format!("{:032x}", rand::random::<u128>())),
            own("telemetry.sdk.language", "rust".to_owned()),
            own("telemetry.sdk.name", SERVICE.to_owned()),
            own("telemetry.sdk.version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let named = self.variable("OTEL_SERVICE_NAME").map(|name| own("service.name", name));
        let service = self.configured.service.clone().map(|name| own("service.name", name));
        let configured = self.configured.resource.iter().cloned();
        for (key, value) in lines.into_iter().chain(named).chain(configured).chain(service) {
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some(known) => known.1 = value,
                None => all.push((key, value)),
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
