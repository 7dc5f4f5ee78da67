//! The benchmark itself: what it is made of, and a small part of it, run.

use std::collections::HashSet;

use tollgate_llm::conversation::Function;
use tollgate_llm::extra::Extra;
use tollgate_llm::tokens::{self, CountPrecision};

use super::schema::{self, ParameterUsage};
use super::visible_context::VisibleContext;
use super::{ToolStrategy, WorkloadSelection, inventory, plan, round, tool_visibility};
use crate::config::ScratchDirectory;

#[test]
fn the_workload_is_as_large_as_the_public_one() {
    for (round, tools, servers, queries) in [(1, 96, 6, 64), (2, 251, 11, 65), (3, 508, 16, 65)] {
        let listed = inventory::tools(round);
        let names: HashSet<_> = listed.iter().map(|it| &it.tool).collect();
        let of: HashSet<_> = listed.iter().map(|it| it.tool.server).collect();
        assert_eq!((names.len(), of.len(), plan::queries(round).len()), (tools, servers, queries));
        for query in plan::queries(round) {
            for tool in query.tools() {
                assert!(names.contains(tool), "{}: {tool:?}", query.id);
            }
        }
    }
}

#[test]
fn definitions_are_as_long_as_those_of_the_public_runs() {
    let queries: Vec<_> = (1..=3).flat_map(plan::queries).collect();
    let usage = ParameterUsage::of(queries.iter());
    let listed = inventory::tools(1);
    let tokens = listed.iter().map(|listed| {
        let definition = schema::definition(listed, &usage);
        let function = Function {
            name: format!("{}_{}", listed.tool.server, listed.tool.name),
            description: definition["description"].as_str().map(str::to_owned),
            parameters: Some(definition["inputSchema"].clone()),
            extra: Extra::none(),
        };
        tokens::function(&function, CountPrecision::Exact)
    });
    let average = tokens.sum::<u64>() / listed.len() as u64;
    assert!((400..=540).contains(&average), "{average}");
}

#[test]
fn a_program_that_names_what_was_not_shown_is_found_out() {
    let check = |shown: &str, code: &str, expected: Option<&str>| {
        let seen = VisibleContext { offered: Vec::new(), results: vec![shown.to_owned()] };
        assert_eq!(tool_visibility::first_unshown_tool(code, &seen).as_deref(), expected, "{code}");
    };
    let signature = "sqlite.query(sql: str) -> Any";
    check(signature, "sqlite.query(sql=\"SELECT 1\")", None);
    check(signature, "parallel([(sqlite.query, {})])", None);
    check(signature, "sqlite.list_tables()", Some("sqlite.list_tables"));
    check(signature, "parallel([(github.get_me, {})])", Some("github.get_me"));
    check(signature, "print(\"https://github.com/x\")", None);
    check("# call as github.<tool>(...)\ndef get_me() -> Any:", "github.get_me()", None);
}

/// One of each kind: simple, hard with files and a first try that fails, a tool that fails, an id
/// that the next call needs.
#[tokio::test(flavor = "multi_thread")]
async fn every_way_gets_it_right_and_code_costs_less() {
    let scratch = ScratchDirectory::with_prefix("code-tokens-test").expect("a directory");
    let ids = ["S1", "H3", "E2", "NT3"].map(str::to_owned).to_vec();
    let part = WorkloadSelection { ids, ..WorkloadSelection::WHOLE };
    let round = round(&scratch, &tollgate_testkit::worker(), 1, &part).await.expect("it runs");
    for way in ToolStrategy::ALL {
        assert_eq!(round.wrong(way), [], "{}", way.as_str());
    }
    for way in [ToolStrategy::Search, ToolStrategy::Files] {
        assert_eq!(round.above(way), [] as [&str; 0]);
        let change = round.change(way, None).expect("there are queries");
        assert!(change.percent() < -70.0, "{}: {}", way.as_str(), round.render());
    }
}
