"""Pictures and controls made from any trace and any knobs."""
