package rawjson

import (
	"strconv"
	"strings"
)

// decimal is a JSON number in its one normal form: digits without zeros at
// either end, times ten to the exponent. It is as long as the number's text,
// so 1e999999999 costs nothing.
type decimal struct {
	negative bool
	digits   string
	exponent string
}

func decimalOf(number []byte) decimal {
	text, negative := strings.CutPrefix(string(number), "-")
	mantissa, exponent := text, "0"
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, exponent = text[:at], text[at+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" {
		return decimal{} // -0 and 0e9 are 0
	}
	return decimal{negative, digits, shift(exponent, len(all)-len(digits)-len(fraction))}
}

// shift adds by, the length of something in a document, to a decimal integer
// of any length.
func shift(integer string, by int) string {
	magnitude, negative := strings.CutPrefix(integer, "-")
	magnitude = strings.TrimLeft(magnitude, "+0")
	if len(magnitude) <= 18 { // fits, with room for by
		n, _ := strconv.ParseInt("0"+magnitude, 10, 64)
		if negative {
			n = -n
		}
		return strconv.FormatInt(n+int64(by), 10)
	}
	if negative {
		return "-" + carry(magnitude, -by)
	}
	return carry(magnitude, by)
}

// carry adds by to a magnitude that is larger than by, digit by digit.
func carry(magnitude string, by int) string {
	digits := []byte(magnitude)
	for i := len(digits) - 1; i >= 0 && by != 0; i-- {
		sum := int(digits[i]-'0') + by
		digit := (sum%10 + 10) % 10
		digits[i] = byte('0' + digit)
		by = (sum - digit) / 10
	}
	if by > 0 {
		return "1" + string(digits)
	}
	return strings.TrimLeft(string(digits), "0")
}
