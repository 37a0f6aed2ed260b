"""Analysis of text: sentences, words, dates, quotations, statements. Pure; it knows no engine, and its words are data."""
