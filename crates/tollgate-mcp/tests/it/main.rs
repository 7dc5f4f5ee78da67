//! The client against scripted servers, over pipes and over HTTP.

#[cfg(test)]
mod era;
#[cfg(test)]
mod http_era;
#[cfg(test)]
mod http_legacy;
#[cfg(test)]
mod http_modern;
#[cfg(test)]
mod http_server;
#[cfg(test)]
mod http_sessions;
#[cfg(test)]
mod large_lines;
mod listing;
#[cfg(test)]
mod one_line;
#[cfg(test)]
mod pipe;
#[cfg(test)]
mod support;
#[cfg(test)]
mod watch;
