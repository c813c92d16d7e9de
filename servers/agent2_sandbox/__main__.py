"""`python -m agent2_sandbox`: shows which boundary holds on this machine, and what it does not enforce."""

import sys

from agent2_sandbox.probing import isolation_advice, probe_isolation, probe_tiers


def main() -> None:
    """Print one line for each tier tried, then what is not enforced; exit code 3 where there is no boundary."""
    for probe in probe_tiers():
        print(f"tier {probe.tier} ({probe.name}): {'holds' if probe.holds else 'does not hold'}")
        for text in (probe.reason, probe.advice):
            if text:
                print(f"    {text}")
    isolation = probe_isolation()
    print(f"isolation: tier {isolation.tier}; not enforced:")
    for gap in isolation.not_enforced:
        print(f"  - {gap}")
    if isolation.tier == "D":
        print(f"Generated code is refused here. {isolation_advice()}")
        sys.exit(3)


if __name__ == "__main__":
    main()
