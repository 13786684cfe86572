package cli

import (
	"strings"
	"unicode/utf8"
)

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

func cells(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, t := range texts {
		row[i] = cell{text: t}
	}
	return row
}

// table is printed with columns as wide as their widest cell. A column whose
// title starts with ">" is aligned to the right. Columns that are empty in every
// row are left out.
type table struct {
	titles []string
	rows   [][]cell
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

const columnGap = 2

func (u *ui) table(t table) {
	widths := t.widths()
	head := make([]cell, len(t.titles))
	for i, title := range t.titles {
		head[i] = cell{strings.TrimPrefix(title, ">"), bold}
	}
	u.row(t, widths, head)
	for _, row := range t.rows {
		u.row(t, widths, row)
	}
}

// widths are the columns' widths, 0 for one with nothing in it.
func (t *table) widths() []int {
	widths := make([]int, len(t.titles))
	for i, title := range t.titles {
		for _, row := range t.rows {
			widths[i] = max(widths[i], length(row[i].text))
		}
		if widths[i] > 0 {
			widths[i] = max(widths[i], length(strings.TrimPrefix(title, ">")))
		}
	}
	return widths
}

func (u *ui) row(t table, widths []int, row []cell) {
	var line strings.Builder
	used := 0 // columns of the terminal, without colour
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		text := u.fit(oneLine(c.text), used)
		pad := strings.Repeat(" ", max(0, widths[i]-length(text)))
		if strings.HasPrefix(t.titles[i], ">") {
			line.WriteString(pad + u.onOut(c.style, text))
		} else {
			line.WriteString(u.onOut(c.style, text) + pad)
		}
		line.WriteString(strings.Repeat(" ", columnGap))
		used += widths[i] + columnGap
	}
	u.printf("%s\n", strings.TrimRight(line.String(), " "))
}

// fit cuts what would run over the terminal's edge.
func (u *ui) fit(text string, used int) string {
	if u.width == 0 || used+length(text) <= u.width {
		return text
	}
	room := max(1, u.width-used-1)
	for i := range text {
		if room == 0 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
		room--
	}
	return text
}

// length is the number of characters; all count as one column.
func length(s string) int { return utf8.RuneCountInString(oneLine(s)) }

// wrap breaks text at spaces into lines of at most width characters.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
				lines = append(lines, line)
				line = word
			default:
				line += " " + word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// pad fills text up to a width with spaces.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
