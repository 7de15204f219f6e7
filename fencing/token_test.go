package fencing

import "testing"

func TestNext(t *testing.T) {
	tests := []struct {
		name        string
		last, floor Token
		want        Token
	}{
		{"first grant takes the clock", 0, 1_796_000_000_000_000, 1_796_000_000_000_000},
		{"a later clock is taken over", 100, 200, 200},
		{"a clock that stands still adds one", 200, 200, 201},
		{"a clock that went back adds one", 300, 200, 301},
		{"no clock at all adds one", 7, 0, 8},
		{"the end is not passed", Max, 0, Max},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Next(tt.last, tt.floor); got != tt.want {
				t.Errorf("Next(%d, %d) = %d, want %d", tt.last, tt.floor, got, tt.want)
			}
		})
	}
}

func TestValid(t *testing.T) {
	for token, want := range map[Token]bool{-1: false, 0: false, 1: true, Max: true, Max + 1: false} {
		if got := token.Valid(); got != want {
			t.Errorf("Token(%d).Valid() = %v, want %v", token, got, want)
		}
	}
}
