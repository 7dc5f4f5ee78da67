//! What the notation means, and that no text can hurt the parser.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use proptest::sample::select;

use super::super::expression::{
    Dice, DiceTerm, Explosion, Faces, MAX_DICE, MAX_EXTRA_ROLLS, Product, Reroll, RerollTimes,
    Selection, Sign,
};
use super::super::roll::roll;
use super::parse;

/// What was understood, in one canonical spelling.
fn check(text: &str, understood: &str) {
    let expression = parse(text).unwrap_or_else(|invalid| panic!("`{text}`: {invalid}"));
    let shown: String = expression.products().iter().map(product).collect();
    assert_eq!(shown, understood, "`{text}`");
}

fn product(product: &Product<DiceTerm>) -> String {
    let sign = match product.sign {
        Sign::Plus => '+',
        Sign::Minus => '-',
    };
    let factors: Vec<String> = product.factors.iter().map(term).collect();
    format!("{sign}{}", factors.join("*"))
}

fn term(term: &DiceTerm) -> String {
    let dice = match term {
        DiceTerm::Number(number) => return number.to_string(),
        DiceTerm::Dice(dice) => dice,
    };
    let Dice { count, faces, reroll, explosion, selection } = dice;
    let faces = match faces {
        Faces::Numbered(sides) => sides.to_string(),
        Faces::Fate => "F".to_owned(),
    };
    let reroll = reroll.map_or_else(String::new, |Reroll { times, lowest, highest }| match times {
        RerollTimes::Once => format!("ro[{lowest}-{highest}]"),
        RerollTimes::UntilItDiffers => format!("r[{lowest}-{highest}]"),
    });
    let explosion = match explosion {
        Explosion::None => "",
        Explosion::OnLargest => "!",
    };
    let selection = match selection {
        Selection::All => String::new(),
        Selection::KeepHighest(n) => format!("kh{n}"),
        Selection::KeepLowest(n) => format!("kl{n}"),
        Selection::DropHighest(n) => format!("dh{n}"),
        Selection::DropLowest(n) => format!("dl{n}"),
    };
    format!("{count}d{faces}{reroll}{explosion}{selection}")
}

#[test]
fn sums_and_products_of_dice_and_numbers_are_understood() {
    check("2d6+3", "+2d6+3");
    check("d20", "+1d20");
    check("4d8-1", "+4d8-1");
    check("1d8+2d6*10-4*2", "+1d8+2d6*10-4*2");
    check("2*3d6", "+2*3d6");
    check("0", "+0");
    check("007d008", "+7d8");
}

#[test]
fn case_and_spaces_do_not_matter() {
    check("  2 D 6\t+ 3 ", "+2d6+3");
    check("4D6 KH 3", "+4d6kh3");
    check("1d20 ADV", "+2d20kh1");
    check("D%", "+1d100");
    check("4df", "+4dF");
}

#[test]
fn advantage_is_two_dice_of_which_one_counts() {
    check("adv", "+2d20kh1");
    check("dis+2", "+2d20kl1+2");
    check("advantage", "+2d20kh1");
    check("d20 disadvantage - 1", "+2d20kl1-1");
    check("1d6adv", "+2d6kh1");
    check("adv+dis", "+2d20kh1+2d20kl1");
}

#[test]
fn keep_and_drop_are_one_unless_they_say_more() {
    check("2d20kh1", "+2d20kh1");
    check("2d20kl", "+2d20kl1");
    check("4d6k3", "+4d6kh3");
    check("4d6dl1", "+4d6dl1");
    check("4d6dh", "+4d6dh1");
    check("2d6kh2", "+2d6kh2");
}

#[test]
fn explosions_and_rerolls_are_understood_in_any_order() {
    check("3d6!", "+3d6!");
    check("3d6!kh2r1", "+3d6r[1-1]!kh2");
    check("2d6r<2", "+2d6r[1-1]");
    check("2d6r<=2", "+2d6r[1-2]");
    check("2d6r>4", "+2d6r[5-6]");
    check("2d6r>=4", "+2d6r[4-6]");
    check("2d6ro1", "+2d6ro[1-1]");
    check("2d6ro=1", "+2d6ro[1-1]");
    check("2d6 ro < 7", "+2d6ro[1-6]");
}

#[test]
fn the_limits_themselves_are_allowed() {
    check("1000d1000000", "+1000d1000000");
    check("500d6+500d6", "+500d6+500d6");
    let longest = format!("1{}", "+1".repeat(127));
    assert_eq!(longest.len(), 255);
    check(&longest, &format!("+1{}", "+1".repeat(127)));
}

#[test]
fn a_modifier_twice_or_on_the_wrong_die_is_refused() {
    for text in [
        "4d6kh3kl1",
        "4d6!!",
        "4d6r1r2",
        "2d20adv",
        "2d20kh1adv",
        "4dF!",
        "4dFr1",
        "4d6d1",
        "3k1",
        "2d6r",
        "2d6r<",
        "2d6r0",
        "2d6r7",
        "2d6r<1",
        "d20+5 adv",
        "adv adv",
        "1000d6+adv",
    ] {
        let invalid = parse(text).expect_err(text);
        assert!(parse(invalid.example).is_ok(), "`{text}`: {invalid}");
    }
}

/// Anything that is accepted must fall within its bounds, whatever the dice do.
fn survives(text: &str, seed: u64) -> bool {
    let Ok(expression) = parse(text) else { return true };
    let mut state = seed;
    let rolled = roll(&expression, &mut |sides| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from((state >> 33) % u64::from(sides)).expect("less than the sides") + 1
    });
    rolled.kept_faces().len() + rolled.dropped_faces().len()
        <= (MAX_DICE + MAX_EXTRA_ROLLS) as usize
}

const TOKENS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "20",
    "999",
    "1000001",
    "9223372036854775807",
    "d",
    "d6",
    "d%",
    "dF",
    "kh",
    "kl",
    "dl",
    "dh",
    "k",
    "r",
    "ro",
    "<",
    ">=",
    "!",
    "adv",
    "dis",
    "+",
    "-",
    "*",
    " ",
    "d2!",
    "3d6",
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn s_36_any_mix_of_notation_is_read_or_refused(
        tokens in vec(select(TOKENS), 0..24),
        seed in any::<u64>(),
    ) {
        prop_assert!(survives(&tokens.concat(), seed));
    }

    #[test]
    fn s_36_dice_with_wild_numbers_are_read_or_refused(
        (count, sides, keep, face, number) in any::<(u16, u32, u8, u32, i64)>(),
        shape in 0..4,
        seed in any::<u64>(),
    ) {
        let text = match shape {
            0 => format!("{}d{}kh{keep}*{number}", count % 1_100, sides % 1_100_000),
            1 => format!("{}d{}r<{}+{number}", count % 100, sides % 100, face % 100),
            2 => format!("{}d{}!-{number}", count % 100, sides % 20),
            _ => format!("{count}d{sides}dl{keep}ro>{face}"),
        };
        prop_assert!(survives(&text, seed));
    }

    #[test]
    fn s_36_any_text_at_all_is_read_or_refused(text in any::<String>(), seed in any::<u64>()) {
        prop_assert!(survives(&text, seed));
    }
}
