//! What the README and ARCHITECTURE say against what is there.

use std::collections::BTreeSet;
use std::path::Path;

use everlog::plan::{PlanSpec, Trigger, Work, compile};
use everlog_wire_tests::{fenced, in_repository};

fn paper(path: &str) -> String {
    std::fs::read_to_string(in_repository(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn the_plan_of_the_readme_compiles_and_shows_each_kind_of_node() {
    let blocks = fenced(&paper("README.md"));
    let (_, yaml) = blocks.iter().find(|(info, _)| info == "yaml").expect("a plan in the README");
    let value: serde_json::Value = serde_norway::from_str(yaml).expect("YAML");
    let spec: PlanSpec = serde_json::from_value(value).expect("a plan");
    let plan = compile(&spec).expect("a plan that holds");
    let any = |wanted: fn(&Work) -> bool| plan.nodes.iter().any(|node| wanted(&node.work));
    assert!(any(|work| matches!(work, Work::Task(task) if !task.outputs_of.is_empty())));
    assert!(any(|work| matches!(work, Work::Sleep(_))));
    assert!(any(|work| matches!(work, Work::Signal(_, Some(_)))));
    for trigger in [Trigger::Success, Trigger::Failure, Trigger::Always] {
        assert!(plan.nodes.iter().any(|node| node.trigger == trigger), "{trigger:?}");
    }
}

/// Source files under `folder`, relative to it.
fn sources(folder: &Path, within: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(within).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(folder, &path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let own = path.strip_prefix(folder).expect("inside");
            found.push(own.to_string_lossy().replace('\\', "/"));
        }
    }
}

#[test]
fn the_code_map_names_every_module_and_no_other() {
    let text = paper("docs/ARCHITECTURE.md");
    let map = text.split("## Code map").nth(1).and_then(|rest| rest.split("\n## ").next());
    let map = map.expect("a code map");
    let named: BTreeSet<&str> =
        map.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs")).collect();
    let mut there = Vec::new();
    for folder in ["shared/src", "localstack/src"] {
        sources(&in_repository(folder), &in_repository(folder), &mut there);
    }
    sources(&in_repository("functions"), &in_repository("functions/runtime/src"), &mut there);
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    let covered = |file: &&&str| {
        **file == "lib.rs"
            || named.contains(**file)
            || file.starts_with("cli/") && named.contains("cli/*.rs")
    };
    let missing: Vec<&&str> = there.iter().filter(|file| !covered(file)).collect();
    assert!(missing.is_empty(), "the code map of docs/ARCHITECTURE.md leaves out {missing:?}");
    let gone = |word: &&&str| !there.contains(**word) && **word != "cli/*.rs";
    let gone: Vec<&&str> = named.iter().filter(gone).collect();
    assert!(
        gone.is_empty(),
        "the code map of docs/ARCHITECTURE.md names {gone:?}, which is not there"
    );
}

#[test]
fn every_link_between_the_papers_leads_to_a_file() {
    let mut papers = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned()];
    for folder in ["docs", "docs/adr"] {
        for entry in std::fs::read_dir(in_repository(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                papers.push(format!("{folder}/{name}"));
            }
        }
    }
    let mut links = 0;
    for paper_path in papers {
        let text = paper(&paper_path);
        let folder = in_repository(&paper_path).parent().expect("a folder").to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            links += 1;
            assert!(
                folder.join(file).exists(),
                "{paper_path} links to {target}, which is not there"
            );
        }
    }
    assert!(links > 20, "only {links} links");
}
