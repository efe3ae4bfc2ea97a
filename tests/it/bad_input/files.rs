//! Files that are no specs.

use super::{balancelab, check, folder, refused};

#[test]
fn files_that_cannot_be_read() {
    let empty = tempfile::tempdir().unwrap();
    refused("missing_file", &balancelab(empty.path(), &["check", "spec.yaml"]));
    refused("missing_file_run", &balancelab(empty.path(), &["spec.yaml"]));
    refused("folder", &balancelab(empty.path(), &["check", "."]));
    check("binary", [0xff, 0xfe, 0x00, 0x80]);
    check("control_characters", "name: small\u{1}\nmodel: \u{0}\n");
}

#[test]
fn a_file_of_100_mb_is_not_read() {
    let folder = folder("name: huge\n");
    let path = folder.path().join("spec.yaml");
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(100 << 20).unwrap();
    refused("file_of_100_mb", &balancelab(folder.path(), &["check", "spec.yaml"]));
}

#[test]
fn texts_that_are_no_yaml_map() {
    check("empty", "");
    check("comment_only", "# nothing yet\n");
    check("plain_text", "Two servers with 2 and 4 channels.\n");
    check("prose_with_colon", "Two servers: one with 2 channels: another with 4.\n");
    check("list", "- name: small\n- seed: 7\n");
    check("two_documents", "name: small\n---\nname: other\n");
}

#[test]
fn broken_yaml() {
    check("tab", "name: small\nmodel:\n\tloss_router:\n");
    check("unclosed_bracket", "name: small\nmodel: {loss_router: {channels: [2, 4}}\n");
    check("unclosed_quote", "name: \"small\nseed: 7\n");
    check("wrong_indentation", "name: small\n  seed: 7\n");
    check("unknown_alias", "name: small\nmodel: *shared\n");
    check("key_that_is_a_list", "name: small\n? [a, b]\n: 1\n");
    check("tag", "name: !!binary small\n");
}

#[test]
fn bombs() {
    let levels = "bcdefgh".chars().zip("abcdefg".chars());
    let lines = levels.map(|(this, that)| {
        format!("{this}: &{this} [{}]\n", vec![format!("*{that}"); 9].join(", "))
    });
    let bomb: String = std::iter::once("a: &a [lol, lol]\n".to_owned()).chain(lines).collect();
    check("alias_bomb", bomb);
    check("deep_nesting", format!("name: {}\n", "[".repeat(10_000)));
    check("deep_nesting_closed", format!("name: {}{}\n", "[".repeat(100), "]".repeat(100)));
    check("wide_list", format!("name: [{}]\n", "1, ".repeat(300_000)));
    check("deep_alias_chain", {
        let mut text = "a0: &a0 [1]\n".to_owned();
        (1..200).for_each(|k| text += &format!("a{k}: &a{k} [*a{}]\n", k - 1));
        text
    });
}
