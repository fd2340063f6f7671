// SPDX-License-Identifier: GPL-2.0
//! Weaves many mutants into one source, of which one at a time is switched on when the program runs.
//!
//! A mutant is a copy of a source file with one bug. Where the bug is within bodies of functions, each of
//! those gets both bodies and chooses when it is called: the field calls that a mutant schema. So the tests
//! are built once for all mutants. What cannot be chosen at run time (a constant, a type, a macro) has to
//! be built alone.
//!
//! A `const fn` chooses only where it is called at run time; what the compiler evaluates is as without a
//! mutant. So a bug of one that nothing finds may still be found when it is built alone.

#![deny(warnings)]

use std::ops::Range;

use syn::visit::{self, Visit};

/// What a crate root begins with.
pub const FEATURES: &str = "#![feature(const_eval_select, core_intrinsics)]\n";

/// What a crate root ends with, so that `crate::mutant::on()` is the number of the mutant that is switched on
/// by `RTRACE_MUTANT`; without it none is.
///
/// Read before `main`: a function may be called where nothing can be allocated, in a signal's handler.
pub const SWITCH: &str = r#"
pub mod mutant {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    static ON: AtomicU32 = AtomicU32::new(0);

    extern "C" fn read() {
        let number = std::env::var("RTRACE_MUTANT").map_or(0, |text| text.parse().unwrap());
        ON.store(number, Relaxed);
    }

    #[used]
    #[link_section = ".init_array"]
    static READ: extern "C" fn() = read;

    const fn none() -> u32 {
        0
    }

    #[inline(always)]
    fn number() -> u32 {
        ON.load(Relaxed)
    }

    #[inline(always)]
    pub const fn on() -> u32 {
        core::intrinsics::const_eval_select((), none, number)
    }
}
"#;

/// The body of a function.
struct Body {
    /// The bytes of the file that it is, braces included.
    range: Range<usize>,
    /// The bytes of an attribute that asks for the function to be part of its callers.
    inline: Option<Range<usize>>,
    /// Whether the compiler may evaluate it.
    constant: bool,
    /// Whether a type depends on it, so that it cannot be chosen at run time.
    fixed: bool,
}

/// Collects the bodies of a file; functions within functions belong to the outer one.
#[derive(Default)]
struct Bodies(Vec<Body>);

impl Bodies {
    fn of(source: &str) -> syn::Result<Vec<Body>> {
        let mut bodies = Self::default();
        bodies.visit_file(&syn::parse_file(source)?);
        Ok(bodies.0)
    }

    fn add(
        &mut self,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
        block: &syn::Block,
    ) {
        let braces = block.brace_token.span;
        let inline = attributes
            .iter()
            .find(|attribute| attribute.path().is_ident("inline"));
        self.0.push(Body {
            range: braces.open().byte_range().start..braces.close().byte_range().end,
            inline: inline.map(|attribute| {
                let from = attribute.pound_token.span.byte_range().start;
                from..attribute.bracket_token.span.close().byte_range().end
            }),
            constant: signature.constness.is_some(),
            fixed: returns_nameless(signature),
        });
    }
}

impl<'a> Visit<'a> for Bodies {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.attrs, &item.sig, block);
        }
    }
}

/// Whether a function with this signature returns a type that depends on its body.
fn returns_nameless(signature: &syn::Signature) -> bool {
    #[derive(Default)]
    struct Nameless(bool);

    impl<'a> Visit<'a> for Nameless {
        fn visit_type_impl_trait(&mut self, _: &'a syn::TypeImplTrait) {
            self.0 = true;
        }
    }

    let mut nameless = Nameless::default();
    visit::visit_return_type(&mut nameless, &signature.output);
    nameless.0
}

/// What a mutant changes in one file.
pub struct Changes {
    /// Places in `Woven::bodies`, and what is there in the mutant.
    bodies: Vec<(usize, String)>,
    /// Whether the compiler may evaluate one of them.
    pub constant: bool,
}

/// A file and the other bodies that its functions get.
pub struct Woven {
    source: String,
    bodies: Vec<Body>,
    /// Place in `bodies`, number of the mutant, its body.
    others: Vec<(usize, u32, String)>,
}

impl Woven {
    /// A file without a mutant.
    ///
    /// # Errors
    ///
    /// It is not Rust.
    pub fn new(source: String) -> syn::Result<Self> {
        let bodies = Bodies::of(&source)?;
        Ok(Self {
            source,
            bodies,
            others: Vec::new(),
        })
    }

