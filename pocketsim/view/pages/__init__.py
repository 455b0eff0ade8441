"""The pages: what stands on each, and its charts. Their templates, style and script are beside."""
