//! Text table with aligned columns.

use tollgate_config::ColorMode;

use super::clean;

/// Maximum width of a cell on a terminal, except in the last column.
const MAX_CELL_WIDTH: usize = 40;
/// Minimum width of the last column, however narrow the terminal.
const MIN_LAST_COLUMN_WIDTH: usize = 20;
const GAP: usize = 2;

#[derive(Debug)]
pub struct TextTable {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// Maximum width of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableWidth {
    /// A file or a pipe: nothing is truncated.
    Unbounded,
    /// A terminal with this many columns.
    Columns(usize),
}

impl TextTable {
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Cells beyond the header are dropped.
    pub fn row(&mut self, cells: Vec<String>) {
        let cells = cells.into_iter().take(self.head.len());
        self.rows.push(cells.map(|cell| on_one_line(&clean(&cell))).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn render(&self, paint: ColorMode, room: TableWidth) -> String {
        let head: Vec<String> = self.head.iter().map(|&cell| cell.to_owned()).collect();
        let widths = self.widths(room);
        let head = align_cells(&head, &widths);
        let mut text = match paint {
            ColorMode::Plain => format!("{head}\n"),
            ColorMode::Coloured => format!("\u{1b}[1m{head}\u{1b}[0m\n"),
        };
        for row in &self.rows {
            text.push_str(&align_cells(row, &widths));
            text.push('\n');
        }
        text
    }

    fn widths(&self, room: TableWidth) -> Vec<usize> {
        let mut widths: Vec<usize> =
            (0..self.head.len()).map(|column| self.width(column)).collect();
        let TableWidth::Columns(columns) = room else { return widths };
        if let Some((last, others)) = widths.split_last_mut() {
            for width in others.iter_mut() {
                *width = MAX_CELL_WIDTH.min(*width);
            }
            let used: usize = others.iter().map(|width| width + GAP).sum();
            *last = columns.saturating_sub(used).max(MIN_LAST_COLUMN_WIDTH).min(*last);
        }
        widths
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(self.head[column].len())
    }
}

fn align_cells(cells: &[String], widths: &[usize]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, &width)| {
        let cell = shorten(cell, width);
        format!("{cell:width$}")
    });
    let padded: Vec<String> = padded.collect();
    padded.join(&" ".repeat(GAP)).trim_end().to_owned()
}

fn on_one_line(cell: &str) -> String {
    let lines: Vec<&str> = cell.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

fn shorten(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::{TableWidth, TextTable};
    use tollgate_config::ColorMode;

    fn table() -> TextTable {
        let mut table = TextTable::new(&["TOOL", "TIER"]);
        table.row(vec!["roll".to_owned(), "fast".to_owned()]);
        table.row(vec!["würfel_tabelle".to_owned(), String::new()]);
        table.row(vec!["x\u{1b}[1m\n\n  second".to_owned(), "a".repeat(70)]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let expected = format!(
            "TOOL            TIER\nroll            fast\nwürfel_tabelle\nx\u{fffd}[1m second    {}\n",
            "a".repeat(70)
        );
        assert_eq!(table().render(ColorMode::Plain, TableWidth::Unbounded), expected);
        assert_eq!(table().render(ColorMode::Plain, TableWidth::Columns(86)), expected);
        let coloured = table().render(ColorMode::Coloured, TableWidth::Unbounded);
        assert!(coloured.starts_with("\u{1b}[1mTOOL"));
    }

    #[test]
    fn only_a_terminal_cuts_cells() {
        let last = |columns: usize| {
            let text = table().render(ColorMode::Plain, TableWidth::Columns(columns));
            text.lines().last().unwrap().to_owned()
        };
        let short = |retained: usize| format!("x\u{fffd}[1m second    {}…", "a".repeat(retained));
        assert_eq!(last(85), short(68));
        assert_eq!(last(40), short(23));
        assert_eq!(last(0), short(19), "no narrower than can be read");
        let mut wide = TextTable::new(&["A", "B"]);
        wide.row(vec!["a".repeat(50), "b".to_owned()]);
        let text = wide.render(ColorMode::Plain, TableWidth::Columns(200));
        assert!(text.ends_with(&format!("{}…  b\n", "a".repeat(39))), "{text}");
    }
}
