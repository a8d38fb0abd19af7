//! What was recorded, shown.

use everlog_template_tests::used;

#[test]
fn every_function_was_seen_at_work() {
    for (function, grants) in used::recorded() {
        println!("{function}");
        for grant in grants {
            println!("  {grant}");
        }
        assert!(grants.iter().any(|grant| grant.action == "dynamodb:Query"), "{function}");
    }
    assert_eq!(used::recorded().len(), 5);
}
