"""What a lesson says and asks: quiz, glossary, exercise checks."""
