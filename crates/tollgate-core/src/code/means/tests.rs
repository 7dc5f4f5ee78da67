use super::Means;
use crate::json::raw_value;
use crate::schema::Schema;
use crate::tool::Definition;

#[test]
fn each_is_a_definition_that_our_own_door_takes() {
    for means in Means::ALL {
        let definition = Definition::intake(&raw_value(&means.definition())).unwrap();
        assert!(definition.findings.is_empty(), "{means:?}: {:?}", definition.findings);
        assert!(Schema::compile(&definition.input_schema).is_ok());
        assert_eq!(Means::named(definition.name.as_str()), Some(means));
        assert_eq!(definition.annotations.read_only, Some(means != Means::Execute));
    }
    assert_eq!(Means::named("listtoolfiles"), None);
}
