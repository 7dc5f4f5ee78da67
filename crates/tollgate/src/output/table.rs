//! Aligned columns.

use super::clean;
use crate::config::Paint;

/// The widest a cell may be; the last column is not cut on its own.
const WIDEST: usize = 60;

#[derive(Debug)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// One row; cells beyond the head are dropped.
    pub fn row(&mut self, cells: Vec<String>) {
        let cells = cells.into_iter().take(self.head.len());
        self.rows.push(cells.map(|cell| shortened(&clean(&cell))).collect());
    }

    pub fn render(&self, paint: Paint) -> String {
        let widths: Vec<usize> = (0..self.head.len()).map(|column| self.width(column)).collect();
        let head: Vec<String> = self.head.iter().map(|&cell| cell.to_owned()).collect();
        let head = aligned(&head, &widths);
        let mut text = match paint {
            Paint::Plain => format!("{head}\n"),
            Paint::Coloured => format!("\u{1b}[1m{head}\u{1b}[0m\n"),
        };
        for row in &self.rows {
            text.push_str(&aligned(row, &widths));
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(self.head[column].len())
    }
}

fn aligned(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    padded.join("  ").trim_end().to_owned()
}

fn shortened(cell: &str) -> String {
    let line = cell.lines().next().unwrap_or_default();
    if line.chars().count() <= WIDEST {
        return line.to_owned();
    }
    line.chars().take(WIDEST - 1).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::config::Paint;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["TOOL", "TIER"]);
        table.row(vec!["roll".to_owned(), "fast".to_owned()]);
        table.row(vec!["würfel_tabelle".to_owned(), String::new()]);
        table.row(vec!["x\u{1b}[1m\nsecond line".to_owned(), "a".repeat(70)]);
        let expected = format!(
            "TOOL            TIER\nroll            fast\nwürfel_tabelle\nx\u{fffd}[1m           {}…\n",
            "a".repeat(59)
        );
        assert_eq!(table.render(Paint::Plain), expected);
        assert!(table.render(Paint::Coloured).starts_with("\u{1b}[1mTOOL"));
    }
}
