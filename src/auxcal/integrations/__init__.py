"""scikit-learn, Spark and Ray."""
