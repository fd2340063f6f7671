// SPDX-License-Identifier: GPL-2.0

//! What ftrace does not have: other values than sums, and the largest entries alone.

use super::*;

/// Lines, entries and errors.
#[test]
fn texts() {
    let rows: &[(&str, &str, &[&str])] = &[
        (
            "keys=flag:vals=s64f.min,s64f.max,u64f.min:sort=flag",
            "keys=flag:vals=hitcount,s64f.min,s64f.max,u64f.min:sort=flag:size=2048",
            &[
                "{ flag:          0 } hitcount:          1  s64f.min:          0  s64f.max:          0  u64f.min:          0",
                "{ flag:          1 } hitcount:          8  s64f.min:         -5  s64f.max: 9223372036854775807  u64f.min:          1",
            ],
        ),
        (
            "keys=dyn:vals=s32f.avg,u16f,u16f.avg:sort=s32f.avg.top=3",
            "keys=dyn:vals=hitcount,s32f.avg,u16f,u16f.avg:sort=s32f.avg.top=3:size=2048",
            &[
                "{ dyn: alpha                                              } hitcount:          3  s32f.avg:        331.33  u16f:        302  u16f.avg:        100.66",
                "{ dyn: gamma-gamma-gamma-long                             } hitcount:          1  s32f.avg:        100.00  u16f:        300  u16f.avg:        300.00",
                "{ dyn: x                                                  } hitcount:          1  s32f.avg:          3.00  u16f:       4464  u16f.avg:       4464.00",
            ],
        ),
        (
            "keys=flag:vals=u64f.quantiles:nohitcount:sort=u64f.quantiles",
            "keys=flag:vals=u64f.quantiles:sort=u64f.quantiles:size=256:nohitcount",
            &[
                "{ flag:          0 }  u64f.p50: 0  u64f.p90: 0  u64f.p99: 0  u64f.p99.9: 0",
                "{ flag:          1 }  u64f.p50: 2  u64f.p90: ~ 17293822569102704640-18446744073709551615  u64f.p99: ~ 17293822569102704640-18446744073709551615  u64f.p99.9: ~ 17293822569102704640-18446744073709551615",
            ],
        ),
        (
            "keys=flag:vals=s8f.quantiles,s8f.min,s8f.percent,hitcount:sort=s8f.descending:size=1000",
            "keys=flag:vals=hitcount,s8f.quantiles,s8f.min,s8f.percent:sort=s8f.percent.descending:size=1024",
            &[
                "{ flag:          1 } hitcount:          8  s8f.p50: 0  s8f.p90: ~ 96-103  s8f.p99: ~ 96-103  s8f.p99.9: ~ 96-103  s8f.min:        -24  s8f (%): 100.00",
                "{ flag:          0 } hitcount:          1  s8f.p50: 0  s8f.p90: 0  s8f.p99: 0  s8f.p99.9: 0  s8f.min:          0  s8f (%):   0.00",
            ],
        ),
        (
            "keys=u16f:sort=hitcount.top=2,u16f",
            "keys=u16f:vals=hitcount:sort=hitcount.top=2,u16f:size=2048",
            &[
                "{ u16f:          1 } hitcount:          2",
                "{ u16f:          2 } hitcount:          2",
            ],
        ),
        (
            "keys=flag:vals=common_timestamp.max:sort=flag",
            "keys=flag:vals=hitcount,common_timestamp.max:sort=flag:size=2048:clock=global",
            &[
                "{ flag:          0 } hitcount:          1  common_timestamp.max:       5000",
                "{ flag:          1 } hitcount:          8  common_timestamp.max:       5000",
            ],
        ),
    ];
    for (text, whole, wanted) in rows {
        assert_eq!(line(text), format!("hist:{whole} [active]\n"), "{text}");
        // The line is read as the same.
        assert_eq!(line(whole), format!("hist:{whole} [active]\n"), "{whole}");
        assert_eq!(entries(text), *wanted, "{text}");
        assert_eq!(entries(whole), *wanted, "{whole}");
    }
}

#[test]
fn json() {
    let rows: &[(&str, &[&str])] = &[(
        "keys=flag:vals=s64f.min,s32f.avg,u16f.max,u8f.quantiles,u8f:sort=u8f.top=1",
        &[
            r#"{"flag":1},"hitcount":8,"values":{"s64f.min":-5,"s32f.avg":137.62,"u16f.max":65535,"u8f.quantiles":{"p50":{"from":2,"to":2},"p90":{"from":240,"to":255},"p99":{"from":240,"to":255},"p99.9":{"from":240,"to":255}},"u8f":461}"#,
        ],
    )];
    check_json(rows);
}

/// What is wrong, and where. Modifiers of other places stay wrong there.
#[test]
fn refusals() {
    use HistErrorKind::*;
    let rows: &[(&str, HistErrorKind, &str)] = &[
        ("keys=u8f.min", BadModifier, "min"),
        ("keys=u8f.quantiles", BadModifier, "quantiles"),
        ("keys=u8f:vals=u8f.maximum", BadModifier, "maximum"),
        ("keys=u8f:vals=dyn.max", StringOperand, "dyn.max"),
        (
            "keys=u8f:vals=common_stacktrace.max",
            BadModifier,
            "common_stacktrace.max",
        ),
        ("keys=u8f:vals=hitcount.max", BadModifier, "hitcount.max"),
        ("keys=u8f:vals=u8f.max+1", BadModifier, "max"),
        ("keys=u8f:vals=arr.avg", FieldNotFound, ""),
        ("keys=u8f:a=u8f.max", BadModifier, "max"),
        ("keys=s8f:vals=u8f.max:sort=u8f", BadSortField, "u8f"),
        ("keys=u8f:sort=u8f.top", BadSortModifier, "top"),
        ("keys=u8f:sort=u8f.top=", BadSortModifier, "top="),
        ("keys=u8f:sort=u8f.top=0", BadSortModifier, "top=0"),
        (
            "keys=u8f:sort=u8f.top=4294967296",
            BadSortModifier,
            "top=4294967296",
        ),
        ("keys=u8f:sort=hitcount.top=x", BadSortModifier, "top=x"),
    ];
    for (text, kind, word) in rows {
        let mut logged = Logged::new();
        let refused = planned(text, &mut logged).map(|_| ());
        assert!(refused.is_err(), "{text}");
        // ftrace's own answer for arrays is ENOMEM, and says nothing.
        if *kind == FieldNotFound {
            assert_eq!(
                (refused, &logged[..]),
                (Err(HistErrno::NoMem), &[][..]),
                "{text}"
            );
            continue;
        }
        let at = text.find(word).unwrap() + "hist:".len();
        assert_eq!(logged, [(*kind, at)], "{text}");
    }
    // Sums are as few as in ftrace, and there is room for no more than eight in all.
    let all = ["min", "max", "avg", "quantiles"].map(|word| format!("u8f.{word}"));
    let eight = format!("{0},u8f,u16f,s8f.min,s8f.max,hitcount", all.join(","));
    assert!(planned(&format!("keys=u8f:vals={eight}"), &mut Logged::new()).is_ok());
    for more in ["u8f.max", "u32f"] {
        let text = format!("keys=u8f:vals={eight},{more}");
        let refused = planned(&text, &mut Logged::new()).map(|_| ());
        assert_eq!(refused, Err(HistErrno::Inval), "{more}");
    }
}
