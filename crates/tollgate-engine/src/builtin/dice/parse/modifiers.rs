//! Modifiers of a die: keep and drop, explosions, rerolls, advantage. In any order, each once.

use super::super::expression::{Dice, Explosion, Faces, Reroll, RerollTimes, Selection};
use super::{DiceParseError, DiceParser};

impl DiceParser<'_> {
    /// Parses the modifiers after the sides of `dice`, up to the next operator.
    pub(super) fn parse_modifiers(&mut self, mut dice: Dice) -> Result<Dice, DiceParseError> {
        loop {
            self.skip_spaces();
            let start = self.at;
            if let Some(selection) = self.advantage() {
                self.check_advantage(&dice, start)?;
                dice.selection = selection;
                dice.count += self.take_dice(1, start)?;
                continue;
            }
            match self.peek().map(|next| next.to_ascii_lowercase()) {
                Some('k' | 'd') => {
                    let selection = self.selection(dice.count)?;
                    if dice.selection != Selection::All {
                        return Err(self.wrong_at(start, "keep or drop only once", "4d6kh3"));
                    }
                    dice.selection = selection;
                }
                Some('!') => {
                    self.explosion(&dice)?;
                    dice.explosion = Explosion::OnLargest;
                }
                Some('r') => {
                    let reroll = self.reroll(dice.faces)?;
                    if dice.reroll.replace(reroll).is_some() {
                        return Err(self.wrong_at(start, "reroll only once", "2d6r1"));
                    }
                }
                _ => return Ok(dice),
            }
        }
    }

    /// `adv` or `dis`, also as a whole word.
    pub(super) fn advantage(&mut self) -> Option<Selection> {
        if self.eat_word("advantage") || self.eat_word("adv") {
            Some(Selection::KeepHighest(1))
        } else if self.eat_word("disadvantage") || self.eat_word("dis") {
            Some(Selection::KeepLowest(1))
        } else {
            None
        }
    }

    fn check_advantage(&self, dice: &Dice, start: usize) -> Result<(), DiceParseError> {
        if dice.count == 1 && dice.selection == Selection::All {
            return Ok(());
        }
        Err(self.wrong_at(start, "advantage and disadvantage need a single die", "1d20adv+5"))
    }

    /// `kh2`, `kl`, `k3`, `dl1`, `dh`: the number defaults to one.
    fn selection(&mut self, count: u32) -> Result<Selection, DiceParseError> {
        let start = self.at;
        let make: fn(u32) -> Selection = if self.eat_word("kh") {
            Selection::KeepHighest
        } else if self.eat_word("kl") {
            Selection::KeepLowest
        } else if self.eat_word("dh") {
            Selection::DropHighest
        } else if self.eat_word("dl") {
            Selection::DropLowest
        } else if self.eat_word("k") {
            Selection::KeepHighest
        } else {
            let problem = "drop is `dl` or `dh`, and another die needs a sign before it";
            return Err(self.wrong(problem, "4d6dl1+1d8"));
        };
        let number = self.number()?.unwrap_or(1);
        match (make(0), u32::try_from(number)) {
            (_, Ok(0)) => Err(self.wrong_at(start, "keep or drop at least one die", "2d20kh1")),
            (Selection::DropHighest(_) | Selection::DropLowest(_), Ok(n)) if n < count => {
                Ok(make(n))
            }
            (Selection::DropHighest(_) | Selection::DropLowest(_), _) => {
                let problem = format!("dropping {number} of {count} leaves no die");
                Err(self.wrong_at(start, problem, "4d6dl1"))
            }
            (_, Ok(n)) if n <= count => Ok(make(n)),
            _ => {
                let problem = format!("cannot keep {number} of {count}");
                Err(self.wrong_at(start, problem, "4d6kh3"))
            }
        }
    }

    fn explosion(&mut self, dice: &Dice) -> Result<(), DiceParseError> {
        if dice.explosion != Explosion::None {
            return Err(self.wrong("explode only once", "3d6!"));
        }
        match dice.faces {
            Faces::Fate => Err(self.wrong("fate dice do not explode", "4dF")),
            Faces::Numbered(1) => {
                Err(self.wrong("a die with one side would explode forever", "3d6!"))
            }
            Faces::Numbered(_) => {
                self.eat('!');
                Ok(())
            }
        }
    }

    /// `r1`, `r<3`, `r>=5`, and with `ro` once per die.
    fn reroll(&mut self, faces: Faces) -> Result<Reroll, DiceParseError> {
        const EXAMPLE: &str = "2d6r<2";
        let start = self.at;
        let Faces::Numbered(sides) = faces else {
            return Err(self.wrong("fate dice are not rerolled", "4dF"));
        };
        self.eat('r');
        let times = if self.eat('o') { RerollTimes::Once } else { RerollTimes::UntilItDiffers };
        let comparison = ["<=", ">=", "<", ">", "="].into_iter().find(|sign| self.eat_word(sign));
        let Some(face) = self.number()? else {
            return Err(match self.peek() {
                Some(stray) if !stray.is_ascii() => self.syntax_error("the face to reroll"),
                _ => self.wrong("reroll needs the face to roll again", EXAMPLE),
            });
        };
        let top = i64::from(sides);
        let (lowest, highest) = match comparison {
            Some("<=") => (1, face),
            Some(">=") => (face, top),
            Some("<") => (1, face - 1),
            Some(">") => (face.saturating_add(1), top),
            _ => (face, face),
        };
        let lowest = lowest.max(1);
        let highest = highest.min(top);
        if lowest > highest {
            let problem = format!("a die with {sides} sides never shows that");
            return Err(self.wrong_at(start, problem, EXAMPLE));
        }
        if (lowest, highest, times) == (1, top, RerollTimes::UntilItDiffers) {
            let problem = "every face would be rerolled forever";
            return Err(self.wrong_at(start, problem, EXAMPLE));
        }
        let face = |face: i64| u32::try_from(face).expect("between 1 and the number of sides");
        Ok(Reroll { times, lowest: face(lowest), highest: face(highest) })
    }
}
