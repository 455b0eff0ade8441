"""What a report answers: the question, the finding in a sentence, key numbers and one chart."""
