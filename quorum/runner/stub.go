package runner

// NewText is a place holder until the wrapper is there.
func NewText(raw string) *Text { return &Text{Raw: raw, SHA: sha(raw)} }
