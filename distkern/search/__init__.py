"""What is chosen for data: a ladder of machines over a sample, judged on rows that are held out."""