    /// The bodies that a mutant has in the place of those here.
    ///
    /// # Errors
    ///
    /// Why this mutant must be built alone.
    pub fn compare(&self, mutated: &str) -> Result<Changes, &'static str> {
        let theirs = Bodies::of(mutated).map_err(|_| "no Rust that syn knows")?;
        if outside(&self.source, &self.bodies) != outside(mutated, &theirs) {
            return Err("changes more than bodies of functions");
        }
        let mut changes = Changes {
            bodies: Vec::new(),
            constant: false,
        };
        for (place, (body, their)) in self.bodies.iter().zip(&theirs).enumerate() {
            let text = &mutated[their.range.clone()];
            if text != &self.source[body.range.clone()] {
                if body.fixed {
                    return Err("returns a type that depends on the body");
                }
                changes.constant |= body.constant;
                changes.bodies.push((place, text.to_owned()));
            }
        }
        if changes.bodies.is_empty() {
            return Err("changes nothing");
        }
        Ok(changes)
    }

    /// Weaves in what [`compare`](Self::compare) found of the mutant with this number.
    pub fn add(&mut self, number: u32, changes: Changes) {
        self.others.extend(
            changes
                .bodies
                .into_iter()
                .map(|(place, text)| (place, number, text)),
        );
    }

    /// The file with all bodies.
    ///
    /// A function that has several is never part of its callers, whose own bodies would each have them all.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.source.len());
        let mut done = 0;
        for (place, body) in self.bodies.iter().enumerate() {
            let mut others = self
                .others
                .iter()
                .filter(|other| other.0 == place)
                .peekable();
            if others.peek().is_none() {
                continue;
            }
            if let Some(inline) = &body.inline {
                text += &self.source[done..inline.start];
                text += "#[inline(never)]";
                done = inline.end;
            }
            text += &self.source[done..body.range.start];
            text += "{ match crate::mutant::on() {\n";
            for (_, number, other) in others {
                text += &format!("{number} => {other}\n");
            }
            text += &format!("_ => {} }} }}", &self.source[body.range.clone()]);
            done = body.range.end;
        }
        text + &self.source[done..]
    }
}

/// What is not in a body, with a mark where one is, so that as many texts as bodies and one come.
fn outside<'a>(source: &'a str, bodies: &[Body]) -> Vec<&'a str> {
    let mut texts = Vec::with_capacity(bodies.len() + 1);
    let mut done = 0;
    for body in bodies {
        texts.push(&source[done..body.range.start]);
        done = body.range.end;
    }
    texts.push(&source[done..]);
    texts
}

#[cfg(test)]
mod tests {
    use super::Woven;

    const SOURCE: &str = "const N: u32 = 1;\n\
        #[inline(always)] fn one() -> u32 { N } // ü\n\
        impl S { fn two(&self) -> u32 { fn three() {} self.0 } }\n\
        trait T { fn four(); fn five() -> u32 { 5 } }\n\
        const fn six() -> u32 { 6 }\n\
        fn seven() -> Option<impl Fn()> { None }\n\
        macro_rules! eight { () => { fn eight() -> u32 { 8 } } }\n";

    /// What comes of the file when `from` is `to` in the mutant 9.
    fn woven(from: &str, to: &str) -> Result<String, &'static str> {
        let mut file = Woven::new(SOURCE.to_owned()).unwrap();
        file.compare(&SOURCE.replace(from, to)).map(|changes| {
            file.add(9, changes);
            file.text()
        })
    }

    #[test]
    fn a_body_is_chosen_when_it_is_called() {
        let text = "#[inline(never)] fn one() -> u32 { match crate::mutant::on() {\n9 => { N + 1 }\n_ => { N } } } // ü\n";
        assert_eq!(
            woven("{ N }", "{ N + 1 }"),
            Ok(SOURCE.replace("#[inline(always)] fn one() -> u32 { N } // ü\n", text))
        );
        for (from, to) in [
            ("self.0", "1"),
            ("three() {}", "three() { f() }"),
            ("{ 5 }", "{ 6 }"),
            ("{ 6 }", "{ 7 }"),
        ] {
            let text = woven(from, to).unwrap();
            assert!(
                text.contains("9 => {") && text.contains(from) && text.contains(to),
                "{text}"
            );
            syn::parse_file(&text).unwrap();
        }
    }

    #[test]
    fn all_else_is_built_alone() {
        let more = Err("changes more than bodies of functions");
        assert_eq!(woven("u32 = 1", "u32 = 2"), more);
        assert_eq!(woven("fn one()", "fn one(x: u32)"), more);
        assert_eq!(woven("{ 8 }", "{ 9 }"), more);
        assert_eq!(woven("fn four();", "fn four() {}"), more);
        assert_eq!(
            woven("{ None }", "{ Some(|| ()) }"),
            Err("returns a type that depends on the body")
        );
        assert_eq!(woven("}", "}}"), Err("no Rust that syn knows"));
        assert_eq!(woven("nine", "ten"), Err("changes nothing"));
    }

    #[test]
    fn what_the_compiler_may_evaluate_is_named() {
        let file = Woven::new(SOURCE.to_owned()).unwrap();
        for (from, to, constant) in [("{ N }", "{ N + 1 }", false), ("{ 6 }", "{ 7 }", true)] {
            let changes = file.compare(&SOURCE.replace(from, to)).ok().unwrap();
            assert_eq!(changes.constant, constant);
        }
    }

    #[test]
    fn mutants_of_one_function_stand_side_by_side() {
        let mut file = Woven::new("fn f() -> u32 { 0 }".to_owned()).unwrap();
        for (number, body) in [(1, "{ 1 }"), (3, "{ 3 }")] {
            let changes = file.compare(&format!("fn f() -> u32 {body}")).ok().unwrap();
            file.add(number, changes);
        }
        let expected =
            "fn f() -> u32 { match crate::mutant::on() {\n1 => { 1 }\n3 => { 3 }\n_ => { 0 } } }";
        assert_eq!(file.text(), expected);
    }
}
