"""The audit of a policy: what could be shown about a person, beside what is claimed, over made-up people."""

from dpsql.audit.policy_audit import ENOUGH, ERROR, MovedStatement, PolicyAudit, ShownStatement, Told, audit_policy

__all__ = ["ENOUGH", "ERROR", "MovedStatement", "PolicyAudit", "ShownStatement", "Told", "audit_policy"]
