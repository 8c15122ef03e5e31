"""The main job, walked over HTTP as a client would."""
