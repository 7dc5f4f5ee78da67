use super::MetaTool;
use crate::json::raw_value;
use crate::schema::Schema;
use crate::tool::ToolDefinition;

#[test]
fn each_is_a_definition_that_our_own_door_takes() {
    for means in MetaTool::ALL {
        let definition = ToolDefinition::intake(&raw_value(&means.definition())).unwrap();
        assert!(definition.findings.is_empty(), "{means:?}: {:?}", definition.findings);
        assert!(Schema::compile(&definition.input_schema).is_ok());
        assert_eq!(MetaTool::from_name(definition.name.as_str()), Some(means));
        assert_eq!(definition.annotations.read_only, Some(means != MetaTool::Execute));
    }
    assert_eq!(MetaTool::from_name("listtoolfiles"), None);
}
