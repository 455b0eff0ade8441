"""What `import pocketsim` offers: runs, studies, results, figures and profiles from Python."""
