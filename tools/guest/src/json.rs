// SPDX-License-Identifier: GPL-2.0

//! Reads JSON strictly by RFC 8259, as a script would.

use crate::check::Check;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A whole number.
    Number(i128),
    /// A number with a part after the point, as it stands there.
    Decimal(String),
    Text(String),
    List(Vec<Json>),
    /// In the order in which they stand; no name is there twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text that is one value, without blanks around it.
    pub fn parse(text: &str) -> Check<Self> {
        let mut rest = text;
        let value = value(&mut rest)
            .map_err(|e| format!("{e}, {} bytes before the end of {text:?}", rest.len()))?;
        ensure!(rest.is_empty(), "{rest:?} behind the value");
        Ok(value)
    }

    /// The member `name` of an object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|m| m.0 == name).map(|m| &m.1),
            _ => None,
        }
    }

    pub fn number(&self, name: &str) -> Option<i128> {
        match self.get(name)? {
            Json::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn decimal(&self, name: &str) -> Option<&String> {
        match self.get(name)? {
            Json::Decimal(number) => Some(number),
            _ => None,
        }
    }

    /// Every whole number in it, however deep.
    pub fn numbers(&self, found: &mut Vec<i128>) {
        match self {
            Json::Number(number) => found.push(*number),
            Json::List(values) => values.iter().for_each(|v| v.numbers(found)),
            Json::Object(members) => members.iter().for_each(|m| m.1.numbers(found)),
            _ => {}
        }
    }
}

fn value(rest: &mut &str) -> Check<Json> {
    for (word, value) in [
        ("null", Json::Null),
        ("true", Json::Bool(true)),
        ("false", Json::Bool(false)),
    ] {
        if eat(rest, word) {
            return Ok(value);
        }
    }
    match rest.chars().next() {
        Some('"') => Ok(Json::Text(string(rest)?)),
        Some('{') => object(rest),
        Some('[') => list(rest),
        Some('-' | '0'..='9') => number(rest),
        other => Err(format!("no value begins with {other:?}")),
    }
}

fn eat(rest: &mut &str, word: &str) -> bool {
    match rest.strip_prefix(word) {
        Some(behind) => {
            *rest = behind;
            true
        }
        None => false,
    }
}

fn number(rest: &mut &str) -> Check<Json> {
    let minus = usize::from(rest.starts_with('-'));
    let digits = rest[minus..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = rest.split_at(minus + digits);
    ensure!(
        digits == 1 || !number[minus..].starts_with('0'),
        "{number} begins with 0"
    );
    *rest = behind;
    if eat(rest, ".") {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (part, behind) = rest.split_at(digits);
        ensure!(digits != 0 && !number.ends_with('-'), "{number}.{part}");
        *rest = behind;
        return Ok(Json::Decimal(format!("{number}.{part}")));
    }
    let value = number
        .parse()
        .map_err(|_| format!("{number:?} is no number"))?;
    Ok(Json::Number(value))
}

fn string(rest: &mut &str) -> Check<String> {
    let mut text = String::new();
    let mut chars = rest[1..].chars();
    loop {
        let next = chars.next().ok_or("a string without an end")?;
        text.push(match next {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(same @ ('"' | '\\' | '/')) => same,
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    let code = code.filter(|_| digits.len() == 4).and_then(char::from_u32);
                    code.ok_or(format!("\\u{digits}"))?
                }
                other => fail!("\\{other:?}"),
            },
            control if control < ' ' => fail!("{control:?} in a string"),
            other => other,
        });
    }
    *rest = chars.as_str();
    Ok(text)
}

fn list(rest: &mut &str) -> Check<Json> {
    eat(rest, "[");
    let mut values = vec![];
    if eat(rest, "]") {
        return Ok(Json::List(values));
    }
    loop {
        values.push(value(rest)?);
        if eat(rest, "]") {
            return Ok(Json::List(values));
        }
        ensure!(eat(rest, ","), "no comma in a list");
    }
}

fn object(rest: &mut &str) -> Check<Json> {
    eat(rest, "{");
    let mut members: Vec<(String, Json)> = vec![];
    if eat(rest, "}") {
        return Ok(Json::Object(members));
    }
    loop {
        ensure!(rest.starts_with('"'), "a member without a name");
        let name = string(rest)?;
        ensure!(eat(rest, ":"), "no colon behind {name:?}");
        ensure!(
            members.iter().all(|m| m.0 != name),
            "{name:?} is there twice"
        );
        members.push((name, value(rest)?));
        if eat(rest, "}") {
            return Ok(Json::Object(members));
        }
        ensure!(eat(rest, ","), "no comma in an object");
    }
}
