"""Third-party memory packages, each behind a client that keeps it on this machine and in the conversation's time."""
