"""Messages in: facts to keep and questions to answer, one file per noun."""
