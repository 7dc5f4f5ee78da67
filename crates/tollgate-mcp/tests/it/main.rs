//! The client against scripted servers, over pipes and over HTTP.

mod era;
mod pipe;
mod support;
