"""How configs did in parallel groups: who took part, who won and at what cost."""
