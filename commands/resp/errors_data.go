package resp

import "strconv"

// The error texts of commands on keys and their values.
const (
	ErrExpireNX       Failure = "ERR NX and XX, GT or LT options at the same time are not compatible"
	ErrExpireGTLT     Failure = "ERR GT and LT options at the same time are not compatible"
	ErrCursor         Failure = "ERR invalid cursor"
	ErrFirstDB        Failure = "ERR invalid first DB index"
	ErrSecondDB       Failure = "ERR invalid second DB index"
	ErrNanOrInfValue  Failure = "ERR value is NaN or Infinity"
	ErrDelexType      Failure = "ERR Key should be of string type if conditions are specified"
	ErrDelexCondition Failure = "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"
	ErrDigestLength   Failure = "ERR must be exactly 16 hexadecimal characters"
	ErrSortScore      Failure = "ERR One or more scores can't be converted into double"
	ErrSortTooMuch    Failure = "ERR redfence: SORT would look up too many keys or store too much (1048576 look-ups, 48 MiB)"
	ErrLCSBoth        Failure = "ERR If you want both the length and indexes, please just use IDX."
	ErrLCSType        Failure = "ERR The specified keys must contain string values"
	ErrLCSTooLong     Failure = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
	ErrScriptFlush    Failure = "ERR SCRIPT FLUSH only support SYNC|ASYNC option"
	ErrNoLFU          Failure = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."
)

// UnsupportedOption is the error for an option that EXPIRE and its relatives do not know.
func UnsupportedOption(option string) Failure { return Failure("ERR Unsupported option " + option) }

// OutOfRange is the error for an integer outside of its bounds.
func OutOfRange(low, high int64) Failure {
	return Failure("ERR value is out of range, value must between " + strconv.FormatInt(low, 10) +
		" and " + strconv.FormatInt(high, 10))
}
