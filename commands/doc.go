// Package commands is the command table of Redfence: one row per command, and everything that follows from a row
// without running it. Names, arity, flags, key positions, option parsers and the exact error texts of the wire live
// here and nowhere else; the front end and both backends read them.
//
// A command line becomes a Request in two steps: Lookup finds the row, Bind checks the arity and parses options.
package commands
